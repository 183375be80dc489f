#include "core/counterfactual/evaluation/policy_sums.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

#include "core/base/stable_math.h"
#include "core/counterfactual/evaluation/blend.h"

namespace sortition {
namespace {

// Entries of a row: those of the log, then those of each policy.
constexpr size_t kCount = 0;
constexpr size_t kReward = 1;
constexpr size_t kStratumCount = 2;
constexpr size_t kLogEntries = kStratumCount + PolicySums::kNumStrata;

// Entries of a policy.
constexpr size_t kWeight = 0;          // ρ
constexpr size_t kWeightReward = 1;    // ρ r
constexpr size_t kModelPolicy = 2;     // q_h
constexpr size_t kWeightModel = 3;     // ρ q
constexpr size_t kRobust = 4;          // q_h + ρ (r - q) of kMoreRobustDr
constexpr size_t kBalancedReward = 5;  // ρ r of kBalanced
constexpr size_t kMarginalReward = 6;  // ρ r of kMarginalised
constexpr size_t kStratumReward = 7;   // ρ r by stratum
constexpr size_t kCutWeight = kStratumReward + PolicySums::kNumStrata;
constexpr size_t kMissing = kCutWeight + kNumParameters;  // By M of kClips.
constexpr size_t kFirstGrid = kMissing + kNumParameters;

// Kinds with a parameter have a block of entries each, one for a parameter, in
// this order.
constexpr EstimatorKind kGrids[] = {
    EstimatorKind::kClipped,     EstimatorKind::kSubGaussian,
    EstimatorKind::kLogSmoothed, EstimatorKind::kClippedDr,
    EstimatorKind::kSwitch,      EstimatorKind::kOptimisticDr,
};
constexpr size_t kPolicyEntries =
    kFirstGrid + std::size(kGrids) * kNumParameters;

// Returns the entry of a parameter, which must be one of the grid.
size_t GridEntry(const Estimator& estimator) {
  const auto* const grid =
      std::find(std::begin(kGrids), std::end(kGrids), estimator.kind);
  const std::vector<double> parameters = ParametersOf(estimator.kind);
  const auto parameter =
      std::find(parameters.begin(), parameters.end(), estimator.parameter);
  return kFirstGrid +
         static_cast<size_t>(grid - std::begin(kGrids)) * kNumParameters +
         static_cast<size_t>(parameter - parameters.begin());
}

double WeightOf(double log_weight) {
  // Its square must be finite.
  constexpr double kMostLogWeight = 300;
  return std::exp(std::fmin(log_weight, kMostLogWeight));
}

double WeightOf(const std::optional<double>& log_weight, double weight) {
  return log_weight.has_value() ? WeightOf(*log_weight) : weight;
}

// Adds w(parameter) · gain for each parameter of a grid. Returns what follows.
template <typename WeightFunction>
double* AddBlock(const double (&parameters)[kNumParameters], double gain,
                 const WeightFunction& weight, double* block) {
  for (size_t i = 0; i < kNumParameters; ++i) {
    block[i] += weight(parameters[i]) * gain;
  }
  return block + kNumParameters;
}

// Adds ln(1 + λ ρ r) / λ for each λ. With x = λ ρ r and u = 1 + x as rounded,
// ln(1 + x) = ln(u) x / (u - 1) without cancellation, and x if u = 1.
void AddLogSmoothed(double share, double gain, double* block) {
  double logs[kNumParameters];
  double factors[kNumParameters];
  for (size_t i = 0; i < kNumParameters; ++i) {
    const double u = 1 + kSmoothings[i] * gain;
    logs[i] = u == 1 ? std::numbers::e : u;
    factors[i] = share * gain * (u == 1 ? 1 : 1 / (u - 1));
  }
  stable::LogInPlace(logs);
  for (size_t i = 0; i < kNumParameters; ++i) {
    block[i] += logs[i] * factors[i];
  }
}

void AddGrids(double share, double weight, double reward, double residual,
              double* block) {
  const auto clip = [weight](double most) { return std::min(most, weight); };
  // Rewards are often 0, and without a model so are residuals.
  if (reward != 0) {
    double* next = AddBlock(kClips, share * reward, clip, block);
    next = AddBlock(
        kSmoothings, share * reward,
        [weight](double lambda) {
          return weight / (1 - lambda + lambda * weight);
        },
        next);
    AddLogSmoothed(share, weight * reward, next);
  }
  if (residual != 0) {
    const double gain = share * residual;
    double* next = AddBlock(kClips, gain, clip, block + 3 * kNumParameters);
    next = AddBlock(
        kClips, gain,
        [weight](double most) { return weight <= most ? weight : 0; }, next);
    AddBlock(
        kShrinkages, gain,
        [weight](double lambda) {
          return lambda * weight / (weight * weight + lambda);
        },
        next);
  }
}

void AddPolicy(double share, double reward, size_t stratum, double weight,
               const JudgedDecision& decision, double* entries) {
  const double residual = reward - decision.modelled_logged;
  entries[kModelPolicy] += share * decision.modelled_policy;
  entries[kRobust] += share * (decision.robust_policy +
                               weight * (reward - decision.robust_logged));
  for (size_t i = 0; i < kNumParameters; ++i) {
    const double cut = share * std::min(kClips[i], weight);
    entries[kCutWeight + i] += cut;
    entries[kMissing + i] += decision.missing.has_value()
                                 ? share * decision.missing->beyond[i]
                                 : share - cut;
  }
  if (reward != 0) {
    const double gain = share * reward;
    entries[kBalancedReward] +=
        gain * WeightOf(decision.log_balanced_weight, weight);
    entries[kMarginalReward] +=
        gain * WeightOf(decision.log_marginal_weight, weight);
  }
  if (weight == 0) return;
  entries[kWeight] += share * weight;
  entries[kWeightReward] += share * weight * reward;
  entries[kWeightModel] += share * weight * decision.modelled_logged;
  entries[kStratumReward + stratum] += share * weight * reward;
  AddGrids(share, weight, reward, residual, entries + kFirstGrid);
}

}  // namespace

PolicySums::PolicySums(size_t num_policies, size_t num_groups)
    : sums_(num_groups, kLogEntries + num_policies * kPolicyEntries),
      weights_(num_policies),
      stratum_weights_(num_policies * kNumStrata),
      stratum_squares_(num_policies * kNumStrata),
      supports_(num_policies) {}

void PolicySums::Add(uint64_t unit_hash, double share, double reward,
                     std::span<const JudgedDecision> policies,
                     size_t logging_policy) {
  const size_t stratum = logging_policy % kNumStrata;
  const std::span<double> row = sums_.GroupOf(unit_hash);
  row[kCount] += share;
  row[kReward] += share * reward;
  row[kStratumCount + stratum] += share;
  rewards_.Add(share, reward);
  for (size_t k = 0; k < policies.size(); ++k) {
    const double weight = WeightOf(policies[k].log_weight);
    AddPolicy(share, reward, stratum, weight, policies[k],
              row.data() + EntryOf(k, 0));
    weights_[k].Add(share, reward, weight);
    supports_[k].is_refuted |= policies[k].is_logging_refuted;
    if (policies[k].missing.has_value()) {
      supports_[k].largest_weight = std::max(
          supports_[k].largest_weight, policies[k].missing->largest_weight);
    } else {
      ++supports_[k].unknown;
    }
    stratum_weights_[k * kNumStrata + stratum] += share * weight;
    stratum_squares_[k * kNumStrata + stratum] +=
        share * weight * share * weight;
  }
}

void PolicySums::Merge(const PolicySums& other) {
  sums_.Merge(other.sums_);
  rewards_.Merge(other.rewards_);
  for (size_t k = 0; k < weights_.size(); ++k) {
    weights_[k].Merge(other.weights_[k]);
    supports_[k].unknown += other.supports_[k].unknown;
    supports_[k].is_refuted |= other.supports_[k].is_refuted;
    supports_[k].largest_weight = std::max(supports_[k].largest_weight,
                                           other.supports_[k].largest_weight);
  }
  for (size_t i = 0; i < stratum_squares_.size(); ++i) {
    stratum_weights_[i] += other.stratum_weights_[i];
    stratum_squares_[i] += other.stratum_squares_[i];
  }
}

size_t PolicySums::EntryOf(size_t policy, size_t entry) const {
  return kLogEntries + policy * kPolicyEntries + entry;
}

// Means by stratum. The variance of one is about Σ ρ² / (Σ ρ)²; taking rewards
// into account would prefer strata that happened to earn nothing, and n_j in
// place of Σ ρ those that hardly ever did what the policy does.
std::vector<Ratio> PolicySums::StrataOf(size_t policy) const {
  std::vector<Ratio> ratios;
  double sum = 0;
  for (size_t j = 0; j < kNumStrata; ++j) {
    const double squares = stratum_squares_[policy * kNumStrata + j];
    // A stratum where the policy would have chosen nothing says nothing.
    if (squares == 0) continue;
    const double weight = stratum_weights_[policy * kNumStrata + j];
    const double factor = weight * weight / squares;
    sum += factor;
    ratios.push_back({{{EntryOf(policy, kStratumReward + j), 1}},
                      {{kStratumCount + j, 1}},
                      factor});
  }
  for (Ratio& ratio : ratios) ratio.factor /= sum;
  return ratios;
}

std::vector<Ratio> PolicySums::RatiosOf(size_t policy,
                                        const Estimator& estimator) const {
  const SumFunction count = {{kCount, 1}};
  const SumFunction weight = {{EntryOf(policy, kWeight), 1}};
  const SumTerm gain = {EntryOf(policy, kWeightReward), 1};
  const SumTerm model = {EntryOf(policy, kModelPolicy), 1};
  const SumTerm logged_model = {EntryOf(policy, kWeightModel), -1};
  switch (estimator.kind) {
    case EstimatorKind::kIps:
      return {{{gain}, count}};
    case EstimatorKind::kControlledIps: {
      const double factor = ControlFactor(sums_, {gain}, weight, count);
      return {{{gain, {weight[0].entry, -factor}, {kCount, factor}}, count}};
    }
    case EstimatorKind::kSelfNormalised:
      return {{{gain}, weight}};
    case EstimatorKind::kDirect:
      return {{{model}, count}};
    case EstimatorKind::kDoublyRobust:
      return {{{model, gain, logged_model}, count}};
    case EstimatorKind::kSelfNormalisedDr:
      return {{{model}, count}, {{gain, logged_model}, weight}};
    case EstimatorKind::kBlendedDr:
      return BlendedRatios(*this, policy);
    case EstimatorKind::kMoreRobustDr:
      return {{{{EntryOf(policy, kRobust), 1}}, count}};
    case EstimatorKind::kBalanced:
      return {{{{EntryOf(policy, kBalancedReward), 1}}, count}};
    case EstimatorKind::kMarginalised:
      return {{{{EntryOf(policy, kMarginalReward), 1}}, count}};
    case EstimatorKind::kWeighted:
      return StrataOf(policy);
    case EstimatorKind::kClipped:
    case EstimatorKind::kLogSmoothed:
    case EstimatorKind::kSubGaussian:
      return {{{{EntryOf(policy, GridEntry(estimator)), 1}}, count}};
    case EstimatorKind::kClippedDr:
    case EstimatorKind::kOptimisticDr:
    case EstimatorKind::kSwitch:
      return {{{model, {EntryOf(policy, GridEntry(estimator)), 1}}, count}};
  }
  return {};
}

Ratio PolicySums::LoggedReward() const {
  return {{{kReward, 1}}, {{kCount, 1}}};
}

Ratio PolicySums::MeanWeight(size_t policy) const {
  return {{{EntryOf(policy, kWeight), 1}}, {{kCount, 1}}};
}

double PolicySums::EffectiveSampleSize(size_t policy) const {
  const double weight = ApplyToTotals(MeanWeight(policy).numerator, sums_);
  const double squares = weights_[policy].square();
  return squares > 0 ? weight * weight / squares : 0;
}

SumFunction PolicySums::CutReward(size_t policy, size_t cut) const {
  return {
      {EntryOf(policy, GridEntry({EstimatorKind::kClipped, kClips[cut]})), 1}};
}

SumFunction PolicySums::CutWeight(size_t policy, size_t cut) const {
  return {{EntryOf(policy, kCutWeight + cut), 1}};
}

SumFunction PolicySums::MissingMassOf(size_t policy, size_t cut) const {
  if (supports_[policy].is_refuted) {
    return {{kCount, 1}, {EntryOf(policy, kCutWeight + cut), -1}};
  }
  return {{EntryOf(policy, kMissing + cut), 1}};
}

bool PolicySums::IsSupportKnown(size_t policy) const {
  return num_decisions() > 0 && supports_[policy].unknown == 0 &&
         !supports_[policy].is_refuted;
}

double PolicySums::LargestWeight(size_t policy) const {
  return IsSupportKnown(policy) ? supports_[policy].largest_weight
                                : std::numeric_limits<double>::infinity();
}

double PolicySums::CutLimit(size_t policy, size_t cut) const {
  return std::min(kClips[cut], LargestWeight(policy));
}

double PolicySums::MeanOf(const SumFunction& sum) const {
  const double count = ApplyToTotals({{kCount, 1}}, sums_);
  return count > 0 ? ApplyToTotals(sum, sums_) / count : 0;
}

std::vector<Ratio> Difference(std::vector<Ratio> a, std::vector<Ratio> b) {
  for (Ratio& ratio : b) {
    ratio.factor = -ratio.factor;
    a.push_back(std::move(ratio));
  }
  return a;
}

}  // namespace sortition
