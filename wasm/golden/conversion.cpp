#include "wasm/golden/conversion.hpp"

#include <algorithm>
#include <utility>

#include "wasm/golden/table.hpp"
#include "wasm/golden/trec.hpp"

namespace polygraph::golden {

Result<Conversion> convert(Set set, std::string_view to) {
  Conversion out;
  out.items = out.written = set.items.size();
  if (to == "items") {
    out.files.push_back({"", write_items(set)});
  } else if (to == "samples") {
    out.files.push_back({"", write_samples(set)});
    out.ragdiag_refuses = for_ragdiag(set).left_out.size();
  } else if (to == "ragdiag") {
    auto fitting = for_ragdiag(set);
    for (const auto& each : fitting.left_out) out.left_out.push_back({each.item, 0, "", each.reason});
    out.written = fitting.set.items.size();
    if (fitting.set.name.empty()) fitting.set.name = "golden set";
    if (fitting.set.version.empty()) fitting.set.version = "1";
    out.files.push_back({"", write_samples(fitting.set)});
  } else if (to == "csv" || to == "tsv") {
    auto table = write_table(set, to == "csv" ? ',' : '\t');
    out.left_out = std::move(table.left_out);
    out.files.push_back({"", std::move(table.text)});
  } else if (to == "trec") {
    auto trec = write_trec(set);
    out.left_out = std::move(trec.left_out);
    out.written = static_cast<std::size_t>(std::count_if(set.items.begin(), set.items.end(), [](const Item& item) { return !item.relevant_chunk_ids.empty(); }));
    out.files.push_back({"queries.tsv", std::move(trec.queries)});
    out.files.push_back({"qrels.txt", std::move(trec.qrels)});
  } else if (to == "beir") {
    auto beir = write_beir(set);
    out.files.push_back({"queries.jsonl", std::move(beir.queries)});
    out.files.push_back({"qrels/test.tsv", std::move(beir.qrels)});
  } else {
    return fail(ErrorCode::invalid_argument, "\"" + std::string(to) + "\" is no form: items, samples, ragdiag, csv, tsv, trec or beir", "to");
  }
  return out;
}

}  // namespace polygraph::golden
