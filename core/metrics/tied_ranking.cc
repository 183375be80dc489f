#include "core/metrics/tied_ranking.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "core/base/check.h"

namespace sortition {
namespace {

// Returns the candidates by falling score; equal scores are in the order of the
// data.
std::vector<uint32_t> ByScore(std::span<const double> scores) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
    return scores[i] > scores[j];
  });
  return order;
}

// Returns the end of the group of equal scores that begins at `begin`.
size_t EndOfGroup(std::span<const double> scores,
                  std::span<const uint32_t> order, size_t begin) {
  size_t end = begin;
  while (end < order.size() && scores[order[end]] == scores[order[begin]]) {
    ++end;
  }
  return end;
}

// Returns n (n - 1) (2 n + 5), a term of Kendall's variance.
double VarianceTerm(size_t size) {
  const auto n = static_cast<double>(size);
  return n * (n - 1) * (2 * n + 5);
}

// Returns the number of pairs of different values and writes Var(S) of
// TiedPairs. Sorts `values`.
uint64_t CountDifferent(std::vector<uint32_t>* values, double* variance) {
  std::sort(values->begin(), values->end());
  const auto pairs_of = [](uint64_t n) { return n == 0 ? 0 : n * (n - 1) / 2; };
  uint64_t different = pairs_of(values->size());
  *variance = VarianceTerm(values->size());
  for (auto first = values->begin(); first != values->end();) {
    const auto last = std::upper_bound(first, values->end(), *first);
    different -= pairs_of(static_cast<uint64_t>(last - first));
    *variance -= VarianceTerm(static_cast<size_t>(last - first));
    first = last;
  }
  *variance /= 18;
  return different;
}

// Returns the number of pairs i < j with values[i] > values[j].
uint64_t CountFalling(std::span<const uint32_t> values) {
  std::map<uint32_t, uint64_t> seen;
  uint64_t falling = 0;
  for (const uint32_t value : values) {
    for (auto above = seen.upper_bound(value); above != seen.end(); ++above) {
      falling += above->second;
    }
    ++seen[value];
  }
  return falling;
}

}  // namespace

TiedRanking::TiedRanking(std::span<const double> scores,
                         std::span<const uint32_t> relevances,
                         std::span<const uint32_t> unranked)
    : unranked_(unranked.begin(), unranked.end()) {
  CHECK(scores.size() == relevances.size());
  std::sort(unranked_.begin(), unranked_.end(), std::greater<>());
  const std::vector<uint32_t> order = ByScore(scores);
  for (const uint32_t i : order) relevances_.push_back(relevances[i]);
  for (size_t begin = 0; begin < order.size(); begin = ends_.back()) {
    ends_.push_back(EndOfGroup(scores, order, begin));
    // Makes the sums of a group the same for every order of the data.
    std::sort(relevances_.begin() + static_cast<std::ptrdiff_t>(begin),
              relevances_.begin() + static_cast<std::ptrdiff_t>(ends_.back()),
              std::greater<>());
  }
}

TiedRanking TiedRanking::OfOrder(std::span<const uint32_t> relevances,
                                 std::span<const uint32_t> unranked) {
  TiedRanking ranking;
  ranking.unranked_.assign(unranked.begin(), unranked.end());
  std::sort(ranking.unranked_.begin(), ranking.unranked_.end(),
            std::greater<>());
  ranking.relevances_.assign(relevances.begin(), relevances.end());
  ranking.ends_.resize(relevances.size());
  std::iota(ranking.ends_.begin(), ranking.ends_.end(), size_t{1});
  return ranking;
}

TiedRanking TiedRanking::Best() const {
  std::vector<uint32_t> best = relevances_;
  best.insert(best.end(), unranked_.begin(), unranked_.end());
  std::sort(best.begin(), best.end(), std::greater<>());
  return OfOrder(best);
}

void TiedPairs::Add(const TiedPairs& other) {
  pairs += other.pairs;
  tied += other.tied;
  tied_in_label_order += other.tied_in_label_order;
  variance += other.variance;
}

double TiedPairs::Deviation() const {
  if (tied == 0) return 0;
  return (static_cast<double>(tied_in_label_order) -
          static_cast<double>(tied) / 2) /
         std::sqrt(variance);
}

TiedPairs CountTiedPairs(std::span<const double> scores,
                         std::span<const uint32_t> relevances) {
  CHECK(scores.size() == relevances.size());
  TiedPairs count;
  double unused = 0;
  std::vector<uint32_t> values(relevances.begin(), relevances.end());
  count.pairs = CountDifferent(&values, &unused);
  const std::vector<uint32_t> order = ByScore(scores);
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    end = EndOfGroup(scores, order, begin);
    values.clear();
    for (size_t i = begin; i < end; ++i) values.push_back(relevances[order[i]]);
    count.tied_in_label_order += CountFalling(values);
    double variance = 0;
    count.tied += CountDifferent(&values, &variance);
    count.variance += variance / 4;
  }
  return count;
}

}  // namespace sortition
