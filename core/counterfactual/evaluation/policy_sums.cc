#include "core/counterfactual/evaluation/policy_sums.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace sortition {
namespace {

// Entries of a row: two of the log, then those of each policy.
constexpr size_t kCount = 0;
constexpr size_t kReward = 1;
constexpr size_t kLogEntries = 2;

// Entries of a policy.
constexpr size_t kWeight = 0;        // ρ
constexpr size_t kWeightReward = 1;  // ρ r
constexpr size_t kWeightSquare = 2;  // ρ²
constexpr size_t kModelPolicy = 3;   // q_h
constexpr size_t kWeightModel = 4;   // ρ q
constexpr size_t kFirstGrid = 5;

// M of clipped weights, λ of shrunk ones, τ of switches: a factor of 2 to 4
// apart, which costs little against the best.
constexpr double kClips[] = {1, 2, 5, 10, 20, 50, 100, 1000};
constexpr double kShrinkages[] = {1, 4, 16, 64, 256, 1024, 4096, 65536};
constexpr double kSmoothings[] = {0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002, 1e-4};

// Kinds with a parameter: a block of entries each, one for a parameter.
struct Grid {
  EstimatorKind kind;
  std::span<const double> parameters;
  // Of the weight: w(ρ) for those that multiply r or r - q.
  double (*weight)(double parameter, double weight, double reward);
  bool has_model;
};

double Clip(double clip, double weight, double) {
  return std::min(clip, weight);
}
double LogSmooth(double lambda, double weight, double reward) {
  return reward > 0 ? std::log1p(lambda * weight * reward) / (lambda * reward)
                    : 0;
}
double SubGaussian(double lambda, double weight, double) {
  return weight / (1 - lambda + lambda * weight);
}
double Shrink(double lambda, double weight, double) {
  return lambda * weight / (weight * weight + lambda);
}
double Switch(double threshold, double weight, double) {
  return weight <= threshold ? weight : 0;
}

constexpr Grid kGrids[] = {
    {EstimatorKind::kClipped, kClips, &Clip, false},
    {EstimatorKind::kLogSmoothed, kSmoothings, &LogSmooth, false},
    {EstimatorKind::kSubGaussian, kSmoothings, &SubGaussian, false},
    {EstimatorKind::kClippedDr, kClips, &Clip, true},
    {EstimatorKind::kOptimisticDr, kShrinkages, &Shrink, true},
    {EstimatorKind::kSwitch, kClips, &Switch, true},
};

constexpr size_t NumGridEntries() {
  size_t entries = 0;
  for (const Grid& grid : kGrids) entries += grid.parameters.size();
  return entries;
}
constexpr size_t kPolicyEntries = kFirstGrid + NumGridEntries();

// Returns the entry of a parameter, which must be one of the grid.
size_t GridEntry(const Estimator& estimator) {
  size_t entry = kFirstGrid;
  for (const Grid& grid : kGrids) {
    if (grid.kind != estimator.kind) {
      entry += grid.parameters.size();
      continue;
    }
    const auto found = std::find(grid.parameters.begin(), grid.parameters.end(),
                                 estimator.parameter);
    return entry +
           static_cast<size_t>(std::distance(grid.parameters.begin(), found));
  }
  return entry;
}

void AddPolicy(double reward, const JudgedDecision& decision,
               std::span<double> entries) {
  // Its square must be finite.
  constexpr double kMostLogWeight = 300;
  const double weight =
      std::exp(std::fmin(decision.log_weight, kMostLogWeight));
  entries[kWeight] += weight;
  entries[kWeightReward] += weight * reward;
  entries[kWeightSquare] += weight * weight;
  entries[kModelPolicy] += decision.modelled_policy;
  entries[kWeightModel] += weight * decision.modelled_logged;
  size_t entry = kFirstGrid;
  for (const Grid& grid : kGrids) {
    const double gain =
        grid.has_model ? reward - decision.modelled_logged : reward;
    for (const double parameter : grid.parameters) {
      entries[entry++] += grid.weight(parameter, weight, reward) * gain;
    }
  }
}

}  // namespace

std::string EstimatorName(EstimatorKind kind) {
  switch (kind) {
    case EstimatorKind::kIps:
      return "ips";
    case EstimatorKind::kControlledIps:
      return "controlled_ips";
    case EstimatorKind::kSelfNormalised:
      return "snips";
    case EstimatorKind::kClipped:
      return "clipped_ips";
    case EstimatorKind::kLogSmoothed:
      return "log_smoothing";
    case EstimatorKind::kSubGaussian:
      return "sub_gaussian_ips";
    case EstimatorKind::kDirect:
      return "direct";
    case EstimatorKind::kDoublyRobust:
      return "dr";
    case EstimatorKind::kSelfNormalisedDr:
      return "sndr";
    case EstimatorKind::kClippedDr:
      return "clipped_dr";
    case EstimatorKind::kOptimisticDr:
      return "dros";
    case EstimatorKind::kSwitch:
      return "switch_dr";
  }
  return "";
}

std::vector<double> ParametersOf(EstimatorKind kind) {
  for (const Grid& grid : kGrids) {
    if (grid.kind == kind) {
      return {grid.parameters.begin(), grid.parameters.end()};
    }
  }
  return {};
}

PolicySums::PolicySums(size_t num_policies, size_t num_groups)
    : num_policies_(num_policies),
      sums_(num_groups, kLogEntries + num_policies * kPolicyEntries) {}

void PolicySums::Add(uint64_t unit_hash, double reward,
                     std::span<const JudgedDecision> policies) {
  const std::span<double> row = sums_.GroupOf(unit_hash);
  row[kCount] += 1;
  row[kReward] += reward;
  for (size_t k = 0; k < policies.size(); ++k) {
    AddPolicy(reward, policies[k],
              row.subspan(kLogEntries + k * kPolicyEntries, kPolicyEntries));
  }
}

size_t PolicySums::EntryOf(size_t policy, size_t entry) const {
  return kLogEntries + policy * kPolicyEntries + entry;
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
  const std::vector<double> totals = sums_.Totals();
  const double weight = totals[EntryOf(policy, kWeight)];
  const double squares = totals[EntryOf(policy, kWeightSquare)];
  return squares > 0 ? weight * weight / squares : 0;
}

uint64_t PolicySums::num_decisions() const {
  return static_cast<uint64_t>(sums_.Totals()[kCount]);
}

std::vector<Ratio> Difference(std::vector<Ratio> a, std::vector<Ratio> b) {
  for (Ratio& ratio : b) {
    ratio.factor = -ratio.factor;
    a.push_back(std::move(ratio));
  }
  return a;
}

}  // namespace sortition
