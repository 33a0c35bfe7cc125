#include "wasm/golden/selection.hpp"

#include <algorithm>
#include <set>

#include "wasm/golden/item_json.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::golden {
namespace {

constexpr std::pair<ItemType, std::size_t> gate_counts[] = {{ItemType::answerable, 10}, {ItemType::vague, 3}, {ItemType::unanswerable, 7}};

std::string list_of(const std::vector<std::string>& ids) {
  constexpr std::size_t most = 10;
  std::string out;
  for (std::size_t i = 0; i < ids.size() && i < most; ++i) out += (i == 0 ? "\"" : ", \"") + ids[i] + "\"";
  if (ids.size() > most) out += " and " + std::to_string(ids.size() - most) + " more";
  return out;
}

Set without_items(const Set& set) {
  Set out;
  out.name = set.name;
  out.version = set.version;
  out.extra = set.extra;
  out.form = set.form;
  return out;
}

/// The first `count` items of a type by hash of `salt` and id.
void choose(const Set& set, ItemType type, std::size_t count, const std::string& salt, std::set<std::string>& chosen) {
  std::vector<std::pair<text::Digest128, std::string>> order;
  for (const auto& item : set.items) {
    if (item.type == type) order.emplace_back(text::digest128(salt + item.id), item.id);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size() && i < count; ++i) chosen.insert(order[i].second);
}

std::vector<std::string> in_order(const Set& set, const std::set<std::string>& chosen) {
  std::vector<std::string> ids;
  for (const auto& item : set.items) {
    if (chosen.contains(item.id)) ids.push_back(item.id);
  }
  return ids;
}

}  // namespace

std::string_view name(Source source) noexcept {
  switch (source) {
    case Source::ai_reviewed: return "ai_reviewed";
    case Source::verified: return "verified";
    case Source::all: return "all";
  }
  return "";
}

Result<Source> parse_source(std::string_view text) {
  for (const auto source : {Source::ai_reviewed, Source::verified, Source::all}) {
    if (text == name(source)) return source;
  }
  return fail(ErrorCode::invalid_argument, "\"" + std::string(text) + "\" is none of ai_reviewed, verified and all", "--golden-source");
}

std::string_view name(Decision decision) noexcept {
  switch (decision) {
    case Decision::accept: return "accept";
    case Decision::edit: return "edit";
    case Decision::reject: return "reject";
  }
  return "";
}

Result<Review> parse_review(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const Json document = parse_json(text);
  if (document.is_discarded()) return fail(ErrorCode::invalid_json, "is not JSON");
  const auto items = document.is_object() ? document.find("items") : document.end();
  if (!document.is_object() || items == document.end() || !items->is_object()) {
    return fail(ErrorCode::invalid_json, "is missing or of another type; expected an object of decisions by item id", "items");
  }
  Review review;
  Json rest = document;
  rest.erase("items");
  if (!rest.empty()) review.unknown = to_text(rest);
  for (const auto& [id, entry] : items->items()) {
    const std::string at = "items." + id;
    if (!entry.is_object()) return fail(ErrorCode::invalid_json, std::string("expected an object, found ") + entry.type_name(), at);
    Opinion opinion;
    Json unknown = Json::object();
    bool decided = false;
    for (const auto& field_of : entry.items()) {
      const auto& key = field_of.key();
      const auto& value = field_of.value();
      const auto take = [&](std::string& field) { return value.is_null() || (value.is_string() && (field = value.get<std::string>(), true)); };
      bool fits = true;
      if (key == "decision") {
        for (const auto decision : {Decision::accept, Decision::edit, Decision::reject}) {
          if (value == name(decision)) {
            opinion.decision = decision;
            decided = true;
          }
        }
        if (!decided) return fail(ErrorCode::invalid_json, "expected accept, edit or reject, found " + to_text(value), at + ".decision");
      } else if (key == "edit") {
        if (!value.is_null() && !value.is_object() && !value.is_string()) {
          return fail(ErrorCode::invalid_json, std::string("expected an object of fields or the new question, found ") + value.type_name(), at + ".edit");
        }
        if (!value.is_null()) opinion.edit = to_text(value);
      } else if (key == "reason") {
        fits = take(opinion.reason);
      } else if (key == "reviewer") {
        fits = take(opinion.reviewer);
      } else if (key == "reviewed_at") {
        fits = take(opinion.reviewed_at);
      } else {
        unknown[key] = value;
      }
      if (!fits) return fail(ErrorCode::invalid_json, std::string("expected a string, found ") + value.type_name(), at + "." + key);
    }
    if (!decided) return fail(ErrorCode::invalid_json, "is missing; expected accept, edit or reject", at + ".decision");
    if (opinion.decision == Decision::edit && opinion.edit.empty()) return fail(ErrorCode::invalid_json, "is missing, but the decision is edit", at + ".edit");
    if (!unknown.empty()) opinion.unknown = to_text(unknown);
    review.items.emplace(id, std::move(opinion));
  }
  return review;
}

std::string write_review(const Review& review) {
  Json document = {{"kind", "golden_review"}, {"schema", 1}};
  const Json rest = review.unknown.empty() ? Json::object() : parse_json(review.unknown);
  for (const auto& [key, value] : rest.items()) document[key] = value;
  Json& items = document["items"] = Json::object();
  for (const auto& [id, opinion] : review.items) {
    Json entry = {{"decision", name(opinion.decision)}, {"edit", opinion.edit.empty() ? Json(nullptr) : parse_json(opinion.edit)}, {"reason", opinion.reason},
                  {"reviewer", opinion.reviewer}, {"reviewed_at", opinion.reviewed_at}};
    const Json unknown = opinion.unknown.empty() ? Json::object() : parse_json(opinion.unknown);
    for (const auto& [key, value] : unknown.items()) entry[key] = value;
    items[id] = std::move(entry);
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Item> with_edit(const Item& item, const std::string& edit) {
  const Json change = parse_json(edit);
  if (!change.is_object() && !change.is_string()) return fail(ErrorCode::invalid_json, "the edit is no object of fields", "edit");
  Json json = item_to_json(item);
  if (change.is_string()) {
    json["question"] = change;
  } else {
    for (const auto& [key, value] : change.items()) {
      if (key == "id" && value != item.id) return fail(ErrorCode::invalid_json, "item \"" + item.id + "\": an edit can't change the id", "edit.id");
      json[key] = value;
    }
    // Another type takes its refusal along, unless the edit says otherwise.
    if (change.contains("type") && !change.contains("should_refuse")) json["should_refuse"] = change["type"] == name(ItemType::unanswerable);
    if (change.contains("relevant_chunk_ids") && !change.contains("relevance")) json.erase("relevance");
  }
  Reader reader(Form::items);
  reader.add(json, {item.line});
  auto edited = valid_set(reader.finish());
  if (!edited) {
    Error error = edited.error();
    error.message = "with its edit, " + error.message;
    error.field = error.field.empty() ? "edit" : "edit." + error.field;
    error.line = 0;  // of the review, which has no lines
    return tl::unexpected(std::move(error));
  }
  return std::move(edited->items.front());
}

Result<Selected> select(const Set& set, Source source, const Review* review) {
  if (source == Source::ai_reviewed && review == nullptr) {
    return fail(ErrorCode::invalid_argument, "ai_reviewed needs the review file; without one choose verified or all", "--golden-source");
  }
  Selected out{without_items(set), {}, {}};
  std::set<std::string_view> known;
  for (const auto& item : set.items) {
    known.insert(item.id);
    bool counts = !item.rejected;
    const Opinion* edit = nullptr;
    if (source == Source::verified) counts = counts && item.verified;
    if (source == Source::ai_reviewed) {
      const auto found = review->items.find(item.id);
      counts = counts && found != review->items.end() && found->second.decision != Decision::reject;
      if (counts && found->second.decision == Decision::edit) edit = &found->second;
    }
    if (!counts) {
      out.left_out.push_back(item.id);
    } else if (edit != nullptr) {
      auto edited = with_edit(item, edit->edit);
      if (!edited) return tl::unexpected(edited.error());
      out.set.items.push_back(std::move(*edited));
    } else {
      out.set.items.push_back(item);
    }
  }
  if (review != nullptr) {
    for (const auto& [id, opinion] : review->items) {
      if (!known.contains(id)) out.unknown_reviews.push_back(id);
    }
  }
  if (out.set.items.empty()) {
    return fail(ErrorCode::invalid_json, "none of the " + std::to_string(set.items.size()) + " items counts as " + std::string(name(source)), "--golden-source");
  }
  return out;
}

Result<Set> with_ids(const Set& set, const std::vector<std::string>& ids) {
  const std::set<std::string> wanted(ids.begin(), ids.end());
  Set out = without_items(set);
  std::set<std::string> found;
  for (const auto& item : set.items) {
    if (!wanted.contains(item.id)) continue;
    out.items.push_back(item);
    found.insert(item.id);
  }
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), found.begin(), found.end(), std::back_inserter(missing));
  if (!missing.empty()) return fail(ErrorCode::not_found, "the golden set has no item " + list_of(missing), "ids");
  return out;
}

Result<std::vector<std::string>> parse_ids(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> ids;
  std::set<std::string> seen;
  const auto add = [&](std::string id, std::uint64_t line) -> Result<void> {
    if (!seen.insert(id).second) return fail(ErrorCode::invalid_json, "\"" + id + "\" stands twice", "ids", line);
    ids.push_back(std::move(id));
    return {};
  };
  if (const Json list = trimmed(text).starts_with('[') ? parse_json(text) : Json(); list.is_array()) {
    for (const Json& each : list) {
      if (!each.is_string()) return fail(ErrorCode::invalid_json, std::string("expected ids, strings; found ") + each.type_name(), "ids");
      if (auto added = add(each.get<std::string>(), 0); !added) return tl::unexpected(added.error());
    }
  } else {
    for (std::uint64_t number = 1; !text.empty(); ++number) {
      const auto end = text.find('\n');
      const std::string_view line = trimmed(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      if (line.empty()) continue;
      if (auto added = add(std::string(line), number); !added) return tl::unexpected(added.error());
    }
  }
  if (ids.empty()) return fail(ErrorCode::invalid_json, "holds no id", "ids");
  return ids;
}

Set first_items(const Set& set, std::size_t count) {
  Set out = without_items(set);
  out.items.assign(set.items.begin(), set.items.begin() + static_cast<std::ptrdiff_t>(std::min(count, set.items.size())));
  return out;
}

std::vector<std::string> gate_ids(const Set& set) {
  std::set<std::string> chosen;
  for (const auto& [type, count] : gate_counts) choose(set, type, count, "", chosen);
  return in_order(set, chosen);
}

std::vector<std::string> stratified_ids(const Set& set, std::size_t count, std::uint64_t seed) {
  const std::size_t total = set.items.size();
  count = std::min(count, total);
  struct Stratum {
    ItemType type;
    std::size_t size = 0, share = 0, remainder = 0;
  };
  std::vector<Stratum> strata;
  for (const auto type : item_types) {
    Stratum stratum{type};
    for (const auto& item : set.items) stratum.size += item.type == type;
    if (stratum.size > 0) strata.push_back(stratum);
  }
  std::size_t given = 0;
  for (auto& stratum : strata) {
    stratum.share = count * stratum.size / total;
    stratum.remainder = count * stratum.size % total;
    if (stratum.share == 0 && count >= strata.size()) {
      stratum.share = 1;
      stratum.remainder = 0;
    }
    given += stratum.share;
  }
  while (given < count) {
    auto most = std::max_element(strata.begin(), strata.end(), [](const auto& a, const auto& b) { return a.remainder < b.remainder; });
    // Every stratum got its rounding up: the rest goes wherever items are left.
    if (most->share >= most->size) most = std::find_if(strata.begin(), strata.end(), [](const auto& each) { return each.share < each.size; });
    ++most->share;
    most->remainder = 0;
    ++given;
  }
  while (given > count) {  // types that got their one item for nothing take it from the largest
    auto most = std::max_element(strata.begin(), strata.end(), [](const auto& a, const auto& b) { return a.share < b.share; });
    --most->share;
    --given;
  }
  std::set<std::string> chosen;
  for (const auto& stratum : strata) choose(set, stratum.type, stratum.share, std::to_string(seed) + "\n", chosen);
  return in_order(set, chosen);
}

Result<Shard> parse_shard(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::size_t {
    if (digits.empty() || digits.size() > 6) return 0;
    std::size_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return 0;
      value = value * 10 + static_cast<std::size_t>(c - '0');
    }
    return value;
  };
  const auto slash = text.find('/');
  const Shard shard{number(text.substr(0, slash)), slash == std::string_view::npos ? 0 : number(text.substr(slash + 1))};
  if (shard.number == 0 || shard.of == 0 || shard.number > shard.of) {
    return fail(ErrorCode::invalid_argument, "\"" + std::string(text) + "\" is no shard i/n with i from 1 to n", "--shard");
  }
  return shard;
}

Set in_shard(const Set& set, Shard shard) {
  Set out = without_items(set);
  for (std::size_t i = shard.number - 1; i < set.items.size(); i += shard.of) out.items.push_back(set.items[i]);
  return out;
}

}  // namespace polygraph::golden
