#include "proxy/models/manifest.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

namespace polygraph::models {
namespace {

using nlohmann::json;

constexpr int manifest_version = 1;
constexpr std::size_t sha256_hex_digits = 64;

/// Reads the fields of one JSON object and keeps the first complaint, with the field's full path.
class Reader {
 public:
  Reader(const json& object, std::string path, std::optional<Error>& error) : object_(object), path_(std::move(path)), error_(error) {
    if (!object_.is_object()) complain("", "must be an object");
  }

  std::string text(const char* key, bool required = true) {
    const json* const value = field(key, required);
    if (!value) return {};
    if (!value->is_string() || (required && value->get_ref<const std::string&>().empty())) {
      complain(key, "must be a text");
      return {};
    }
    return value->get<std::string>();
  }

  std::uint64_t number(const char* key, bool required = true) {
    const json* const value = field(key, required);
    if (!value) return 0;
    if (!value->is_number_unsigned()) {
      complain(key, "must be a whole number");
      return 0;
    }
    return value->get<std::uint64_t>();
  }

  bool flag(const char* key) {
    const json* const value = field(key, false);
    if (value && !value->is_boolean()) complain(key, "must be true or false");
    return value && value->is_boolean() && value->get<bool>();
  }

  std::string sha256(const char* key) {
    std::string digest = text(key);
    const bool hex = std::all_of(digest.begin(), digest.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    if (!digest.empty() && (digest.size() != sha256_hex_digits || !hex)) complain(key, "must be 64 lower-case hexadecimal digits");
    return digest;
  }

  const json& list(const char* key) {
    static const json none = json::array();
    const json* const value = field(key, true);
    if (!value) return none;
    if (!value->is_array() || value->empty()) {
      complain(key, "must be a list with at least one item");
      return none;
    }
    return *value;
  }

  bool has(const char* key) const { return object_.is_object() && object_.contains(key); }
  std::string path(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

  void complain(const char* key, std::string what) {
    if (!error_) error_ = Error{ErrorCode::invalid_json, std::move(what), *key ? path(key) : path_};
  }

 private:
  const json* field(const char* key, bool required) {
    if (has(key)) return &object_[key];
    if (required) complain(key, "is missing");
    return nullptr;
  }

  const json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

std::string item(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

Source read_source(Reader reader) {
  if (reader.has("wheel"))
    return WheelSource{reader.text("wheel"), reader.sha256("wheel_sha256"), reader.number("wheel_bytes", false), reader.text("member")};
  if (reader.has("package"))
    return PackageSource{reader.text("package"), reader.text("version"), reader.sha256("wheel_sha256"), reader.number("wheel_bytes", false),
                         reader.text("member")};
  return UrlSource{reader.text("url")};
}

ModelFile read_file(Reader reader, std::optional<Error>& error) {
  ModelFile file{reader.text("name"), reader.number("bytes"), reader.sha256("sha256"), reader.text("licence"), {}};
  // The name becomes part of a path in the cache: nothing may lead out of it.
  if (file.name.find('/') != std::string::npos || file.name == "." || file.name == "..") reader.complain("name", "must be a plain file name");
  const json& sources = reader.list("sources");
  for (std::size_t i = 0; i < sources.size(); ++i) file.sources.push_back(read_source(Reader(sources[i], item(reader.path("sources"), i), error)));
  return file;
}

Model read_model(Reader reader, std::optional<Error>& error) {
  Model model;
  model.role = reader.text("role");
  if (!model.role.empty() && model.role != "embedder" && model.role != "reranker") reader.complain("role", "must be `embedder` or `reranker`");
  model.name = reader.text("name");
  model.licence = reader.text("licence");
  const bool embedder = model.role == "embedder";
  model.dimensions = static_cast<std::uint32_t>(reader.number("dimensions", embedder));
  model.pooling = reader.text("pooling", embedder);
  if (!model.pooling.empty() && model.pooling != "cls") reader.complain("pooling", "must be `cls`, the one kind of pooling there is");
  model.normalised = reader.flag("normalised");
  model.query_prefix = reader.text("query_prefix", false);
  model.max_tokens = static_cast<std::uint32_t>(reader.number("max_tokens"));
  const json& files = reader.list("files");
  for (std::size_t i = 0; i < files.size(); ++i) model.files.push_back(read_file(Reader(files[i], item(reader.path("files"), i), error), error));
  return model;
}

}  // namespace

const ModelFile* Model::file(std::string_view file_name) const noexcept {
  const auto found = std::find_if(files.begin(), files.end(), [&](const ModelFile& entry) { return entry.name == file_name; });
  return found == files.end() ? nullptr : &*found;
}

const Model* Manifest::find(std::string_view role) const noexcept {
  const auto found = std::find_if(models.begin(), models.end(), [&](const Model& model) { return model.role == role; });
  return found == models.end() ? nullptr : &*found;
}

Result<Manifest> Manifest::parse(std::string_view document, std::string_view origin) {
  const auto named = [&](Error error) {
    error.message = "the model manifest " + std::string(origin) + ": " + (error.field.empty() ? "" : "`" + error.field + "` ") + error.message;
    return tl::unexpected<Error>(std::move(error));
  };
  const json root = json::parse(document, nullptr, false);
  if (!root.is_object()) return named({ErrorCode::invalid_json, "is not a JSON object"});
  std::optional<Error> error;
  Reader reader(root, "", error);
  const std::uint64_t version = reader.number("version");
  if (!error && version != manifest_version)
    return named({ErrorCode::unsupported_version, "is " + std::to_string(version) + ", this program reads " + std::to_string(manifest_version), "version"});
  Manifest manifest;
  std::set<std::string> roles;
  const json& models = reader.list("models");
  for (std::size_t i = 0; i < models.size() && !error; ++i) {
    Model model = read_model(Reader(models[i], item("models", i), error), error);
    if (!roles.insert(model.role).second && !error)
      error = Error{ErrorCode::invalid_json, "names the role `" + model.role + "` a second time", item("models", i) + ".role"};
    manifest.models.push_back(std::move(model));
  }
  if (error) return named(std::move(*error));
  return manifest;
}

Result<Manifest> Manifest::read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, "the model manifest " + path.string() + " cannot be read");
  const std::string document{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse(document, path.string());
}

}  // namespace polygraph::models
