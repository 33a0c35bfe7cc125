// Every fast algorithm against the plainest one that can be written from its definition, on corpora made
// anew in each run. A failure prints its seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "tests/retrieval/tiny_corpus.hpp"
#include "wasm/index/quantisation.hpp"
#include "wasm/retrieval/dense.hpp"
#include "wasm/retrieval/dot_product.hpp"
#include "wasm/retrieval/fusion.hpp"
#include "wasm/retrieval/lexical.hpp"
#include "wasm/retrieval/retrieval.hpp"
#include "wasm/retrieval/spelling.hpp"
#include "wasm/text/terms.hpp"

namespace polygraph {
namespace {

using index::ChunkNo;

class Oracle : public testing::TestWithParam<int> {
 protected:
  const std::uint64_t seed = std::random_device{}() + static_cast<std::uint64_t>(GetParam());
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::mt19937_64 random{seed};

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random() % n); }
  float real() { return static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1); }

  /// Words of very different frequency; identifiers among them.
  std::string words(std::size_t most) {
    static const char* const vocabulary[] = {"storm",  "harbour", "lantern", "rope.yml", "anchor_chain", "deck", "sail",   "mast",
                                             "--knots", "compass", "tide",    "gull",     "buoy",         "hull", "rudder", "10.0.0.1"};
    std::string text;
    for (std::size_t n = 1 + below(most); n > 0; --n) {
      text += vocabulary[std::min(below(std::size(vocabulary)), below(std::size(vocabulary)))];
      text += ' ';
    }
    return text;
  }

  std::vector<float> unit_vector(std::size_t dimensions) {
    std::vector<float> v(dimensions);
    double norm = 0;
    for (float& x : v) {
      x = real();
      norm += static_cast<double>(x) * x;
    }
    for (float& x : v) x = static_cast<float>(x / std::sqrt(norm));
    return v;
  }

  /// Up to 40 passages on a few pages; some vectors equal, so that scores tie.
  tests::TinyCorpus random_corpus(std::size_t dimensions) {
    std::vector<tests::Passage> passages;
    std::vector<std::vector<float>> rows;
    const std::size_t pages = 1 + below(6);
    for (std::size_t p = 0; p < pages; ++p) {
      const std::string title = below(3) == 0 ? "" : words(4);
      for (std::size_t c = 1 + below(7); c > 0; --c) {
        passages.push_back({"page" + std::to_string(p), title, below(3) == 0 ? "" : words(3) + "> " + words(3), words(40)});
        rows.push_back(!rows.empty() && below(4) == 0 ? rows.back() : unit_vector(dimensions));
      }
    }
    return tests::corpus_of(passages, rows);
  }
};

/// BM25F by the book: counts in maps, loops over everything.
std::vector<double> plain_bm25f(const index::Index& index, const std::string& query) {
  const std::size_t n = index.chunks();
  std::vector<std::array<std::map<std::string, double>, 3>> tf(n);
  std::vector<std::array<double, 3>> length(n);
  std::array<double, 3> mean{};
  for (ChunkNo c = 0; c < n; ++c) {
    const auto chunk = index.chunk(c);
    const std::string_view fields[] = {chunk.text, index.document(chunk.document).title, chunk.heading_path};
    for (std::size_t f = 0; f < 3; ++f) {
      for (const auto& term : text::terms(fields[f], text::Analysis::english)) {
        tf[c][f][term.text] += 1;
        length[c][f] += 1;
        mean[f] += 1;
      }
    }
  }
  for (double& m : mean) m /= static_cast<double>(n);

  std::vector<double> scores(n);
  std::set<std::string> done;
  for (const auto& term : text::terms(query, text::Analysis::english)) {
    if (!done.insert(term.text).second) continue;
    double df = 0;
    for (std::size_t c = 0; c < n; ++c) {
      df += tf[c][0].contains(term.text) || tf[c][1].contains(term.text) || tf[c][2].contains(term.text) ? 1 : 0;
    }
    const double idf = std::log(1 + (static_cast<double>(n) - df + 0.5) / (df + 0.5));
    const double b[] = {0.75, 0.5, 0.5};
    for (std::size_t c = 0; c < n; ++c) {
      double weighted = 0;
      for (std::size_t f = 0; f < 3; ++f) {
        if (tf[c][f].contains(term.text)) weighted += tf[c][f][term.text] / (1 - b[f] + b[f] * length[c][f] / mean[f]);
      }
      scores[c] += idf * weighted * 2.2 / (weighted + 1.2);
    }
  }
  return scores;
}

TEST_P(Oracle, Bm25fIsTheFormulaOfTheBook) {
  const auto corpus = random_corpus(3);
  const std::string query = words(8);
  const auto fast = retrieval::bm25f_scores(corpus.index, retrieval::query_terms(corpus.index, query));
  const auto plain = plain_bm25f(corpus.index, query);
  ASSERT_EQ(fast.size(), plain.size());
  for (std::size_t c = 0; c < plain.size(); ++c) EXPECT_NEAR(fast[c], plain[c], 1e-12 * std::max(1.0, plain[c])) << query;
}

TEST_P(Oracle, DenseScoresAreCosinesUpToQuantisation) {
  const std::size_t dimensions = 1 + below(70);
  const auto corpus = random_corpus(dimensions);
  const auto query = unit_vector(dimensions);
  const auto fast = retrieval::dense_scores(corpus.index, query);
  std::vector<std::int8_t> row(dimensions);
  const float scale = index::quantise(query, row);
  for (ChunkNo c = 0; c < corpus.index.chunks(); ++c) {
    long dot = 0;
    double cosine = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const auto value = corpus.index.vectors()[c * dimensions + i];
      dot += long{value} * long{row[i]};
      cosine += static_cast<double>(value) * corpus.index.vector_scales()[c] * query[i];
    }
    EXPECT_EQ(fast[c], static_cast<double>(dot) * static_cast<double>(corpus.index.vector_scales()[c]) * static_cast<double>(scale));
    EXPECT_NEAR(fast[c], cosine, 0.5 * static_cast<double>(scale) * std::sqrt(static_cast<double>(dimensions)) * 1.01);
  }
}

/// Chunks by score, ties by number: sorted pairs, nothing else.
std::vector<ChunkNo> plain_order(const std::vector<double>& scores) {
  std::vector<std::pair<double, ChunkNo>> pairs;
  for (ChunkNo c = 0; c < scores.size(); ++c) pairs.emplace_back(-scores[c], c);
  std::sort(pairs.begin(), pairs.end());
  std::vector<ChunkNo> order;
  for (const auto& [score, c] : pairs) order.push_back(c);
  return order;
}

TEST_P(Oracle, HybridRrfAndMixFollowTheirDefinitions) {
  const auto corpus = random_corpus(4);
  const std::size_t n = corpus.index.chunks();
  const std::string query = words(6) + "and " + words(6);  // white space inside: never an identifier
  const auto vector = unit_vector(4);
  const auto bm25 = retrieval::bm25f_scores(corpus.index, retrieval::query_terms(corpus.index, query));
  const auto dense = retrieval::dense_scores(corpus.index, vector);

  for (const auto fusion : {retrieval::Fusion::rrf, retrieval::Fusion::mix}) {
    retrieval::Config config;
    config.fusion = fusion;
    config.depth = static_cast<std::uint32_t>(1 + below(12));
    config.rrf_k = static_cast<std::uint32_t>(below(61));
    config.list_length = static_cast<std::uint32_t>(n);
    retrieval::Retrieval r(corpus.index, query, config);
    ASSERT_NE(r.wanted_embedding(), nullptr);
    ASSERT_TRUE(r.set_embedding(vector));
    ASSERT_TRUE(r.finished());

    std::vector<double> fused(n);
    if (fusion == retrieval::Fusion::rrf) {
      const auto lexical_order = plain_order(bm25), dense_order = plain_order(dense);
      for (std::size_t i = 0; i < std::min<std::size_t>(config.depth, n); ++i) {
        if (bm25[lexical_order[i]] > 0) fused[lexical_order[i]] += 1.0 / static_cast<double>(config.rrf_k + i + 1);
      }
      for (std::size_t i = 0; i < std::min<std::size_t>(config.depth, n); ++i) {
        fused[dense_order[i]] += 1.0 / static_cast<double>(config.rrf_k + i + 1);
      }
    } else {
      const double max = *std::max_element(bm25.begin(), bm25.end());
      const double low = *std::min_element(dense.begin(), dense.end()), high = *std::max_element(dense.begin(), dense.end());
      for (std::size_t c = 0; c < n; ++c) {
        fused[c] = (max > 0 ? 0.4 * bm25[c] / max : 0) + (high > low ? 0.6 * (dense[c] - low) / (high - low) : 0);
      }
    }
    ASSERT_EQ(r.ranked().size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& candidate = r.ranked()[i];
      EXPECT_EQ(candidate.rank, i + 1);
      EXPECT_NEAR(*candidate.fused_score, fused[candidate.chunk], 1e-12);
      EXPECT_EQ(candidate.dense_score, dense[candidate.chunk]);
      const auto better = std::count_if(dense.begin(), dense.end(), [&](double s) { return s > dense[candidate.chunk]; });
      const auto tied = std::count(dense.begin(), dense.begin() + candidate.chunk, dense[candidate.chunk]);
      EXPECT_EQ(candidate.dense_rank, better + tied + 1);
      EXPECT_EQ(candidate.bm25_score.has_value(), bm25[candidate.chunk] > 0);
      if (i == 0) continue;
      const auto& before = r.ranked()[i - 1];
      EXPECT_GE(*before.fused_score, *candidate.fused_score);
      const bool outside_both_lists = fusion == retrieval::Fusion::rrf && *candidate.fused_score == 0;
      if (*before.fused_score != *candidate.fused_score) continue;
      if (outside_both_lists) {
        EXPECT_GE(*before.dense_score, *candidate.dense_score);
      } else {
        EXPECT_LT(before.chunk, candidate.chunk);
      }
    }
  }
}

TEST_P(Oracle, TermPresenceIsThatOfTheTexts) {
  const auto corpus = random_corpus(3);
  const auto terms = retrieval::query_terms(corpus.index, words(8) + " unheard");
  const retrieval::TermPresence presence(corpus.index, terms);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    std::uint32_t df = 0;
    std::vector<bool> in_document(corpus.index.documents());
    for (ChunkNo c = 0; c < corpus.index.chunks(); ++c) {
      const auto chunk = corpus.index.chunk(c);
      const std::string everything =
          std::string(corpus.index.document(chunk.document).title) + "\n" + std::string(chunk.heading_path) + "\n" + std::string(chunk.text);
      bool holds = false;
      for (const auto& term : text::terms(everything, text::Analysis::english)) holds = holds || term.text == terms[t].text;
      EXPECT_EQ(presence.in_chunk(t, c), holds) << terms[t].text;
      df += holds ? 1 : 0;
      in_document[chunk.document] = in_document[chunk.document] || holds;
    }
    EXPECT_EQ(terms[t].df, df);
    const double n = corpus.index.chunks();
    EXPECT_DOUBLE_EQ(terms[t].idf, std::log(1 + (n - df + 0.5) / (df + 0.5)));
    for (index::DocumentNo d = 0; d < corpus.index.documents(); ++d) EXPECT_EQ(presence.in_document(t, d), in_document[d]);
  }
}

/// Damerau-Levenshtein (optimal string alignment) by dynamic programming.
std::size_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

TEST_P(Oracle, WithinOneEditIsADistanceOfAtMostOne) {
  for (int i = 0; i < 2'000; ++i) {
    std::string a, b;
    for (std::size_t n = below(6); n > 0; --n) a += static_cast<char>('a' + below(3));
    for (std::size_t n = below(6); n > 0; --n) b += static_cast<char>('a' + below(3));
    EXPECT_EQ(retrieval::within_one_edit(a, b), plain_distance(a, b) <= 1) << a << " " << b;
  }
}

TEST_P(Oracle, EveryKernelGivesThePlainDotProduct) {
  const auto plain = [](const std::vector<std::int8_t>& a, const std::vector<std::int8_t>& b) {
    long sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += long{a[i]} * long{b[i]};
    return sum;
  };
  for (const auto& kernel : retrieval::dot_product_kernels()) {
    for (const std::size_t size : {0UL, 1UL, 7UL, 8UL, 15UL, 16UL, 17UL, 31UL, 32UL, 33UL, 63UL, 65UL, 383UL, 384UL, 385UL, 1'000UL + below(200)}) {
      std::vector<std::int8_t> a(size), b(size);
      for (auto& x : a) x = static_cast<std::int8_t>(random());
      for (auto& x : b) x = static_cast<std::int8_t>(random());
      EXPECT_EQ(kernel.function(a.data(), b.data(), size), plain(a, b)) << kernel.name << " " << size;
      for (const int x : {-128, 127}) {
        for (const int y : {-128, 127}) {
          std::fill(a.begin(), a.end(), static_cast<std::int8_t>(x));
          std::fill(b.begin(), b.end(), static_cast<std::int8_t>(y));
          EXPECT_EQ(kernel.function(a.data(), b.data(), size), plain(a, b)) << kernel.name << " " << size;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnCorporaMadeAnew, Oracle, testing::Range(0, 25));

TEST(DotProduct, DoesNotOverflowAtTheLongestVector) {
  const std::vector<std::int8_t> low(65'536, std::int8_t{-128});
  for (const auto& kernel : retrieval::dot_product_kernels()) {
    EXPECT_EQ(kernel.function(low.data(), low.data(), low.size()), 1 << 30) << kernel.name;
  }
}

TEST(DotProduct, ReadsUnalignedRows) {
  std::vector<std::int8_t> row(100);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::int8_t>(i * 37);
  for (const auto& kernel : retrieval::dot_product_kernels()) {
    for (std::size_t shift = 0; shift < 20; ++shift) {
      EXPECT_EQ(kernel.function(row.data() + shift, row.data() + 1, 70), retrieval::dot_product_plain(row.data() + shift, row.data() + 1, 70));
    }
  }
}

TEST(DotProduct, HasAPlainKernelFirst) { EXPECT_EQ(retrieval::dot_product_kernels().front().name, "plain"); }

TEST(BestFirst, BreaksTiesByChunkNumber) {
  const std::vector<double> scores = {1, 3, 1, 3, 0};
  EXPECT_THAT(retrieval::best_first(scores, 3, 0.0), testing::ElementsAre(1U, 3U, 0U));
  EXPECT_THAT(retrieval::best_first(scores, 9, 0.0), testing::ElementsAre(1U, 3U, 0U, 2U));
}

}  // namespace
}  // namespace polygraph
