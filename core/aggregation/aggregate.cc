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
  const size_t n = lists.num_items;
  std::vector<double> mean(n);
  parallel_for((n + kBlock - 1) / kBlock, [&](size_t block) {
    const size_t end = std::min(n, (block + 1) * kBlock);
    for (size_t s = 0; s < ranked.size(); ++s) {
      if (ranked[s].empty()) continue;  // Left out.
      const double share = Weight(lists, s) / total;
      for (size_t i = block * kBlock; i < end; ++i) {
        mean[i] += share * ranked[s][i];
      }
    }
  });
  return mean;
}

// Whether there is time to read sources and to draw samples.
bool MayDraw(const BootstrapOptions& options) {
  return options.time_used == nullptr || (*options.time_used)() < 0.5;
}

// Returns the matrix whose entry (r, s) is the scaled score that source s gives
// to the item at rank r of `order`, minus the one for rank r + 1, r < pairs. No
// column if time runs out before all sources are read.
Eigen::MatrixXd Leads(const ScoreLists& lists, ScoreScale scale,
                      std::span<const uint32_t> order, size_t pairs,
                      const BootstrapOptions& options) {
  Eigen::MatrixXd leads(pairs, NumSources(lists));
  ScoreScaler scaler;
  std::vector<double> scaled;
  for (size_t s = 0; s < NumSources(lists); ++s) {
    if (!MayDraw(options)) return Eigen::MatrixXd(pairs, 0);
    scaler.Scale(Row(lists, s), scale, &scaled);
    for (size_t r = 0; r < pairs; ++r) {
      leads(r, s) = scaled[order[r]] - scaled[order[r + 1]];
    }
  }
  return leads;
}

// Draws bootstrap samples until there are enough or time runs out.
class Bootstrap {
 public:
  // `leads` as Leads() returns it. All must outlive it.
  Bootstrap(const ScoreLists& lists, const Eigen::MatrixXd& leads,
            const BootstrapOptions& options)
      : lists_(lists),
        leads_(leads),
        options_(options),
        random_(StableHash(HashDomain::kTraining,
                           {"bootstrap", absl::StrCat(options.seed)})) {}

  // Returns the weighted mean of the leads in each sample: a row for each pair,
  // a column for each sample.
  Eigen::MatrixXd Draw() {
    Eigen::MatrixXd means(leads_.rows(), options_.samples);
    Eigen::Index drawn = 0;
    while (drawn < means.cols() && AddSample(means.col(drawn))) ++drawn;
    means.conservativeResize(Eigen::NoChange, drawn);
    return means;
  }

 private:
  // Draws as many sources as there are, with replacement, and writes their
  // weighted mean. Returns false if time runs out before.
  bool AddSample(Eigen::Ref<Eigen::VectorXd> mean) {
    const size_t sources = NumSources(lists_);
    double total = 0;
    while (total == 0) {
      if (!HasTime(sources)) return false;
      sample_.resize(sources);
      for (size_t& s : sample_) {
        s = random_.Below(sources);
        total += Weight(lists_, s);
      }
    }
    mean.setZero();
    for (const size_t s : sample_) {
      if (!HasTime(leads_.rows())) return false;
      // Divided first: a weight times a score can be too large for a double.
      mean += (Weight(lists_, s) / total) * leads_.col(s);
    }
    return true;
  }

  // Notes `work` to come. Looks at the time first, and after every 20 µs or so.
  bool HasTime(size_t work) {
    work_ += work;
    if (options_.time_used == nullptr || work_ < kInterval) return true;
    work_ = 0;
    return MayDraw(options_);
  }

  const ScoreLists& lists_;
  const Eigen::MatrixXd& leads_;
  const BootstrapOptions& options_;
  RandomSequence random_;
  std::vector<size_t> sample_;
  static constexpr size_t kInterval = 1 << 14;
  size_t work_ = kInterval;  // Since the last look at the time.
};

// Returns what `samples`, of which there must be one, say of a pair.
PairConfidence Interval(Eigen::VectorXd samples, double confidence) {
  const auto last = static_cast<double>(samples.size() - 1);
  const auto at = [&samples](double place) {
    double* const element = samples.data() + static_cast<size_t>(place);
    std::nth_element(samples.data(), element, samples.data() + samples.size());
    return *element;
  };
  const double tail = (1 - confidence) / 2;
  const auto above = static_cast<double>((samples.array() > 0).count());
  const auto equal = static_cast<double>((samples.array() == 0).count());
  PairConfidence interval;
  interval.lower = at(std::floor(tail * last));
  interval.upper = at(std::ceil((1 - tail) * last));
  interval.support = (above + equal / 2) / static_cast<double>(samples.size());
  interval.samples = static_cast<uint32_t>(samples.size());
  return interval;
}

}  // namespace

double MeanDifference(std::span<const double> x,
                      std::span<const uint32_t> order) {
  const auto n = static_cast<double>(order.size());
  double sum = 0;
  // Each gap between adjacent scores counts once for every pair of one of the r
  // + 1 items above it and one of the items below it. As a share of all pairs,
  // so that the sum is never larger than the largest difference.
  for (size_t r = 0; r + 1 < order.size(); ++r) {
    const auto above = static_cast<double>(r + 1);
    sum += (x[order[r]] - x[order[r + 1]]) *
           (above * (n - above) / (n * (n - 1) / 2));
  }
  return sum;
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
  const Eigen::MatrixXd leads = Leads(lists, scale, order, pairs, options);
  if (leads.cols() == 0) return {};
  const Eigen::MatrixXd samples = Bootstrap(lists, leads, options).Draw();
  std::vector<PairConfidence> confidences;
  for (size_t r = 0; r < pairs && samples.cols() > 0; ++r) {
    if (options.time_used != nullptr && (*options.time_used)() >= 1) break;
    PairConfidence& pair =
        confidences.emplace_back(Interval(samples.row(r), options.confidence));
    pair.rank = static_cast<uint32_t>(r);
    pair.difference =
        aggregation.mean[order[r]] - aggregation.mean[order[r + 1]];
  }
  return confidences;
}

}  // namespace sortition
