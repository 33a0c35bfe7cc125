#include "wasm/golden/review.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "wasm/golden/item_json.hpp"

namespace polygraph::golden {
namespace {

bool is_texts(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& each) { return each.is_string(); });
}

Item decided(const Item& item, const Opinion& opinion) {
  Item out = item;
  if (opinion.decision == Decision::edit) {
    if (auto edited = with_edit(item, opinion.edit)) out = std::move(*edited);  // checked when it was decided
  }
  out.verified = opinion.decision != Decision::reject;
  out.rejected = opinion.decision == Decision::reject;
  out.reviewer = opinion.reviewer;
  out.reviewed_at = opinion.reviewed_at;
  if (!opinion.reason.empty() && out.notes.find(opinion.reason) == std::string::npos) out.notes += (out.notes.empty() ? "" : "\n") + opinion.reason;
  return out;
}

Item undecided(const Item& item) {
  Item out = item;
  if (!item.verified && !item.rejected) return out;
  out.verified = out.rejected = false;
  out.reviewer.clear();
  out.reviewed_at.clear();
  return out;
}

void renew_digests(Item& item, const index::Index* index) {
  const std::set<std::string_view> gold(item.relevant_chunk_ids.begin(), item.relevant_chunk_ids.end());
  std::erase_if(item.chunk_digests, [&](const auto& entry) { return !gold.contains(entry.first); });
  if (index == nullptr) return;
  for (const auto& id : item.relevant_chunk_ids) {
    if (const auto chunk = index->find_chunk(id)) item.chunk_digests[id] = chunk_digest(index->chunk(*chunk).text);
  }
}

Json passages_of(const Item& item, const index::Index* index) {
  Json out = Json::array();
  for (const auto& id : passage_ids(item)) {
    const bool relevant = std::find(item.relevant_chunk_ids.begin(), item.relevant_chunk_ids.end(), id) != item.relevant_chunk_ids.end();
    Json passage = {{"id", id}, {"title", ""}, {"text", ""}, {"relevant", relevant}};
    if (const auto no = index == nullptr ? std::nullopt : index->find_chunk(id)) {
      const auto chunk = index->chunk(*no);
      passage["title"] = index->document(chunk.document).title;
      if (!chunk.heading_path.empty()) passage["title"] = passage["title"].get<std::string>() + " > " + std::string(chunk.heading_path);
      passage["text"] = chunk.text;
      if (const auto url = index->chunk_url(*no); !url.empty()) passage["url"] = url;
    } else {
      passage["title"] = index == nullptr ? id : id + " (not in this index)";
    }
    out.push_back(std::move(passage));
  }
  return out;
}

Json opinion_json(const Opinion& opinion) {
  Json out = {{"decision", name(opinion.decision)}};
  if (!opinion.edit.empty()) {
    Json edit = parse_json(opinion.edit);
    if (edit.is_string()) edit = Json{{"question", edit}};  // an edit of the question alone may be its text
    out["edit"] = std::move(edit);
  }
  for (const auto& [key, value] : {std::pair("reason", &opinion.reason), {"reviewer", &opinion.reviewer}, {"reviewed_at", &opinion.reviewed_at}}) {
    if (!value->empty()) out[key] = *value;
  }
  return out;
}

}  // namespace

ReviewDesk ReviewDesk::over_set(Set set) {
  Review review;
  for (const auto& item : set.items) {
    if (!item.verified && !item.rejected) continue;
    Opinion opinion;
    opinion.decision = item.verified ? Decision::accept : Decision::reject;
    opinion.reviewer = item.reviewer;
    opinion.reviewed_at = item.reviewed_at;
    review.items.emplace(item.id, std::move(opinion));
  }
  return over_file(std::move(set), std::move(review));
}

ReviewDesk ReviewDesk::over_file(Set set, Review review) {
  ReviewDesk desk;
  desk.set_ = std::move(set);
  desk.review_ = std::move(review);
  for (std::size_t i = 0; i < desk.set_.items.size(); ++i) desk.places_.emplace(desk.set_.items[i].id, i);
  return desk;
}

const Opinion* ReviewDesk::decision(std::string_view id) const {
  const auto found = review_.items.find(std::string(id));
  return found == review_.items.end() ? nullptr : &found->second;
}

std::optional<std::size_t> ReviewDesk::find(std::string_view id) const {
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

Result<void> ReviewDesk::decide(const std::string& id, Opinion opinion) {
  const auto place = find(id);
  if (!place) return fail(ErrorCode::not_found, "the golden set has no item \"" + id + "\"", "id");
  if (opinion.decision == Decision::edit) {
    if (auto edited = with_edit(set_.items[*place], opinion.edit); !edited) return tl::unexpected(edited.error());
  } else {
    opinion.edit.clear();
  }
  review_.items[id] = std::move(opinion);
  return {};
}

bool ReviewDesk::withdraw(const std::string& id) { return review_.items.erase(id) > 0; }

Set ReviewDesk::reviewed(const index::Index* index) const {
  Set out = set_;
  for (auto& item : out.items) {
    const Opinion* opinion = decision(item.id);
    item = opinion != nullptr ? decided(item, *opinion) : undecided(item);
    if (opinion != nullptr && opinion->decision == Decision::edit) renew_digests(item, index);
  }
  return out;
}

std::vector<std::string> passage_ids(const Item& item) {
  std::vector<std::string> out;
  std::set<std::string_view> seen;
  const auto add = [&](const std::string& id) {
    if (!id.empty() && seen.insert(id).second) out.push_back(id);
  };
  for (const auto& id : item.pool_ids) add(id);
  for (const auto& id : item.relevant_chunk_ids) add(id);
  add(item.source_chunk_id);
  return out;
}

std::string review_set_json(const ReviewDesk& desk, std::string_view name, const index::Index* index, const Review* proposals) {
  Json out = {{"kind", "review_set"}, {"schema", 1}, {"name", name}, {"mode", "review"}, {"items", Json::array()}, {"decisions", Json::object()}};
  for (const auto& item : desk.set().items) {
    Json json = {{"id", item.id}, {"type", golden::name(item.type)}, {"question", item.question}, {"reference", item.reference_answer}};
    if (!item.notes.empty()) json["notes"] = item.notes;
    json["passages"] = passages_of(item, index);
    if (proposals != nullptr) {
      if (const auto found = proposals->items.find(item.id); found != proposals->items.end()) {
        json["proposal"] = {{"decision", golden::name(found->second.decision)}, {"reason", found->second.reason}};
      }
    }
    out["items"].push_back(std::move(json));
    if (const Opinion* opinion = desk.decision(item.id)) out["decisions"][item.id] = opinion_json(*opinion);
  }
  return to_text(out);
}

Result<Opinion> parse_decision(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return fail(ErrorCode::invalid_json, "a decision is a JSON object");
  Opinion opinion;
  bool made = false;
  for (const auto& [key, value] : json.items()) {
    if (key == "decision") {
      for (const auto each : {Decision::accept, Decision::edit, Decision::reject}) {
        if (value == name(each)) {
          opinion.decision = each;
          made = true;
        }
      }
      if (!made) return fail(ErrorCode::invalid_json, "expected accept, edit or reject, found " + to_text(value), "decision");
    } else if (key == "reason") {
      if (!value.is_null() && !value.is_string()) return fail(ErrorCode::invalid_json, "expected a string or null", "reason");
      if (value.is_string()) opinion.reason = value.get<std::string>();
    } else if (key == "edit") {
      if (value.is_null()) continue;
      if (!value.is_object()) return fail(ErrorCode::invalid_json, "expected an object of fields or null", "edit");
      for (const auto& [field, change] : value.items()) {
        const bool fits = field == "relevant_chunk_ids" ? is_texts(change) : (field == "question" || field == "reference_answer") && change.is_string();
        if (!fits) return fail(ErrorCode::invalid_json, "is no field that a review changes, or of another type", "edit." + field);
      }
      if (!value.empty()) opinion.edit = to_text(value);
    } else {
      return fail(ErrorCode::invalid_json, "is no field of a decision", key);
    }
  }
  if (!made) return fail(ErrorCode::invalid_json, "is missing; expected accept, edit or reject", "decision");
  if (opinion.decision == Decision::edit && opinion.edit.empty()) return fail(ErrorCode::invalid_json, "is missing or empty, but the decision is edit", "edit");
  return opinion;
}

Draft draft_of(const Item& item, const Opinion* decision) {
  Draft draft{item.question, item.reference_answer, item.relevant_chunk_ids};
  if (decision == nullptr || decision->edit.empty()) return draft;
  if (auto edited = with_edit(item, decision->edit)) draft = {edited->question, edited->reference_answer, edited->relevant_chunk_ids};
  return draft;
}

std::string edit_of(const Item& item, const Draft& draft) {
  Json edit = Json::object();
  if (draft.question != item.question) edit["question"] = draft.question;
  if (draft.reference_answer != item.reference_answer) edit["reference_answer"] = draft.reference_answer;
  const std::set<std::string> before(item.relevant_chunk_ids.begin(), item.relevant_chunk_ids.end());
  if (before != std::set<std::string>(draft.relevant_chunk_ids.begin(), draft.relevant_chunk_ids.end())) edit["relevant_chunk_ids"] = draft.relevant_chunk_ids;
  return edit.empty() ? std::string() : to_text(edit);
}

std::string write_drafts(const std::map<std::string, Draft>& drafts) {
  Json out = Json::object();
  for (const auto& [id, draft] : drafts) {
    out[id] = {{"question", draft.question}, {"reference_answer", draft.reference_answer}, {"relevant_chunk_ids", draft.relevant_chunk_ids}};
  }
  return to_text(out) + "\n";
}

std::map<std::string, Draft> read_drafts(std::string_view text) {
  std::map<std::string, Draft> out;
  const Json json = parse_json(text);
  if (!json.is_object()) return out;
  for (const auto& [id, value] : json.items()) {
    if (!value.is_object()) continue;
    const auto question = value.find("question"), reference = value.find("reference_answer"), gold = value.find("relevant_chunk_ids");
    if (question == value.end() || reference == value.end() || gold == value.end() || !question->is_string() || !reference->is_string() || !is_texts(*gold)) continue;
    out[id] = {question->get<std::string>(), reference->get<std::string>(), gold->get<std::vector<std::string>>()};
  }
  return out;
}

}  // namespace polygraph::golden
