#include "core/learners/counterfactual/calibration.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

// Steps of the search per factor of ten; each step is 15 %.
constexpr double kStepsPerDecade = 16;
// Rates closer than this count as equal: the difference is rounding.
constexpr double kSameRate = 1e-9;

absl::Status ValidateRange(const CalibrationRange& range) {
  // The condition is written so that NaN fails, too.
  if (!(range.alpha_min > 0 && range.alpha_min < range.alpha_max &&
        range.alpha_max <= 1e6)) {
    return absl::InvalidArgumentError(
        absl::StrCat("alpha_min is ", range.alpha_min, " and alpha_max ",
                     range.alpha_max, ", must ascend and be in (0, 1e6]"));
  }
  if (!(range.tolerance >= 0 && range.tolerance < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tolerance is ", range.tolerance, ", must be in [0, 1)"));
  }
  return absl::OkStatus();
}

// The abstention rate f(α) minus the rate of MAP.
class Excess {
 public:
  Excess(const ScoredQueries& queries, const model::v1::Policy& policy)
      : queries_(queries),
        policy_(policy),
        target_(MapAbstentionRate(queries)) {}

  double target() const { return target_; }
  double operator()(double alpha) const {
    model::v1::Policy policy = policy_;
    policy.set_inverse_temperature(alpha);
    const auto distribution = MakeActionDistribution(policy);
    CHECK(distribution.ok());  // The search range is inside the policy's range.
    std::vector<double> probabilities;
    double sum = 0;
    for (size_t i = 0; i < queries_.size(); ++i) {
      ScoredCandidates scored = queries_[i];
      scored.scratch = &scratch_;
      probabilities.resize(scored.scores.size());
      sum += (*distribution)->FirstProbabilities(scored, probabilities);
    }
    return sum / static_cast<double>(queries_.size()) - target_;
  }

 private:
  const ScoredQueries& queries_;
  const model::v1::Policy& policy_;
  const double target_;
  mutable DistributionScratch scratch_;
};

// Returns the α between `low` and `high` at which `level` changes its sign.
template <typename Level>
double Bisect(double low, double high, Level level) {
  const bool low_is_positive = level(low) > 0;
  while (high / low > 1 + 1e-13) {
    const double middle = std::sqrt(low * high);
    if (middle <= low || middle >= high) break;
    ((level(middle) > 0) == low_is_positive ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

std::vector<double> Steps(const CalibrationRange& range) {
  const double decades = std::log10(range.alpha_max / range.alpha_min);
  const int count = 1 + static_cast<int>(std::ceil(kStepsPerDecade * decades));
  std::vector<double> alphas(count + 1);
  for (int i = 0; i <= count; ++i) {
    alphas[i] = range.alpha_min * std::pow(range.alpha_max / range.alpha_min,
                                           static_cast<double>(i) / count);
  }
  alphas.back() = range.alpha_max;
  return alphas;
}

// Returns all α at which the excess crosses 0. Ignores the steps at the end
// where the excess is only rounding error: there the policy has become MAP.
std::vector<double> FindRoots(const Excess& excess,
                              const std::vector<double>& alphas,
                              const std::vector<double>& values) {
  const auto is_zero = [&](size_t i) {
    return std::fabs(values[i]) <= kSameRate;
  };
  size_t end = values.size();
  while (end > 0 && is_zero(end - 1)) --end;
  std::vector<double> roots;
  for (size_t i = 0; i < end; ++i) {
    if (is_zero(i)) {
      roots.push_back(alphas[i]);
    } else if (i + 1 < end && !is_zero(i + 1) &&
               (values[i] > 0) != (values[i + 1] > 0)) {
      roots.push_back(Bisect(alphas[i], alphas[i + 1], excess));
    }
  }
  return roots;
}

double Distance(double alpha, double present) {
  return std::fabs(std::log(alpha / present));
}

// Returns the α nearest to `present` with |excess| <= tolerance; empty if no
// step is within the tolerance.
std::optional<double> FindNear(const Excess& excess,
                               const std::vector<double>& alphas,
                               const std::vector<double>& values,
                               double tolerance, double present) {
  if (present >= alphas.front() && present <= alphas.back() &&
      std::fabs(excess(present)) <= tolerance) {
    return present;
  }
  std::optional<size_t> best;
  for (size_t i = 0; i < alphas.size(); ++i) {
    if (std::fabs(values[i]) > tolerance) continue;
    if (!best ||
        Distance(alphas[i], present) < Distance(alphas[*best], present))
      best = i;
  }
  if (!best) return std::nullopt;
  // The step before `best` on the way from `present`, if there is one, is
  // outside the tolerance.
  const auto outside = [&](double alpha) {
    return std::fabs(excess(alpha)) - tolerance;
  };
  double near = alphas[*best];
  if (near > present && *best > 0 && alphas[*best - 1] >= present) {
    near = Bisect(alphas[*best - 1], near, outside);
  } else if (near < present && *best + 1 < alphas.size() &&
             alphas[*best + 1] <= present) {
    near = Bisect(near, alphas[*best + 1], outside);
  }
  return near;
}

absl::Status OutOfReach(const Excess& excess, const std::vector<double>& alphas,
                        const std::vector<double>& values,
                        const CalibrationRange& range) {
  const auto [lowest, highest] =
      std::minmax_element(values.begin(), values.end());
  const double target = excess.target();
  return absl::FailedPreconditionError(absl::StrFormat(
      "no inverse temperature in [%g, %g] makes the policy abstain as often as "
      "its deterministic rule, in a share of %.4g (tolerance %g): it abstains "
      "in [%.4g, %.4g]; nearly uniform (alpha = %g) in %.4g, nearly "
      "deterministic (alpha = %g) in %.4g, the uniform mixture included",
      range.alpha_min, range.alpha_max, target, range.tolerance,
      target + *lowest, target + *highest, alphas.front(),
      target + values.front(), alphas.back(), target + values.back()));
}

}  // namespace

absl::StatusOr<ScoredQueries> ScoredQueries::Create(
    const model::v1::Model& model,
    std::initializer_list<std::span<const BanditTuple>> parts) {
  ScoredQueries queries;
  const std::vector<double> weights(model.weights().begin(),
                                    model.weights().end());
  if (model.policy().softmax_selection().has_abstain_score()) {
    queries.abstain_score_ = model.policy().softmax_selection().abstain_score();
  }
  queries.begins_.push_back(0);
  for (const std::span<const BanditTuple> part : parts) {
    for (const BanditTuple& tuple : part) {
      RETURN_IF_ERROR(queries.Add(tuple, weights));
    }
  }
  if (queries.size() == 0) {
    return absl::InvalidArgumentError("tuples: there is none");
  }
  return queries;
}

absl::Status ScoredQueries::Add(const BanditTuple& tuple,
                                std::span<const double> weights) {
  FeatureBlock features;
  const Candidates& candidates = features.Load(tuple);
  if (candidates.num_features() != weights.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuple ", size(), " has ", candidates.num_features(),
                     " features, must have ", weights.size()));
  }
  for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
    scores_.push_back(candidates.Score(row, weights));
  }
  begins_.push_back(scores_.size());
  ranks_.push_back(static_cast<uint32_t>(tuple.action.size()));
  return absl::OkStatus();
}

ScoredCandidates ScoredQueries::operator[](size_t i) const {
  ScoredCandidates scored;
  scored.scores = std::span<const double>(scores_).subspan(
      begins_[i], begins_[i + 1] - begins_[i]);
  scored.abstain_score = abstain_score_;
  scored.top_k = ranks_[i];
  return scored;
}

Action MapPrediction(ActionKind action_kind,
                     const ScoredCandidates& candidates) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  if (action_kind == ActionKind::kRank) {
    policy.mutable_plackett_luce();
  } else {
    policy.mutable_softmax_selection();
  }
  return (*MakeActionDistribution(policy))->Mode(candidates);
}

double MapAbstentionRate(const ScoredQueries& queries) {
  if (!queries.can_abstain()) return 0;
  size_t abstained = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Action action = MapPrediction(ActionKind::kSelect, queries[i]);
    if (action[0] == kAbstain) ++abstained;
  }
  return static_cast<double>(abstained) / static_cast<double>(queries.size());
}

absl::StatusOr<PolicyShape> MeasureShape(const ScoredQueries& queries,
                                         const model::v1::Policy& policy) {
  ASSIGN_OR_RETURN(const auto distribution, MakeActionDistribution(policy));
  const ActionKind kind = distribution->action_kind();
  const auto entropy_of = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  PolicyShape sum;
  std::vector<double> probabilities;
  for (size_t i = 0; i < queries.size(); ++i) {
    const ScoredCandidates scored = queries[i];
    probabilities.resize(scored.scores.size());
    const double abstains =
        distribution->FirstProbabilities(scored, probabilities);
    sum.abstention_rate += abstains;
    sum.entropy += entropy_of(abstains);
    for (const double p : probabilities) sum.entropy += entropy_of(p);
    sum.map_probability += std::exp(
        distribution->LogPropensity(scored, MapPrediction(kind, scored)));
  }
  const double n = static_cast<double>(queries.size());
  return PolicyShape{sum.abstention_rate / n, sum.map_probability / n,
                     sum.entropy / n};
}

absl::StatusOr<Calibration> CalibrateInverseTemperature(
    const ScoredQueries& queries, const model::v1::Policy& policy,
    const CalibrationRange& range) {
  RETURN_IF_ERROR(ValidateRange(range));
  RETURN_IF_ERROR(MakeActionDistribution(policy).status());
  if (!policy.softmax_selection().has_abstain_score()) {
    return absl::InvalidArgumentError(
        "the policy cannot abstain: there is no rate to calibrate to");
  }
  const Excess excess(queries, policy);
  const std::vector<double> alphas = Steps(range);
  std::vector<double> values;
  for (const double alpha : alphas) values.push_back(excess(alpha));

  const double present = policy.inverse_temperature();
  Calibration result;
  result.map_abstention_rate = excess.target();
  result.roots = FindRoots(excess, alphas, values);
  result.exact = !result.roots.empty();
  if (result.exact) {
    result.inverse_temperature = *std::min_element(
        result.roots.begin(), result.roots.end(), [&](double a, double b) {
          return Distance(a, present) < Distance(b, present);
        });
  } else {
    const std::optional<double> near =
        FindNear(excess, alphas, values, range.tolerance, present);
    if (!near) return OutOfReach(excess, alphas, values, range);
    result.inverse_temperature = *near;
  }
  result.abstention_rate = excess.target() + excess(result.inverse_temperature);
  return result;
}

}  // namespace sortition
