#include "trainer/ope/weight_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/hash.h"

namespace sortition {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
// The square of such a weight is finite.
constexpr double kMostLogWeight = 300;

}  // namespace

WeightSample::WeightSample(size_t num_policies, uint64_t decisions,
                           uint64_t most)
    : share_(decisions <= most
                 ? 1
                 : static_cast<double>(most) / static_cast<double>(decisions)),
      policies_(num_policies) {
  // How many are kept is random; it is hardly ever more.
  const auto kept = static_cast<size_t>(
      share_ * static_cast<double>(decisions) +
      6 * std::sqrt(share_ * static_cast<double>(decisions)));
  log_propensities_.reserve(kept);
  log_uniform_.reserve(kept);
  for (Weights& weights : policies_) weights.log_weights.reserve(kept);
}

void WeightSample::Add(const Logged& logged,
                       std::span<const double> log_weights) {
  const bool is_kept = UnitInterval(StableHash(HashDomain::kSubsample,
                                               {logged.decision_id})) < share_;
  if (is_kept) {
    log_propensities_.push_back(logged.log_propensity);
    log_uniform_.push_back(logged.log_uniform);
    if (logged.shown_otherwise) ++shown_otherwise_;
    if (!logged.full_support) ++without_full_support_;
  }
  for (size_t k = 0; k < policies_.size(); ++k) {
    Weights& weights = policies_[k];
    weights.all_are_one &= std::abs(log_weights[k]) < 1e-12;
    const double log_weight =
        logged.shown_otherwise ? kImpossible : log_weights[k];
    if (is_kept) weights.log_weights.push_back(log_weight);
    if (log_weight == kImpossible) {
      ++weights.zero;
      continue;
    }
    const double place =
        (log_weight / std::numbers::ln10 - kFirstDecade) * kBinsPerDecade;
    const auto bin = static_cast<size_t>(
        std::clamp(std::floor(place), 0.0, double{kBins - 1}));
    ++weights.decisions[bin];
    const double weight = std::exp(std::min(log_weight, kMostLogWeight));
    weights.sums[bin] += weight;
    weights.sum += weight;
    weights.squares += weight * weight;
  }
}

double WeightSample::EffectiveSampleSize(size_t policy) const {
  const Weights& weights = policies_[policy];
  return weights.squares > 0 ? weights.sum * weights.sum / weights.squares : 0;
}

Overlap WeightSample::OverlapOf(size_t policy) const {
  return MeasureOverlap({.log_weights = policies_[policy].log_weights,
                         .log_propensities = log_propensities_,
                         .log_uniform = log_uniform_,
                         .shown_otherwise = shown_otherwise_,
                         .without_full_support = without_full_support_,
                         .impossible = 0,
                         .clip = std::numeric_limits<double>::infinity()});
}

config::v1::OpeWeightHistogram WeightSample::HistogramOf(size_t policy) const {
  const Weights& weights = policies_[policy];
  config::v1::OpeWeightHistogram histogram;
  double all = 0;
  for (const double sum : weights.sums) all += sum;
  for (size_t bin = 0; bin < kBins; ++bin) {
    histogram.add_log10_edges(kFirstDecade +
                              static_cast<double>(bin) / kBinsPerDecade);
    histogram.add_decisions(weights.decisions[bin]);
    histogram.add_weight(all > 0 ? weights.sums[bin] / all : 0);
  }
  histogram.add_log10_edges(kFirstDecade +
                            static_cast<double>(kBins) / kBinsPerDecade);
  histogram.set_zero(weights.zero);
  return histogram;
}

}  // namespace sortition
