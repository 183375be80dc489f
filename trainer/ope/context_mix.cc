#include "trainer/ope/context_mix.h"

#include <cmath>

namespace sortition {
namespace {

// Minimum number of groups for a reliable standard error.
constexpr size_t kMinGroups = 16;

// Adds the mean features of the candidates to `sums`. Feature j is added to
// entry j modulo kSize, with a random sign if j >= kSize.
template <size_t kSize>
void AddMeanFeatures(const Candidates& candidates,
                     std::array<double, kSize>* sums) {
  const size_t rows = candidates.num_candidates();
  const double scale = 1 / static_cast<double>(rows);
  const auto add = [&](size_t feature, double value) {
    // The highest bit of a multiplicative hash.
    const bool is_negative =
        feature >= kSize && feature * 0x9E3779B97F4A7C15u >> 63 != 0;
    (*sums)[feature % kSize] += (is_negative ? -scale : scale) * value;
  };
  if (candidates.sparse()) {
    for (size_t i = 0; i < candidates.values().size(); ++i) {
      add(candidates.columns()[i], candidates.values()[i]);
    }
    return;
  }
  const size_t d = candidates.num_features();
  for (size_t i = 0; i < rows * d; ++i) add(i % d, candidates.values()[i]);
}

}  // namespace

void ContextMix::Add(size_t version, uint64_t unit,
                     const Candidates& candidates) {
  if (version >= versions_.size()) versions_.resize(version + 1);
  const size_t rows = candidates.num_candidates();
  std::array<double, kNumFeatures> means = {};
  if (rows > 0) AddMeanFeatures(candidates, &means);
  for (Groups* const groups : {&versions_[version], &all_}) {
    Sums& sums = (*groups)[unit % kNumGroups];
    ++sums.decisions;
    sums.values[kNumFeatures] += static_cast<double>(rows);
    for (size_t j = 0; j < kNumFeatures; ++j) sums.values[j] += means[j];
  }
}

double ContextMix::DeviationOf(const Groups& version, const Groups& all,
                               size_t mean) const {
  double n = 0, sum = 0, other_n = 0, other_sum = 0;
  size_t num_groups = 0;
  for (size_t g = 0; g < kNumGroups; ++g) {
    n += version[g].decisions;
    sum += version[g].values[mean];
    other_n += all[g].decisions - version[g].decisions;
    other_sum += all[g].values[mean] - version[g].values[mean];
    num_groups += version[g].decisions > 0 ? 1 : 0;
  }
  if (num_groups < kMinGroups || !(other_n > 0)) return 0;
  const double own = sum / n;
  const double other = other_sum / other_n;
  double squares = 0;
  for (size_t g = 0; g < kNumGroups; ++g) {
    const Sums& mine = version[g];
    const double influence = (mine.values[mean] - own * mine.decisions) / n -
                             (all[g].values[mean] - mine.values[mean] -
                              other * (all[g].decisions - mine.decisions)) /
                                 other_n;
    squares += influence * influence;
  }
  constexpr double kGroups = kNumGroups;
  const double error = std::sqrt(squares * kGroups / (kGroups - 1));
  // A feature that is constant within versions has no standard error, so that a
  // rounding error would look like a difference.
  const double difference = std::fabs(own - other);
  constexpr double kRounding = 1e-9;
  const double floor = kRounding * (std::fabs(own) + std::fabs(other));
  if (difference <= floor) return 0;
  return difference / std::fmax(error, floor);
}

std::optional<ContextMix::Difference> ContextMix::Find() const {
  Difference largest;
  for (size_t v = 0; v < versions_.size(); ++v) {
    for (size_t mean = 0; mean < kNumMeans; ++mean) {
      const double deviation = DeviationOf(versions_[v], all_, mean);
      if (deviation > largest.deviation) largest = {v, deviation};
    }
  }
  if (!(largest.deviation > kMaxDeviation)) return std::nullopt;
  return largest;
}

}  // namespace sortition
