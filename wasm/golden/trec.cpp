#include "wasm/golden/trec.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "wasm/golden/item_json.hpp"
#include "wasm/text/utf8.hpp"

namespace polygraph::golden {
namespace {

constexpr const char* metadata_key = "polygraph";

/// Calls `use(line, number)` for every line that isn't blank.
void each_line(std::string_view text, const std::function<void(std::string_view, std::uint64_t)>& use) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (!blank(line)) use(line, number);
  }
}

std::vector<std::string_view> words(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> out;
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return out;
}

std::vector<std::string_view> tab_separated(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    out.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// A grade: a whole number, negative ones (TREC's "junk") being not relevant.
std::optional<std::uint32_t> grade_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint32_t grade = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    grade = grade * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return negative ? 0 : grade;
}

struct Judgement {
  std::string chunk;
  std::uint32_t grade;
};

struct Query {
  std::string id, question;
  Json fields = Json::object();  ///< further fields of the item
  std::uint64_t line = 0;
  bool ours = false;             ///< written by write_beir: an item of its own right, judged or not
};

class CollectionReader {
 public:
  explicit CollectionReader(Form form) : reader_(form) {}

  void wrong(const char* file, std::uint64_t line, std::string message, std::string item = {}) {
    reader_.error({std::move(item), line, file, std::move(message)});
  }

  void judge(std::string_view query, std::string_view chunk, std::string_view grade, std::uint64_t line) {
    const auto value = grade_of(grade);
    if (!value) return wrong("qrels", line, "expected a whole number as grade, found \"" + std::string(grade) + "\"", std::string(query));
    if (query.empty() || chunk.empty()) return wrong("qrels", line, "an id is empty");
    auto& of_query = judged_[std::string(query)];
    if (of_query.list.empty()) of_query.line = line;
    if (!of_query.chunks.insert(std::string(chunk)).second) {
      return wrong("qrels", line, "\"" + std::string(chunk) + "\" is judged twice for this query", std::string(query));
    }
    of_query.list.push_back({std::string(chunk), *value});
  }

  Collection finish(std::vector<Query> queries) {
    Collection out;
    std::set<std::string> known;
    for (auto& query : queries) {
      known.insert(query.id);
      const auto found = judged_.find(query.id);
      if (found == judged_.end() && !query.ours) {
        out.unjudged.push_back(query.id);
        continue;
      }
      Json item = {{"id", query.id}, {"type", name(ItemType::answerable)}, {"question", query.question}};
      for (const auto& [key, value] : query.fields.items()) item[key] = value;
      if (found != judged_.end()) {
        Json gold = Json::array(), relevance = Json::object();
        bool graded = false;
        for (const auto& each : found->second.list) {
          relevance[each.chunk] = each.grade;
          graded = graded || each.grade != 1;
          if (each.grade > 0) gold.push_back(each.chunk);
        }
        item["relevant_chunk_ids"] = std::move(gold);
        if (graded) item["relevance"] = std::move(relevance);
      }
      reader_.add(item, {query.line});
    }
    for (const auto& [id, judgements] : judged_) {
      if (!known.contains(id)) wrong("qrels", judgements.line, "judges a query that the queries lack", id);
    }
    out.checked = reader_.finish();
    return out;
  }

 private:
  struct OfQuery {
    std::uint64_t line = 0;
    std::vector<Judgement> list;
    std::set<std::string> chunks;
  };
  Reader reader_;
  std::map<std::string, OfQuery> judged_;
};

Result<void> must_be_text(std::string_view text, const char* file) {
  if (const auto bad = text::first_invalid(text)) return fail(ErrorCode::invalid_text, "isn't UTF-8 text at byte " + std::to_string(*bad), file);
  return {};
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

/// Gold with its grades, and what was judged as not relevant.
std::vector<Judgement> judgements(const Item& item) {
  std::vector<Judgement> out;
  for (const auto& id : item.relevant_chunk_ids) out.push_back({id, item.grade(id)});
  for (const auto& [id, grade] : item.relevance) {
    if (grade == 0) out.push_back({id, 0});
  }
  return out;
}

}  // namespace

std::string column(std::string_view id) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '%') {
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

Result<Collection> read_trec(std::string_view queries, std::string_view qrels) {
  if (auto text = must_be_text(queries, "queries"); !text) return tl::unexpected(text.error());
  if (auto text = must_be_text(qrels, "qrels"); !text) return tl::unexpected(text.error());
  CollectionReader reader(Form::trec);
  std::vector<Query> list;
  each_line(queries, [&](std::string_view line, std::uint64_t number) {
    const auto tab = line.find('\t');
    if (tab == std::string_view::npos) return reader.wrong("queries", number, "expected id<TAB>question");
    list.push_back({std::string(trimmed(line.substr(0, tab))), std::string(trimmed(line.substr(tab + 1))), Json::object(), number, false});
  });
  each_line(qrels, [&](std::string_view line, std::uint64_t number) {
    const auto columns = words(line);
    if (columns.size() != 4) return reader.wrong("qrels", number, "expected four columns: query, iteration, chunk, grade; found " + std::to_string(columns.size()));
    reader.judge(columns[0], columns[2], columns[3], number);
  });
  return reader.finish(std::move(list));
}

TrecFiles write_trec(const Set& set) {
  TrecFiles out;
  for (const auto& item : set.items) {
    const auto left_out = [&](std::string field, std::string message) { out.left_out.push_back({item.id, item.line, std::move(field), std::move(message)}); };
    if (item.relevant_chunk_ids.empty()) {
      left_out("relevant_chunk_ids", "an item without gold chunks has no place in qrels");
      continue;
    }
    std::string lost;
    each_optional_field(item, [&](std::string_view field, const auto& value, std::uint32_t) {
      using Value = std::decay_t<decltype(value)>;
      if (field == "relevant_chunk_ids" || field == "relevance") return;
      bool there;
      if constexpr (std::is_same_v<Value, bool>) there = value;
      else there = !value.empty();
      if (there) lost += (lost.empty() ? "" : ", ") + std::string(field);
    });
    if (!item.unknown.empty() || !item.extra.empty()) lost += (lost.empty() ? "" : ", ") + std::string("further fields");
    if (item.type != ItemType::answerable) lost += (lost.empty() ? "" : ", ") + std::string("type");
    if (!lost.empty()) left_out("", "only question and gold are written; left out: " + lost);
    out.queries += column(item.id) + "\t" + one_line(item.question) + "\n";
    for (const auto& each : judgements(item)) out.qrels += column(item.id) + " 0 " + column(each.chunk) + " " + std::to_string(each.grade) + "\n";
  }
  return out;
}

Result<Collection> read_beir(std::string_view queries, std::string_view qrels) {
  if (auto text = must_be_text(queries, "queries"); !text) return tl::unexpected(text.error());
  if (auto text = must_be_text(qrels, "qrels"); !text) return tl::unexpected(text.error());
  CollectionReader reader(Form::beir);
  std::vector<Query> list;
  each_line(queries, [&](std::string_view line, std::uint64_t number) {
    const Json object = parse_json(line);
    const auto text = [&](const char* key) { return object.is_object() && object.contains(key) && object[key].is_string(); };
    if (!text("_id") || !text("text")) return reader.wrong("queries", number, "expected {\"_id\": string, \"text\": string}");
    Query query{object["_id"].get<std::string>(), object["text"].get<std::string>(), Json::object(), number, false};
    if (const auto found = object.find("metadata"); found != object.end() && found->is_object() && !found->empty()) {
      Json metadata = *found;
      if (const auto ours = metadata.find(metadata_key); ours != metadata.end() && ours->is_object()) {
        query.fields = *ours;
        query.ours = true;
        metadata.erase(metadata_key);
      }
      if (!metadata.empty()) query.fields["extra"]["metadata"] = std::move(metadata);
    }
    list.push_back(std::move(query));
  });
  each_line(qrels, [&](std::string_view line, std::uint64_t number) {
    const auto columns = tab_separated(line);
    if (columns.size() != 3) return reader.wrong("qrels", number, "expected three columns separated by tabs: query-id, corpus-id, score; found " + std::to_string(columns.size()));
    if (number == 1 && columns[0] == "query-id") return;
    reader.judge(columns[0], columns[1], columns[2], number);
  });
  return reader.finish(std::move(list));
}

BeirFiles write_beir(const Set& set) {
  BeirFiles out;
  out.qrels = "query-id\tcorpus-id\tscore\n";
  const std::string lines = write_items(set);
  std::size_t begin = 0;
  for (const auto& item : set.items) {
    const std::size_t end = lines.find('\n', begin);
    Json fields = parse_json(std::string_view(lines).substr(begin, end - begin));
    begin = end + 1;
    for (const char* elsewhere : {"id", "question"}) fields.erase(elsewhere);
    if (!item.relevant_chunk_ids.empty()) {
      fields.erase("relevant_chunk_ids");
      fields.erase("relevance");
    }
    Json metadata = Json::object();
    if (const auto extra = fields.find("extra"); extra != fields.end() && extra->is_object() && extra->contains("metadata") && (*extra)["metadata"].is_object()) {
      metadata = (*extra)["metadata"];
      extra->erase("metadata");
      if (extra->empty()) fields.erase("extra");
    }
    metadata[metadata_key] = std::move(fields);
    out.queries += to_text({{"_id", item.id}, {"text", item.question}, {"metadata", std::move(metadata)}}) + "\n";
    if (item.relevant_chunk_ids.empty()) continue;
    for (const auto& each : judgements(item)) out.qrels += item.id + "\t" + each.chunk + "\t" + std::to_string(each.grade) + "\n";
  }
  return out;
}

std::string beir_document(std::string_view id, std::string_view title, std::string_view text) {
  return to_text({{"_id", id}, {"title", title}, {"text", text}}) + "\n";
}

}  // namespace polygraph::golden
