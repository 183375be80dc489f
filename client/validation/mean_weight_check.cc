#include "client/validation/mean_weight_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/counterfactual/estimators.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

// Fewer weights say nothing.
constexpr uint64_t kFewestWeights = 100;
// min{w, kCap} has a mean of at most 1, and a bounded range.
constexpr double kCap = 10;
// That a right log fails.
constexpr double kFailureProbability = 1e-6;
constexpr double kSigmas = 5;
constexpr double kTailSigmas = 3;
// How many of the largest weights tell how heavy the tail is.
constexpr size_t kMostTail = 1000;
constexpr double kTailShare = 0.02;
constexpr size_t kFewestTail = 20;
// Versions of which a line says that they pass.
constexpr uint64_t kMostPassed = 100;
// Weights may overflow; a capped one stays comparable.
constexpr double kLargestLogWeight = 300;

double LogChoose(size_t n, size_t k) {
  return std::lgamma(static_cast<double>(n) + 1) -
         std::lgamma(static_cast<double>(k) + 1) -
         std::lgamma(static_cast<double>(n - k) + 1);
}

double LogWeightOfWholeOrder(size_t ranks, size_t eligible,
                             double log_propensity) {
  return -(std::lgamma(static_cast<double>(eligible) + 1) -
           std::lgamma(static_cast<double>(eligible - ranks) + 1)) -
         log_propensity;
}

// Of the ranks of an order, see the class comment; of the whole order if its
// conditionals were not logged.
double LogWeightOfOrder(const log::v1::Decision& decision, size_t eligible) {
  const auto& conditionals = decision.conditional_log_propensities();
  const auto ranks = static_cast<size_t>(decision.action_size());
  if (conditionals.empty()) {
    return LogWeightOfWholeOrder(ranks, eligible, decision.log_propensity());
  }
  double sum = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    sum += std::exp(std::min(-conditionals[static_cast<int>(rank)],
                             kLargestLogWeight)) /
           static_cast<double>(eligible - rank);
  }
  return std::log(sum / static_cast<double>(ranks));
}

// Returns the weight by `log_propensity`, which is that of the decision or, of
// a split, that of the mixture; nothing for a decision that other checks
// refuse.
std::optional<double> LogWeight(const log::v1::Decision& decision,
                                double log_propensity, bool is_mixture) {
  if (!std::isfinite(log_propensity)) return std::nullopt;
  const size_t eligible = NumEligible(decision);
  if (eligible == 0) return std::nullopt;
  const auto chosen = static_cast<size_t>(decision.action_size());
  constexpr double kLog2 = 0.6931471805599453;
  switch (decision.action_kind()) {
    case log::v1::SELECT:
      return -std::log(static_cast<double>(eligible +
                                           (decision.can_abstain() ? 1 : 0))) -
             log_propensity;
    case log::v1::RANK: {
      const auto& conditionals = decision.conditional_log_propensities();
      if (chosen == 0 || chosen > eligible) return std::nullopt;
      if (!conditionals.empty() &&
          conditionals.size() != decision.action_size()) {
        return std::nullopt;
      }
      return is_mixture
                 ? LogWeightOfWholeOrder(chosen, eligible, log_propensity)
                 : LogWeightOfOrder(decision, eligible);
    }
    case log::v1::SUBSET: {
      if (chosen > eligible) return std::nullopt;
      const bool sized =
          decision.top_k() > 0 || SubsetSize(decision.policy()) > 0;
      const double actions = sized ? LogChoose(eligible, chosen)
                                   : kLog2 * static_cast<double>(eligible);
      return -actions - log_propensity;
    }
    case log::v1::LABELS:
      return -kLog2 * decision.num_labels() - log_propensity;
    default:
      return std::nullopt;
  }
}

}  // namespace

void WeightGroup::Add(double log_weight) {
  const double bounded = std::min(log_weight, kLargestLogWeight);
  const double weight = std::exp(bounded);
  weights_.Add(weight);
  capped_.Add(std::min(weight, kCap));
  largest_ = std::max(largest_, weight);
  tail_.push(bounded);
  if (tail_.size() > kMostTail) tail_.pop();
}

// Returns a bound of the mean by the normal interval, and what weights beyond
// the largest would add if the tail went on as a Pareto distribution: its index
// is Hill's estimate from the largest weights [Hill75].
double WeightGroup::UpperBound() const {
  const auto n = static_cast<double>(weights_.count());
  auto tail = tail_;
  const auto wanted =
      std::clamp(static_cast<size_t>(kTailShare * n), kFewestTail, kMostTail);
  while (tail.size() > wanted + 1) tail.pop();
  const double threshold = tail.top();
  double excess = 0;
  size_t count = 0;
  for (tail.pop(); !tail.empty(); tail.pop()) {
    excess += tail.top() - threshold;
    ++count;
  }
  // Its relative error is that of a mean of `count` exponential variables.
  const double inverse_index =
      excess / static_cast<double>(count) *
      (1 + kTailSigmas / std::sqrt(static_cast<double>(count)));
  if (inverse_index >= 1) return std::numeric_limits<double>::infinity();
  return weights_.mean() + kSigmas * std::sqrt(weights_.variance() / n) +
         kSigmas * largest_ / n / (1 - inverse_index);
}

Finding WeightGroup::Report(const std::string& name,
                            bool has_full_support) const {
  const std::string text =
      absl::StrFormat("%s: mean weight %.4g of %d decisions", name,
                      weights_.mean(), weights_.count());
  if (weights_.count() < kFewestWeights) {
    return {Level::kPass, absl::StrCat(text, ", too few to tell")};
  }
  const double lower = capped_.mean() - EmpiricalBernsteinSlack(
                                            capped_, kCap, kFailureProbability);
  if (lower > 1) {
    return {
        Level::kFail,
        absl::StrFormat("%s; taken as 10 at most, at least %.4g: must be %s; "
                        "the actions were not drawn with these "
                        "propensities",
                        text, lower, has_full_support ? "1" : "at most 1")};
  }
  if (!has_full_support) {
    return {Level::kPass,
            absl::StrCat(
                text, ", at most 1 expected: not all actions are drawn",
                UpperBound() < 1 ? ", or the propensities are too large" : "")};
  }
  const double upper = UpperBound();
  if (upper < 1) {
    return {Level::kFail,
            absl::StrFormat("%s, at most %.4g: must be 1; the actions were not "
                            "drawn with these propensities",
                            text, upper)};
  }
  if (!std::isfinite(upper)) {
    return {Level::kPass,
            absl::StrCat(text, ", too heavy a tail to tell more")};
  }
  return {Level::kPass, absl::StrFormat("%s, at most %.4g", text, upper)};
}

void MeanWeightCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr) return;
  const log::v1::Decision& decision = *entry.decision;
  // Draws with the same seed are not independent.
  if (decision.has_seed() || IsCertain(decision)) return;
  // A decision of another system, or of the caller's baseline, does not say
  // what its policy could draw.
  const bool is_known =
      !IsOfBaseline(decision) &&
      (entry.tuple == nullptr || entry.tuple->has_position() ||
       decision.policy().kind_case() != model::v1::Policy::KIND_NOT_SET);
  const bool full =
      is_known && HasFullSupport(decision.policy(), NumEligible(decision));
  Add({decision.model(), decision.version(), decision.action_kind(), full,
       /*is_mixture=*/false},
      LogWeight(decision, decision.log_propensity(), false));
  if (!decision.has_arm() || !decision.arm().has_mixture_log_propensity()) {
    return;
  }
  // What another arm could draw is not known here.
  Add({decision.model(), decision.arm().primary_version(),
       decision.action_kind(), /*full=*/false, /*is_mixture=*/true},
      LogWeight(decision, decision.arm().mixture_log_propensity(), true));
}

void MeanWeightCheck::Add(const Key& key, std::optional<double> log_weight) {
  if (!log_weight.has_value() || std::isnan(*log_weight)) return;
  WeightGroup* const group = groups_.Get(key, std::get<0>(key).size());
  if (group != nullptr) group->Add(*log_weight);
}

std::vector<Finding> MeanWeightCheck::Report() const {
  std::vector<Finding> findings;
  uint64_t passed = 0;
  for (const auto& [key, group] : groups_.entries()) {
    const auto& [model, version, kind, full, is_mixture] = key;
    const std::string name = absl::StrCat(
        model, is_mixture ? " split beside version " : " version ", version,
        " ", log::v1::ActionKind_Name(static_cast<log::v1::ActionKind>(kind)));
    Finding finding = group.Report(name, full);
    if (finding.level == Level::kPass && ++passed > kMostPassed) continue;
    findings.push_back(std::move(finding));
  }
  if (passed > kMostPassed) {
    findings.push_back(
        {Level::kPass,
         absl::StrCat("the same of ", passed - kMostPassed, " more versions")});
  }
  groups_.AppendLeftOut("decisions", "versions", &findings);
  if (findings.empty()) findings.push_back({Level::kPass, "no draws"});
  return findings;
}

}  // namespace sortition
