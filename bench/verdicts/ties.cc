// Part `ties`: offline metrics of rankings with ties. Checks that they do not
// depend on the order of the file, and compares them with ties in file order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/support/statistics.h"
#include "bench/verdicts/parts.h"
#include "core/base/random.h"
#include "core/metrics/letor_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/tied_ranking.h"

namespace sortition {
namespace {

constexpr size_t kTiedCandidates = 8;
constexpr int kShuffles = 20;

struct TiedQuery {
  std::vector<double> scores;
  std::vector<uint32_t> relevances;

  TiedRanking ranking() const { return {scores, relevances}; }
};

// Draws relevances 0 .. 3 and scores of a few levels that do not depend on
// them. Candidates are listed by falling relevance, as real files list them.
TiedQuery DrawTied(uint64_t levels, RandomSequence* random) {
  TiedQuery query;
  for (size_t i = 0; i < kTiedCandidates; ++i) {
    query.scores.push_back(static_cast<double>(random->Below(levels)));
    query.relevances.push_back(random->Below(3) == 0
                                   ? 1 + static_cast<uint32_t>(random->Below(3))
                                   : 0);
  }
  std::sort(query.relevances.rbegin(), query.relevances.rend());
  return query;
}

TiedQuery ShuffledTied(const TiedQuery& query, RandomSequence* random) {
  std::vector<size_t> order(query.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), *random);
  TiedQuery shuffled;
  for (const size_t i : order) {
    shuffled.scores.push_back(query.scores[i]);
    shuffled.relevances.push_back(query.relevances[i]);
  }
  return shuffled;
}

// Returns the ranking that breaks ties in the order of the data.
TiedRanking InFileOrder(const TiedQuery& query) {
  std::vector<size_t> order(query.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return query.scores[a] > query.scores[b];
  });
  std::vector<uint32_t> relevances;
  for (const size_t i : order) relevances.push_back(query.relevances[i]);
  return TiedRanking::OfOrder(relevances);
}

// Returns some figures of a ranking: average precision, reciprocal rank,
// NDCG@3, LETOR's mean NDCG, expected reciprocal rank.
std::vector<double> FiguresOf(const TiedRanking& ranking) {
  return {AveragePrecision(ranking, 1), ReciprocalRank(ranking, 1, 0),
          Ndcg(ranking, 3), LetorFiguresOf(ranking).mean_ndcg,
          ExpectedReciprocalRank(ranking, 3, 0)};
}

}  // namespace

std::vector<Target> MeasureTies(const VerdictOptions& options) {
  constexpr const char* kFigures[] = {"MAP", "MRR", "NDCG@3", "mean NDCG",
                                      "ERR"};
  absl::PrintF(
      "\nTies: files that list relevant candidates first, scores that know "
      "nothing of relevance\n%-24s %-10s %10s %12s\n",
      "different scores", "figure", "expected", "file order");
  double largest_change = 0;
  double largest_t = 0;
  for (const uint64_t levels : {1, 2, 4}) {
    RandomSequence random(SeedKey(levels, "ties"));
    std::vector<std::vector<double>> expected(5), in_file(5), sampled(5);
    for (int run = 0; run < options.runs; ++run) {
      const TiedQuery query = DrawTied(levels, &random);
      const std::vector<double> figures = FiguresOf(query.ranking());
      const std::vector<double> by_file = FiguresOf(InFileOrder(query));
      std::vector<double> by_chance(5);
      for (int k = 0; k < kShuffles; ++k) {
        const TiedQuery shuffled = ShuffledTied(query, &random);
        const std::vector<double> again = FiguresOf(shuffled.ranking());
        const std::vector<double> one = FiguresOf(InFileOrder(shuffled));
        for (size_t f = 0; f < 5; ++f) {
          largest_change =
              std::max(largest_change, std::abs(again[f] - figures[f]));
          by_chance[f] += one[f] / kShuffles;
        }
      }
      for (size_t f = 0; f < 5; ++f) {
        expected[f].push_back(figures[f]);
        in_file[f].push_back(by_file[f]);
        sampled[f].push_back(by_chance[f]);
      }
    }
    for (size_t f = 0; f < 5; ++f) {
      absl::PrintF("%-24d %-10s %10.4f %12.4f\n", levels, kFigures[f],
                   Mean(expected[f]), Mean(in_file[f]));
      largest_t =
          std::max(largest_t, std::abs(TestPairs(expected[f], sampled[f]).t));
    }
  }
  return {
      {"ties: largest change of a figure by the order of a file",
       largest_change, 1e-12},
      // 15 figures: larger by chance with probability 0.001.
      {"ties: closed forms against random orders, largest t", largest_t, 4}};
}

}  // namespace sortition
