#include "wasm/golden/golden_set.hpp"

#include <algorithm>

#include "wasm/golden/item_json.hpp"
#include "wasm/text/digest.hpp"

namespace polygraph::golden {

std::string_view name(ItemType type) noexcept {
  switch (type) {
    case ItemType::answerable: return "answerable";
    case ItemType::vague: return "vague";
    case ItemType::unanswerable: return "unanswerable";
  }
  return "";
}

std::string_view name(Form form) noexcept {
  switch (form) {
    case Form::items: return "items";
    case Form::samples: return "samples";
    case Form::table: return "table";
    case Form::trec: return "trec";
    case Form::beir: return "beir";
  }
  return "";
}

std::uint32_t Item::grade(std::string_view chunk_id) const {
  if (std::find(relevant_chunk_ids.begin(), relevant_chunk_ids.end(), chunk_id) == relevant_chunk_ids.end()) return 0;
  const auto found = relevance.find(std::string(chunk_id));
  return found == relevance.end() ? 1 : found->second;
}

Result<Set> parse(std::string_view text) {
  auto checked = read(text);
  if (!checked) return tl::unexpected(checked.error());
  return valid_set(std::move(*checked));
}

Result<Set> valid_set(Checked checked) {
  if (checked.valid()) return std::move(checked.set);
  const Problem& first = checked.errors.front();
  std::string message = first.item.empty() ? first.message : "item \"" + first.item + "\": " + first.message;
  if (const auto more = checked.errors.size() - 1; more > 0) {
    message += " (and " + std::to_string(more) + (more == 1 ? " more error" : " more errors") + "; `polygraph validate` lists them)";
  }
  return fail(ErrorCode::invalid_json, std::move(message), first.field, first.line);
}

std::string report_json(const Checked& checked) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  const auto list = [&](const std::vector<Problem>& problems) {
    Json out = Json::array();
    for (const auto& each : problems) {
      out.push_back({{"item", or_null(each.item)}, {"line", each.line == 0 ? Json(nullptr) : Json(each.line)}, {"field", or_null(each.field)},
                     {"message", each.message}});
    }
    return out;
  };
  const Set& set = checked.set;
  Json counts = {{"items", set.items.size()}};
  for (const auto type : item_types) {
    counts[std::string(name(type))] = std::count_if(set.items.begin(), set.items.end(), [&](const Item& item) { return item.type == type; });
  }
  counts["verified"] = std::count_if(set.items.begin(), set.items.end(), [](const Item& item) { return item.verified; });
  counts["rejected"] = std::count_if(set.items.begin(), set.items.end(), [](const Item& item) { return item.rejected; });
  std::map<std::string, std::size_t> query_types;
  for (const auto& item : set.items) ++query_types[item.query_type];
  Json& listed = counts["query_types"] = Json::object();
  for (const char* first : {"factual", "reasoning", "multi-hop"}) {
    if (const auto found = query_types.find(first); found != query_types.end()) listed[first] = found->second;
  }
  for (const auto& [type, count] : query_types) {
    if (!listed.contains(type)) listed[type] = count;
  }
  return to_text({{"valid", checked.valid()}, {"name", or_null(set.name)}, {"version", or_null(set.version)}, {"counts", std::move(counts)},
                  {"errors", list(checked.errors)}, {"warnings", list(checked.warnings)}});
}

ForRagdiag for_ragdiag(const Set& set) {
  ForRagdiag out;
  out.set = set;
  out.set.items.clear();
  for (const auto& item : set.items) {
    std::string reason;
    const auto add = [&](std::string more) { reason += (reason.empty() ? "" : "; ") + std::move(more); };
    if (item.relevant_chunk_ids.empty()) add("no relevant_chunk_ids");
    if (blank(item.reference_answer)) add("no expected answer");
    if (item.query_type != "factual" && item.query_type != "reasoning" && item.query_type != "multi-hop") {
      add("query type \"" + item.query_type + "\" is none of factual, reasoning and multi-hop");
    }
    if (reason.empty()) out.set.items.push_back(item);
    else out.left_out.push_back({item.id, std::move(reason)});
  }
  return out;
}

std::string chunk_digest(std::string_view text) { return text::digest(text); }

std::string digest(const Set& set) {
  Json content = {set.name, set.version};
  for (const auto& item : set.items) {
    std::map<std::string, std::uint32_t> gold;  // its order says nothing
    for (const auto& id : item.relevant_chunk_ids) gold[id] = item.grade(id);
    std::vector<std::string> pages = item.relevant_pages;
    std::sort(pages.begin(), pages.end());
    content.push_back({item.id, name(item.type), item.question, item.reference_answer, gold, pages, item.should_refuse, item.query_type, item.kind});
  }
  return text::digest(to_text(content));
}

}  // namespace polygraph::golden
