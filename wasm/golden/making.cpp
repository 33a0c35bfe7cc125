#include "wasm/golden/making.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "wasm/golden/item_json.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::golden {
namespace {

constexpr std::size_t least_text = 40;  ///< bytes of a chunk that there is something to ask about

std::string_view section_of(std::string_view page) { return page.substr(0, page.find('/')); }

/// The first sentence of running text: no heading, list, table or code.
std::string first_sentence(std::string_view text) {
  bool code = false;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.starts_with("```")) code = !code;
    if (code || line.empty() || std::string_view("#-*|>`<").find(line.front()) != std::string_view::npos) continue;
    const auto stop = line.find(". ");
    return std::string(stop == std::string_view::npos ? line : line.substr(0, stop + 1));
  }
  return {};
}

/// What a sentence defines: the words before its "is a", at most five of them.
std::string defined_by(std::string_view sentence) {
  for (const std::string_view verb : {" is a ", " is an ", " is the ", " are "}) {
    const auto at = sentence.find(verb);
    if (at == std::string_view::npos || at == 0) continue;
    const std::string_view subject = sentence.substr(0, at);
    if (std::count(subject.begin(), subject.end(), ' ') < 5 && subject.find_first_of(",;:(") == std::string_view::npos) return std::string(subject);
  }
  return {};
}

}  // namespace

std::vector<std::string> pool_ids(const index::Index& index, const Item& item, std::span<const index::ChunkNo> found) {
  std::set<index::ChunkNo> chunks(found.begin(), found.end());
  const auto add = [&](const std::string& id) {
    if (const auto chunk = id.empty() ? std::nullopt : index.find_chunk(id)) chunks.insert(*chunk);
  };
  for (const auto& id : item.relevant_chunk_ids) add(id);
  add(item.source_chunk_id);
  std::vector<std::string> out;
  for (const auto chunk : chunks) out.push_back(index.chunk_id(chunk));
  return out;
}

std::string_view name(Answers answers) noexcept {
  switch (answers) {
    case Answers::all: return "all";
    case Answers::part: return "part";
    case Answers::none: break;
  }
  return "none";
}

std::optional<Answers> parse_answers(std::string_view text) noexcept {
  for (const auto each : {Answers::none, Answers::part, Answers::all}) {
    if (name(each) == text) return each;
  }
  return std::nullopt;
}

Result<std::vector<Label>> parse_labels(std::string_view text, std::size_t passages) {
  const Json json = parse_json(text);
  const auto list = json.is_object() ? json.find("labels") : json.end();
  if (!json.is_object() || list == json.end() || !list->is_array()) return fail(ErrorCode::invalid_json, "labels is missing or no array", "labels");
  std::vector<std::optional<Label>> found(passages);
  for (const Json& entry : *list) {
    const auto text_of = [&](const char* key) {
      const auto value = entry.is_object() ? entry.find(key) : entry.end();
      return entry.is_object() && value != entry.end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    const std::string passage = text_of("passage");
    std::size_t place = 0;
    while (place < passages && passage != "P" + std::to_string(place + 1)) ++place;
    if (place == passages) return fail(ErrorCode::invalid_json, "\"" + passage + "\" is no passage's label; there are P1 to P" + std::to_string(passages), "passage");
    if (found[place]) return fail(ErrorCode::invalid_json, passage + " is labelled twice", "passage");
    const auto answers = parse_answers(text_of("answers"));
    if (!answers) return fail(ErrorCode::invalid_json, passage + ": answers is not all, part or none", "answers");
    found[place] = Label{*answers, text_of("reason")};
  }
  std::vector<Label> out;
  for (std::size_t i = 0; i < passages; ++i) {
    if (!found[i]) return fail(ErrorCode::invalid_json, "P" + std::to_string(i + 1) + " is not labelled", "labels");
    out.push_back(std::move(*found[i]));
  }
  return out;
}

std::optional<Item> labelled(const index::Index& index, const Item& item, const std::vector<std::string>& pool, const Labels& labels) {
  Item out = item;
  out.pool_ids = pool;
  if (item.type == ItemType::unanswerable) return out;
  out.relevant_chunk_ids.clear();
  out.relevance.clear();
  out.chunk_digests.clear();
  for (const auto& id : pool) {
    const auto label = labels.find(id);
    const auto chunk = index.find_chunk(id);
    if (label == labels.end() || label->second == Answers::none || !chunk) continue;
    out.relevant_chunk_ids.push_back(id);
    out.chunk_digests[id] = chunk_digest(index.chunk(*chunk).text);
  }
  if (out.relevant_chunk_ids.empty()) return std::nullopt;
  return out;
}

std::string answering_chunk(const std::vector<std::string>& pool, const Labels& labels) {
  for (const auto& id : pool) {
    if (const auto label = labels.find(id); label != labels.end() && label->second == Answers::all) return id;
  }
  return {};
}

std::vector<index::ChunkNo> sample_chunks(const index::Index& index, std::size_t count, std::uint64_t seed) {
  std::map<std::string, std::vector<index::ChunkNo>> sections;
  for (index::ChunkNo c = 0; c < index.chunks(); ++c) {
    const auto chunk = index.chunk(c);
    if (chunk.text.size() >= least_text) sections[std::string(section_of(index.document(chunk.document).id))].push_back(c);
  }
  for (auto& [section, chunks] : sections) {
    std::vector<std::pair<text::Digest128, index::ChunkNo>> drawn;
    for (const auto chunk : chunks) drawn.emplace_back(text::digest128(std::to_string(seed) + ' ' + index.chunk_id(chunk)), chunk);
    std::sort(drawn.begin(), drawn.end());
    std::transform(drawn.begin(), drawn.end(), chunks.begin(), [](const auto& entry) { return entry.second; });
  }
  std::set<index::DocumentNo> pages;
  std::vector<index::ChunkNo> out;
  for (bool drawn = true; drawn && out.size() < count;) {
    drawn = false;
    for (auto& [section, chunks] : sections) {
      if (chunks.empty() || out.size() == count) continue;
      auto next = std::find_if(chunks.begin(), chunks.end(), [&](index::ChunkNo c) { return !pages.contains(index.chunk(c).document); });
      if (next == chunks.end()) next = chunks.begin();
      pages.insert(index.chunk(*next).document);
      out.push_back(*next);
      chunks.erase(next);
      drawn = true;
    }
  }
  return out;
}

Result<Drafted> parse_draft(std::string_view text, ItemType type) {
  const Json json = parse_json(text);
  Drafted out;
  for (const auto& [key, field] : {std::pair("question", &out.question), {"reference_answer", &out.reference_answer}, {"evidence", &out.evidence}}) {
    const auto value = json.is_object() ? json.find(key) : json.end();
    if (!json.is_object() || value == json.end() || !value->is_string()) return fail(ErrorCode::invalid_json, std::string(key) + " is missing or no string", key);
    *field = std::string(trimmed(value->get_ref<const std::string&>()));
  }
  if (out.question.empty()) return fail(ErrorCode::invalid_json, "question is empty", "question");
  if (type == ItemType::unanswerable) {
    if (!out.reference_answer.empty()) return fail(ErrorCode::invalid_json, "reference_answer is not empty, but the question is to have no answer", "reference_answer");
    out.evidence.clear();
  } else if (out.reference_answer.empty()) {
    return fail(ErrorCode::invalid_json, "reference_answer is empty", "reference_answer");
  }
  return out;
}

std::string heading_of(const index::Index& index, index::ChunkNo no) {
  const auto chunk = index.chunk(no);
  constexpr std::string_view separator = " > ";
  const auto last = chunk.heading_path.rfind(separator);
  if (chunk.heading_path.empty()) return std::string(index.document(chunk.document).title);
  return std::string(last == std::string_view::npos ? chunk.heading_path : chunk.heading_path.substr(last + separator.size()));
}

Drafted plain_draft(const index::Index& index, index::ChunkNo no, ItemType type) {
  const std::string heading = heading_of(index, no), sentence = first_sentence(index.chunk(no).text);
  if (type == ItemType::unanswerable) return {"In which year was " + heading + " added, and by whom?", "", ""};
  const std::string answer = sentence.empty() ? std::string(trimmed(index.chunk(no).text)) : sentence;
  if (type == ItemType::vague) return {"What should I know about " + heading + "?", answer, answer};
  if (const auto subject = defined_by(sentence); !subject.empty()) return {"What is meant by " + subject + "?", sentence, sentence};
  return {"What does the documentation say under \"" + heading + "\"?", answer, answer};
}

Item drafted_item(const index::Index& index, index::ChunkNo no, ItemType type, std::string id, const Drafted& draft) {
  Item item;
  item.id = std::move(id);
  item.type = type;
  item.question = draft.question;
  item.source_chunk_id = index.chunk_id(no);
  item.should_refuse = type == ItemType::unanswerable;
  item.query_type = name(type);
  if (type == ItemType::unanswerable) return item;
  item.reference_answer = draft.reference_answer;
  item.evidence = draft.evidence;
  item.relevant_chunk_ids = {item.source_chunk_id};
  item.chunk_digests[item.source_chunk_id] = chunk_digest(index.chunk(no).text);
  return item;
}

void add_note(Item& item, std::string_view note) {
  if (item.notes.find(note) != std::string::npos) return;
  if (!item.notes.empty()) item.notes += '\n';
  item.notes += note;
}

}  // namespace polygraph::golden
