#include "wasm/golden/item_json.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <type_traits>

#include "wasm/json/brackets.hpp"

namespace polygraph::golden {
namespace {

// Bits of Reader::check_item's mask beside those of the optional fields.
constexpr std::uint32_t id_bit = 1U << 29, type_bit = 1U << 30, question_bit = 1U << 31;

constexpr const char* set_key = "golden_set";  // in the first item's `extra`: name, version and further fields of the document

std::string article(const Json& value) {
  const std::string type = value.type_name();
  if (type == "null") return type;
  return (type == "array" || type == "object" ? "an " : "a ") + type;
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// Fields that both forms have, under the one form's names: they can't be moved into the other's `extra` and back.
bool of_both_as_item(std::string_view field) {
  return field == "id" || field == "question" || field == "reference_answer" || field == "relevant_chunk_ids" || field == "extra";
}
bool of_both_as_sample(std::string_view field) {
  return field == "id" || field == "query" || field == "expected_answer" || field == "relevant_chunk_ids" || field == "extra";
}

ItemType type_of_query_type(std::string_view query_type) { return item_type(query_type).value_or(ItemType::answerable); }

/// RAGDiag trims a sample's strings, and so do we; an item's are kept beside as they were, here in a sample's `extra`.
constexpr const char* untrimmed_key = "untrimmed";

Json trimmed_value(const Json& value) {
  if (value.is_string()) return std::string(trimmed(value.get_ref<const std::string&>()));
  if (!value.is_array()) return value;
  Json out = Json::array();
  for (const Json& each : value) out.push_back(each.is_string() ? trimmed_value(each) : each);
  return out;
}

/// Puts back what trimming took, unless the sample was changed since.
bool restore_untrimmed(const Json& untrimmed, Json& item) {
  if (!untrimmed.is_object()) return false;
  for (const auto& [key, value] : untrimmed.items()) {
    if (!of_both_as_item(key) || !item.contains(key)) return false;
  }
  for (const auto& [key, value] : untrimmed.items()) {
    if (item[key] == trimmed_value(value)) item[key] = value;
  }
  return true;
}

/// Whether an item's `extra.golden_set` can be the fields of a samples document.
bool is_document(const Json& value) {
  const auto text = [&](const char* key) { return !value.contains(key) || value[key].is_string(); };
  return text("name") && text("version") && !value.contains("samples") && !value.contains("question") && !value.contains("relevant_chunk_ids");
}

std::string or_empty(const Json& object) { return object.empty() ? std::string() : to_text(object); }

Json object_of(const std::string& text) {
  Json object = text.empty() ? Json::object() : parse_json(text);
  return object.is_object() ? object : Json::object();
}

}  // namespace

Json parse_json(std::string_view text) {
  if (json::deeper_than(text, max_depth)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<ItemType> item_type(std::string_view text) noexcept {
  for (const auto type : item_types) {
    if (text == name(type)) return type;
  }
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view spaces = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(spaces);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

Json item_to_json(const Item& item) {
  Json out = Json::object();
  out["id"] = item.id;
  out["type"] = name(item.type);
  out["question"] = item.question;
  each_optional_field(item, [&](const char* field, const auto& value, std::uint32_t bit) {
    bool written;
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) {
      const bool refuse = field == std::string_view("should_refuse");
      written = refuse ? !item.presence.should_refuse_missing || value != (item.type == ItemType::unanswerable) : value;
    } else {
      written = !value.empty();
    }
    if (written || (item.presence.given & bit) != 0) out[field] = value;
    else if ((item.presence.null & bit) != 0) out[field] = nullptr;
  });
  const Json unknown = object_of(item.unknown);
  for (const auto& [key, value] : unknown.items()) {
    if (!out.contains(key)) out[key] = value;
  }
  Json extra = Json::object();
  if (!item.query_type.empty() && item.query_type != name(item.type)) extra["query_type"] = item.query_type;
  const Json more = object_of(item.extra);
  for (const auto& [key, value] : more.items()) {
    if (!extra.contains(key)) extra[key] = value;
  }
  if (!extra.empty()) out["extra"] = std::move(extra);
  return out;
}

Json sample_of_item(const Json& item) {
  Json sample = Json::object(), extra = Json::object(), kept = Json::object(), untrimmed = Json::object();
  const auto move = [&](const char* from, const char* to) {
    const auto found = item.find(from);
    if (found == item.end()) return;
    sample[to] = trimmed_value(*found);
    if (sample[to] != *found) untrimmed[from] = *found;
  };
  move("id", "id");
  move("question", "query");
  move("reference_answer", "expected_answer");
  move("relevant_chunk_ids", "relevant_chunk_ids");
  const auto type = item.find("type");
  const auto item_extra = item.find("extra");
  const bool has_extra = item_extra != item.end() && item_extra->is_object();
  Json query_type = type == item.end() ? Json(name(ItemType::answerable)) : *type;
  if (has_extra && item_extra->contains("query_type")) query_type = item_extra->at("query_type");
  sample["query_type"] = query_type;
  if (type != item.end() && !(query_type.is_string() && *type == name(type_of_query_type(query_type.get_ref<const std::string&>())))) extra["type"] = *type;
  const auto refuse = item.find("should_refuse");
  const bool expected = type != item.end() && *type == name(ItemType::unanswerable);
  if (refuse == item.end()) extra["should_refuse"] = nullptr;
  else if (*refuse != expected) extra["should_refuse"] = *refuse;
  for (const auto& [key, value] : item.items()) {
    if (!of_both_as_item(key) && key != "type" && key != "should_refuse") extra[key] = value;
  }
  if (has_extra) {
    for (const auto& [key, value] : item_extra->items()) {
      if (key == "extra" && value.is_object()) {
        for (const auto& [inner, its] : value.items()) {
          if (of_both_as_item(inner) && inner != "extra") extra[inner] = its;
          else kept[inner] = its;
        }
      } else if (of_both_as_sample(key)) {
        kept[key] = value;
      } else if (key != "query_type") {
        sample[key] = value;
      }
    }
  }
  if (!untrimmed.empty()) extra[untrimmed_key] = std::move(untrimmed);
  if (!kept.empty()) extra["extra"] = std::move(kept);
  if (!extra.empty()) sample["extra"] = std::move(extra);
  return sample;
}

Json item_of_sample(const Json& sample) {
  Json item = Json::object(), extra = Json::object(), kept = Json::object();
  const auto sample_extra = sample.find("extra");
  const bool has_extra = sample_extra != sample.end() && sample_extra->is_object();
  const auto move = [&](const char* from, const char* to) {
    if (const auto found = sample.find(from); found != sample.end()) item[to] = trimmed_value(*found);
  };
  move("id", "id");
  const auto query_type = sample.find("query_type");
  if (has_extra && sample_extra->contains("type")) item["type"] = sample_extra->at("type");
  else if (query_type == sample.end() || query_type->is_null()) item["type"] = name(ItemType::answerable);
  else if (query_type->is_string()) item["type"] = name(type_of_query_type(query_type->get_ref<const std::string&>()));
  else item["type"] = *query_type;  // for the reader to refuse
  move("query", "question");
  move("expected_answer", "reference_answer");
  move("relevant_chunk_ids", "relevant_chunk_ids");
  if (!has_extra || !sample_extra->contains("should_refuse")) item["should_refuse"] = item["type"] == name(ItemType::unanswerable);
  else if (!sample_extra->at("should_refuse").is_null()) item["should_refuse"] = sample_extra->at("should_refuse");
  if (query_type != sample.end() && query_type->is_string() && *query_type != item["type"]) extra["query_type"] = *query_type;
  for (const auto& [key, value] : sample.items()) {
    if (!of_both_as_sample(key) && key != "query_type") extra[key] = value;
  }
  if (has_extra) {
    for (const auto& [key, value] : sample_extra->items()) {
      if (key == "extra" && value.is_object()) {
        for (const auto& [inner, its] : value.items()) {
          if (of_both_as_sample(inner) && inner != "extra") extra[inner] = its;
          else kept[inner] = its;
        }
      } else if (of_both_as_item(key)) {
        kept[key] = value;
      } else if (key != "type" && key != "should_refuse" && !(key == untrimmed_key && restore_untrimmed(value, item))) {
        item[key] = value;
      }
    }
  } else if (sample_extra != sample.end()) {
    item["extra"] = *sample_extra;  // for the reader to refuse
    return item;
  }
  if (!kept.empty()) extra["extra"] = std::move(kept);
  if (!extra.empty()) item["extra"] = std::move(extra);
  return item;
}

std::string sample_field(std::string_view field) {
  if (field.empty() || field == "id" || field == "extra" || field.starts_with("relevant_chunk_ids")) return std::string(field);
  if (field == "question") return "query";
  if (field == "reference_answer") return "expected_answer";
  if (field == "type") return "query_type";
  constexpr std::string_view extra = "extra.";
  if (field.starts_with(extra)) return std::string(field.substr(extra.size()));
  return std::string(extra) + std::string(field);
}

std::uint64_t Lines::of(const std::string& field) const {
  const auto found = fields.find(std::string_view(field).substr(0, field.find_first_of("[.")));
  return found == fields.end() ? item : found->second;
}

/// Where a problem of one item stands.
class Reader::Place {
 public:
  Place(std::string item, const Lines& lines, Form form) : item_(std::move(item)), lines_(&lines), form_(form) {}
  Problem problem(std::string_view field, std::string message) const {
    std::string own = form_ == Form::samples ? sample_field(field) : std::string(field);
    const std::uint64_t line = lines_->of(own);
    return {item_, line, std::move(own), std::move(message)};
  }

 private:
  std::string item_;
  const Lines* lines_;
  Form form_;
};

namespace {

/// What is expected of a field, and whether a value is that; `wrong` gets the place inside the value.
using Wrong = std::function<void(const std::string& suffix, const char* expected, const Json& found)>;

bool take(const Json& json, std::string& value, const Wrong& wrong) {
  if (!json.is_string()) return wrong("", "a string", json), false;
  value = json.get_ref<const std::string&>();
  return true;
}
bool take(const Json& json, bool& value, const Wrong& wrong) {
  if (!json.is_boolean()) return wrong("", "true or false", json), false;
  value = json.get<bool>();
  return true;
}
bool take(const Json& json, std::vector<std::string>& value, const Wrong& wrong) {
  if (!json.is_array()) return wrong("", "an array of strings", json), false;
  bool all = true;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i].is_string()) {
      value.push_back(json[i].get_ref<const std::string&>());
    } else {
      wrong("[" + std::to_string(i) + "]", "a string", json[i]);
      all = false;
    }
  }
  return all;
}
bool take(const Json& json, std::map<std::string, std::string>& value, const Wrong& wrong) {
  if (!json.is_object()) return wrong("", "an object of strings", json), false;
  bool all = true;
  for (const auto& [key, each] : json.items()) {
    if (each.is_string()) {
      value.emplace(key, each.get_ref<const std::string&>());
    } else {
      wrong("." + key, "a string", each);
      all = false;
    }
  }
  return all;
}
bool take(const Json& json, std::map<std::string, std::uint32_t>& value, const Wrong& wrong) {
  if (!json.is_object()) return wrong("", "an object of grades", json), false;
  bool all = true;
  for (const auto& [key, each] : json.items()) {
    if (each.is_number_unsigned() && each.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) {
      value.emplace(key, each.get<std::uint32_t>());
    } else {
      wrong("." + key, "a grade, a whole number from 0", each);
      all = false;
    }
  }
  return all;
}

}  // namespace

void Reader::add(const Json& object, const Lines& lines) {
  Set& set = checked_.set;
  const auto id = object.find("id");
  const Place place(id != object.end() && id->is_string() ? id->get<std::string>() : std::string(), lines, set.form);
  Item item;
  item.line = lines.item;
  std::uint32_t unreadable = 0;
  const auto wrong = [&](const std::string& field, std::uint32_t bit) {
    return [this, &place, &unreadable, field, bit](const std::string& suffix, const char* expected, const Json& found) {
      unreadable |= bit;
      std::string message = std::string("expected ") + expected + ", found " + article(found);
      if (found.is_number() || found.is_boolean()) message += " " + to_text(found);
      error(place.problem(field + suffix, std::move(message)));
    };
  };
  const auto required = [&](const char* field, std::string& value, std::uint32_t bit) {
    if (const auto found = object.find(field); found != object.end() && !found->is_null()) take(*found, value, wrong(field, bit));
  };
  required("id", item.id, id_bit);
  std::string type;
  required("type", type, type_bit);
  if ((unreadable & type_bit) == 0) {
    if (const auto known = item_type(type)) {
      item.type = *known;
    } else {
      unreadable |= type_bit;
      error(place.problem("type", object.contains("type") ? "expected answerable, vague or unanswerable, found " + in_quotes(type)
                                                          : "is missing; expected answerable, vague or unanswerable"));
    }
  }
  required("question", item.question, question_bit);

  std::set<std::string, std::less<>> known{"id", "type", "question", "extra"};
  each_optional_field(item, [&](const char* field, auto& value, std::uint32_t bit) {
    known.insert(field);
    const auto found = object.find(field);
    if (found == object.end()) return;
    if (found->is_null()) item.presence.null |= bit;
    else if (take(*found, value, wrong(field, bit))) item.presence.given |= bit;
  });
  const auto refuse = object.find("should_refuse");
  if (refuse == object.end() || refuse->is_null()) {
    item.presence.should_refuse_missing = true;
    item.should_refuse = item.type == ItemType::unanswerable;
  }

  Json unknown = Json::object();
  for (const auto& [key, value] : object.items()) {
    if (known.contains(key)) continue;
    unknown[key] = value;
    if (set.form == Form::items || set.form == Form::table) warning(place.problem(key, "is no field of an item; it is kept"));
  }
  item.unknown = or_empty(unknown);

  if (const auto extra = object.find("extra"); extra != object.end() && !extra->is_null()) {
    if (!extra->is_object()) {
      wrong("extra", 0)("", "an object", *extra);
    } else {
      Json rest = Json::object();
      for (const auto& [key, value] : extra->items()) {
        if (key == "query_type") {
          take(value, item.query_type, wrong("extra.query_type", 0));
        } else if (key == set_key && set.form != Form::samples && value.is_object() && set.name.empty() && set.version.empty() && set.extra.empty() &&
                   is_document(value)) {
          Json more = Json::object();
          for (const auto& [inner, its] : value.items()) {
            if (inner == "name" && its.is_string()) set.name = trimmed(its.get_ref<const std::string&>());
            else if (inner == "version" && its.is_string()) set.version = trimmed(its.get_ref<const std::string&>());
            else more[inner] = its;
          }
          set.extra = or_empty(more);
        } else {
          rest[key] = value;
          if (set.form == Form::samples && key != "extra") warning(place.problem("extra." + key, "is no field of a sample; it is kept"));
        }
      }
      item.extra = or_empty(rest);
    }
  }
  if (item.query_type.empty()) item.query_type = name(item.type);
  check_item(item, unreadable, place);
  set.items.push_back(std::move(item));
}

void Reader::check_ids(const std::vector<std::string>& ids, const char* field, const Place& place) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string at = std::string(field) + "[" + std::to_string(i) + "]";
    if (blank(ids[i])) error(place.problem(at, "is empty"));
    else if (!seen.insert(ids[i]).second) error(place.problem(at, in_quotes(ids[i]) + " stands twice"));
  }
}

void Reader::check_item(const Item& item, std::uint32_t unreadable, const Place& place) {
  if (blank(item.id) && (unreadable & id_bit) == 0) error(place.problem("id", "is missing or empty"));
  if (blank(item.question) && (unreadable & question_bit) == 0) error(place.problem("question", "is missing or empty"));
  check_ids(item.relevant_chunk_ids, "relevant_chunk_ids", place);
  check_ids(item.relevant_pages, "relevant_pages", place);
  check_ids(item.pool_ids, "pool_ids", place);
  std::uint32_t content_bits = 0, refuse_bit = 0;
  each_optional_field(item, [&](std::string_view field, const auto&, std::uint32_t bit) {
    if (field == "reference_answer" || field == "relevant_chunk_ids" || field == "relevant_pages") content_bits |= bit;
    if (field == "should_refuse") refuse_bit = bit;
  });
  if ((unreadable & type_bit) == 0) {
    const bool gold = !item.relevant_chunk_ids.empty() || !item.relevant_pages.empty();
    if (item.type == ItemType::answerable && !gold && blank(item.reference_answer) && (unreadable & content_bits) == 0) {
      error(place.problem("relevant_chunk_ids", "an answerable item needs gold (chunk ids or relevant_pages) or a reference answer"));
    }
    if (item.type == ItemType::unanswerable && gold) {
      error(place.problem(item.relevant_chunk_ids.empty() ? "relevant_pages" : "relevant_chunk_ids", "an unanswerable item can't have gold"));
    }
    const bool expected = item.type == ItemType::unanswerable;
    if (item.should_refuse != expected && (unreadable & refuse_bit) == 0) {
      error(place.problem("should_refuse", std::string("is ") + (expected ? "false" : "true") + ", but the item's type is " + std::string(name(item.type))));
    }
  }
  if (item.verified && item.rejected) error(place.problem("rejected", "the item is verified and rejected at once"));
  for (const auto& [chunk, grade] : item.relevance) {
    const bool gold = std::find(item.relevant_chunk_ids.begin(), item.relevant_chunk_ids.end(), chunk) != item.relevant_chunk_ids.end();
    if (gold == (grade > 0)) continue;
    error(place.problem("relevance." + chunk, gold ? "is 0, but relevant_chunk_ids holds the chunk" : "is above 0, but relevant_chunk_ids lacks the chunk"));
  }
}

Checked Reader::finish() {
  const Set& set = checked_.set;
  std::map<std::string_view, const Item*> first;
  for (const auto& item : set.items) {
    if (blank(item.id)) continue;
    const auto [entry, fresh] = first.emplace(item.id, &item);
    if (fresh) continue;
    const auto& other = *entry->second;
    error({item.id, item.line, "id", in_quotes(item.id) + " is an item already" + (other.line == 0 ? "" : ", on line " + std::to_string(other.line))});
  }
  if (set.items.empty() && checked_.errors.empty()) error({"", 0, set.form == Form::samples ? "samples" : "", "the set is empty"});
  find_near_duplicates(set, checked_.warnings);
  const auto by_line = [](const Problem& a, const Problem& b) { return a.line < b.line; };
  std::stable_sort(checked_.errors.begin(), checked_.errors.end(), by_line);
  std::stable_sort(checked_.warnings.begin(), checked_.warnings.end(), by_line);
  return std::move(checked_);
}

Checked check(Set set) {
  Reader reader(set.form);
  for (const auto& item : set.items) {
    const Lines lines{item.line};
    reader.check_item(item, 0, Reader::Place(item.id, lines, set.form));
  }
  reader.checked_.set = std::move(set);
  return reader.finish();
}

namespace {

Json items_document_extra(const Set& set) {
  Json out = Json::object();
  if (!set.name.empty()) out["name"] = set.name;
  if (!set.version.empty()) out["version"] = set.version;
  const Json more = object_of(set.extra);
  for (const auto& [key, value] : more.items()) {
    if (!out.contains(key)) out[key] = value;
  }
  return out;
}

}  // namespace

std::string write_item(const Item& item) { return to_text(item_to_json(item)) + "\n"; }

std::string write_items(const Set& set) {
  std::string out;
  for (const auto& item : set.items) {
    Json json = item_to_json(item);
    if (&item == &set.items.front()) {
      // JSON Lines have no place for what belongs to the whole set.
      if (Json document = items_document_extra(set); !document.empty()) json["extra"][set_key] = std::move(document);
    }
    out += to_text(json) + "\n";
  }
  return out;
}

std::string write_samples(const Set& set) {
  Json document = Json::object();
  document["name"] = set.name;
  document["version"] = set.version;
  const Json more = object_of(set.extra);
  for (const auto& [key, value] : more.items()) {
    if (!document.contains(key) && key != "samples") document[key] = value;
  }
  Json& samples = document["samples"] = Json::array();
  for (const auto& item : set.items) samples.push_back(sample_of_item(item_to_json(item)));
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace polygraph::golden
