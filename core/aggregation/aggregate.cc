#include "core/aggregation/aggregate.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/aggregation/scale_scores.h"
#include "core/base/random.h"

namespace sortition {
namespace {

constexpr double kMaxScore = 1e300;
// Number of items whose means one worker computes. It is fixed, so that the
// results are bit-identical for any number of workers.
constexpr size_t kBlock = 1 << 14;

size_t NumSources(const ScoreLists& lists) {
  return lists.scores.size() / lists.num_items;
}

std::span<const double> Row(const ScoreLists& lists, size_t source) {
  return lists.scores.subspan(source * lists.num_items, lists.num_items);
}

double Weight(const ScoreLists& lists, size_t source) {
  return lists.weights.empty() ? 1 : lists.weights[source];
}

double TotalWeight(const ScoreLists& lists) {
  double total = 0;
  for (size_t s = 0; s < NumSources(lists); ++s) total += Weight(lists, s);
  return total;
}

// Returns the weighted means of the scores for kNone and kMinMax, which scale
// the scores of each source affinely.
std::vector<double> AffineMean(const ScoreLists& lists, ScoreScale scale,
                               const ParallelFor& parallel_for) {
  const size_t n = lists.num_items;
  std::vector<AffineScale> scales(NumSources(lists));
  parallel_for(scales.size(), [&](size_t s) {
    scales[s] = FindAffineScale(Row(lists, s), scale);
  });
  const double total = TotalWeight(lists);
  std::vector<double> mean(n);
  parallel_for((n + kBlock - 1) / kBlock, [&](size_t block) {
    const size_t begin = block * kBlock;
    const size_t end = std::min(n, begin + kBlock);
    for (size_t s = 0; s < scales.size(); ++s) {
      const double slope = Weight(lists, s) / total * scales[s].slope;
      const double origin = scales[s].origin;
      const double* row = Row(lists, s).data();
      for (size_t i = begin; i < end; ++i) mean[i] += slope * (row[i] - origin);
    }
  });
  return mean;
}

std::vector<double> RankMean(const ScoreLists& lists,
                             const ParallelFor& parallel_for) {
  std::vector<std::vector<double>> ranked(NumSources(lists));
  parallel_for(ranked.size(), [&](size_t s) {
    ScoreScaler().Scale(Row(lists, s), ScoreScale::kRank, &ranked[s]);
  });
  const double total = TotalWeight(lists);
  std::vector<double> mean(lists.num_items);
  for (size_t s = 0; s < ranked.size(); ++s) {
    const double share = Weight(lists, s) / total;
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += share * ranked[s][i];
  }
  return mean;
}

// Returns the matrix whose entry (r, s) is the scaled score that source s gives
// to the item at rank r of `order`, minus the one for rank r + 1, r < pairs.
Eigen::MatrixXd Leads(const ScoreLists& lists, ScoreScale scale,
                      std::span<const uint32_t> order, size_t pairs) {
  Eigen::MatrixXd leads(pairs, NumSources(lists));
  ScoreScaler scaler;
  std::vector<double> scaled;
  for (size_t s = 0; s < NumSources(lists); ++s) {
    scaler.Scale(Row(lists, s), scale, &scaled);
    for (size_t r = 0; r < pairs; ++r) {
      leads(r, s) = scaled[order[r]] - scaled[order[r + 1]];
    }
  }
  return leads;
}

// Returns the weighted mean of the columns of `leads` over one bootstrap
// sample: as many sources as there are, drawn with replacement.
Eigen::VectorXd SampleMean(const ScoreLists& lists,
                           const Eigen::MatrixXd& leads,
                           RandomSequence* random) {
  const size_t sources = NumSources(lists);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(leads.rows());
  double total = 0;
  while (total == 0) {
    for (size_t draw = 0; draw < sources; ++draw) {
      const size_t s = random->Below(sources);
      sum += Weight(lists, s) * leads.col(s);
      total += Weight(lists, s);
    }
  }
  return sum / total;
}

PairConfidence Interval(Eigen::VectorXd samples, double confidence) {
  std::sort(samples.begin(), samples.end());
  const auto last = static_cast<double>(samples.size() - 1);
  const double tail = (1 - confidence) / 2;
  const auto above = static_cast<double>((samples.array() > 0).count());
  const auto equal = static_cast<double>((samples.array() == 0).count());
  PairConfidence interval;
  interval.lower = samples(static_cast<Eigen::Index>(std::floor(tail * last)));
  interval.upper =
      samples(static_cast<Eigen::Index>(std::ceil((1 - tail) * last)));
  interval.support = (above + equal / 2) / static_cast<double>(samples.size());
  return interval;
}

}  // namespace

double MeanDifference(std::span<const double> x,
                      std::span<const uint32_t> order) {
  const auto n = static_cast<double>(order.size());
  double sum = 0;
  // Each gap between adjacent scores counts once for every pair of one of the r
  // + 1 items above it and one of the items below it.
  for (size_t r = 0; r + 1 < order.size(); ++r) {
    const auto above = static_cast<double>(r + 1);
    sum += (x[order[r]] - x[order[r + 1]]) * above * (n - above);
  }
  return sum / (n * (n - 1) / 2);
}

absl::Status ValidateScoreLists(const ScoreLists& lists) {
  const size_t n = lists.num_items;
  if (n < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_items is ", n, ", must be at least 2"));
  }
  if (lists.scores.empty() || lists.scores.size() % n != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", lists.scores.size(), " scores, must be a multiple of ", n,
        ", one for each item and source, and not 0"));
  }
  for (size_t e = 0; e < lists.scores.size(); ++e) {
    if (!(std::abs(lists.scores[e]) <= kMaxScore)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "score of source ", e / n, ", item ", e % n, " is ", lists.scores[e],
          ", must be within [", -kMaxScore, ", ", kMaxScore, "]"));
    }
  }
  if (lists.weights.empty()) return absl::OkStatus();
  if (lists.weights.size() != NumSources(lists)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", lists.weights.size(), " weights, must be ",
                     NumSources(lists), ", one for each source"));
  }
  for (size_t s = 0; s < lists.weights.size(); ++s) {
    if (!(lists.weights[s] >= 0 && lists.weights[s] <= kMaxScore)) {
      return absl::InvalidArgumentError(
          absl::StrCat("weights[", s, "] is ", lists.weights[s],
                       ", must be within [0, ", kMaxScore, "]"));
    }
  }
  const double total = TotalWeight(lists);
  if (!(total > 0 && total <= kMaxScore)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights add up to ", total,
                     ", must be above 0 and at most ", kMaxScore));
  }
  return absl::OkStatus();
}

Aggregation Aggregate(const ScoreLists& lists, ScoreScale scale,
                      const ParallelFor& parallel_for) {
  Aggregation result;
  result.mean = scale == ScoreScale::kRank
                    ? RankMean(lists, parallel_for)
                    : AffineMean(lists, scale, parallel_for);
  Sorter().Sort(result.mean, &result.order);
  result.total_variation = MeanDifference(result.mean, result.order);
  return result;
}

std::vector<double> SourceDivergences(const ScoreLists& lists, ScoreScale scale,
                                      const CardinalityFunction& f,
                                      std::span<const uint32_t> order,
                                      const ParallelFor& parallel_for) {
  std::vector<double> divergences(NumSources(lists));
  parallel_for(divergences.size(), [&](size_t s) {
    std::vector<double> scaled;
    ScoreScaler().Scale(Row(lists, s), scale, &scaled);
    divergences[s] = f.Divergence(scaled, order);
  });
  return divergences;
}

std::vector<PairConfidence> BootstrapPairs(const ScoreLists& lists,
                                           ScoreScale scale,
                                           const Aggregation& aggregation,
                                           const BootstrapOptions& options) {
  const Order& order = aggregation.order;
  const size_t pairs = std::min<size_t>(options.pairs, order.size() - 1);
  const Eigen::MatrixXd leads = Leads(lists, scale, order, pairs);
  RandomSequence random(StableHash(HashDomain::kTraining,
                                   {"bootstrap", absl::StrCat(options.seed)}));
  Eigen::MatrixXd samples(options.samples, leads.rows());
  for (uint32_t b = 0; b < options.samples; ++b) {
    samples.row(b) = SampleMean(lists, leads, &random);
  }
  std::vector<PairConfidence> confidences(pairs);
  for (size_t r = 0; r < pairs; ++r) {
    confidences[r] = Interval(samples.col(r), options.confidence);
    confidences[r].rank = static_cast<uint32_t>(r);
    confidences[r].difference =
        aggregation.mean[order[r]] - aggregation.mean[order[r + 1]];
  }
  return confidences;
}

}  // namespace sortition
