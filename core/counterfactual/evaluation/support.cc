#include "core/counterfactual/evaluation/support.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"

namespace sortition {
namespace {

using Of = IntervalTask::Of;

// A policy with its weights cut.
struct CutPolicy {
  SumFunction reward;      // Σ min(ρ, M) r
  SumFunction difference;  // Σ d
  SumFunction missing;     // Σ c
  double mass = 0;         // Mean c.
  double limit = 0;        // The largest min(ρ, M).
  bool is_known = false;   // The missing mass is known in all decisions.
};

// Rule by which M is chosen (support.h).
enum class CutRule { kLeastMass, kLeastCharge };

size_t ChooseCut(const PolicySums& sums, size_t policy, CutRule rule) {
  constexpr double kLogRatio = 3.7;  // ln(1 / 0.025)
  const double decisions =
      ApplyToTotals(sums.LoggedReward().denominator, sums.sums());
  if (decisions == 0) return 0;
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < kNumParameters; ++i) {
    double cost =
        ApplyToTotals(sums.MissingMassOf(policy, i), sums.sums()) / decisions;
    if (rule == CutRule::kLeastCharge) {
      cost += kLogRatio * sums.CutLimit(policy, i) / decisions;
    }
    // Equal sums may differ by rounding errors.
    constexpr double kRounding = 1e-12;
    if (!(cost < least - kRounding)) continue;
    least = cost;
    best = i;
  }
  return best;
}

CutPolicy Cut(const PolicySums& sums, size_t policy, CutRule rule) {
  const SumFunction count = sums.LoggedReward().denominator;
  const size_t cut = ChooseCut(sums, policy, rule);
  CutPolicy result;
  result.reward = sums.CutReward(policy, cut);
  result.missing = sums.MissingMassOf(policy, cut);
  result.difference =
      Plus(Plus(sums.CutWeight(policy, cut), count, -1), result.missing, 1);
  result.mass = sums.MeanOf(result.missing);
  result.limit = sums.CutLimit(policy, cut);
  result.is_known = sums.IsSupportKnown(policy);
  return result;
}

// The left and the right side of support.h without -β d, and d.
struct Terms {
  SumFunction lower;
  SumFunction upper;
  SumFunction difference;
  double mass = 0;  // Mean c.
};

// The smallest term of one decision in the mean of the lower bound, and the
// largest in that of the upper bound.
struct Extent {
  double least = 0;
  double most = 0;
};

// With c = 0 it is ρ (r - β) + β in [-β (W - 1), W (1 - β) + β], and the same
// less r. Missing mass, at most 1, takes β c away on the left and adds (1 - β)
// c on the right. Of a policy that is not known for all decisions there are
// also ρ r and 1 - ρ (1 - r).
Extent ExtentOf(const CutPolicy& policy, double beta, bool is_gain) {
  const double more = std::max(policy.limit - 1, 0.0);
  Extent extent = {-beta * more, 1 + (1 - beta) * more};
  if (is_gain) {
    extent = {std::min(-beta * more, -(1 - beta)),
              std::max((1 - beta) * more, beta)};
  }
  if (policy.mass > 0) {
    extent.least -= beta;
    extent.most += 1 - beta;
  }
  if (!policy.is_known) {
    extent.least = std::min(extent.least, is_gain ? -1.0 : 0.0);
    extent.most = std::max(extent.most, 1.0);
  }
  return extent;
}

// With c = 0 it is (ρ_A - ρ_B) (r - β). Missing mass takes c_B (1 - β) + β c_A
// away on the left and adds c_A (1 - β) + β c_B on the right. Of policies that
// are not known for all decisions there are also ρ_A r + ρ_B (1 - r) - 1 and
// the same with A and B exchanged.
Extent ExtentOfPair(const CutPolicy& a, const CutPolicy& b, double beta) {
  Extent extent = {-std::max(b.limit * (1 - beta), a.limit * beta),
                   std::max(a.limit * (1 - beta), b.limit * beta)};
  if (a.mass > 0 || b.mass > 0) {
    extent.least -= 1;
    extent.most += 1;
  }
  if (!a.is_known || !b.is_known) {
    extent.least = std::min(extent.least, -1.0 - beta * a.limit);
    extent.most = std::max(extent.most, 1.0 + beta * b.limit);
  }
  return extent;
}

Sides MakeSides(const PolicySums& sums, const Terms& terms, double beta,
                const Extent& extent) {
  const SumFunction count = sums.LoggedReward().denominator;
  Sides sides;
  sides.above = {{Plus(terms.lower, terms.difference, -beta), count},
                 extent.least};
  sides.below = {
      {Plus(Plus({}, terms.upper, -1), terms.difference, beta), count},
      -extent.most};
  sides.missing_mass = terms.mass;
  return sides;
}

double BetaOf(const PolicySums& sums, const Terms& terms) {
  return std::clamp(ControlFactor(sums.sums(), terms.lower, terms.difference,
                                  sums.LoggedReward().denominator),
                    0.0, 1.0);
}

Sides SidesBy(const IntervalTask& task, CutRule rule) {
  const PolicySums& sums = *task.sums;
  const SumFunction logged = sums.LoggedReward().numerator;
  if (task.of == Of::kLogged) {
    return MakeSides(sums, {logged, logged, {}, 0}, 0, {0, 1});
  }
  const CutPolicy policy = Cut(sums, task.policy, rule);
  Terms terms = {policy.reward, Plus(policy.reward, policy.missing, 1),
                 policy.difference, policy.mass};
  if (task.of == Of::kGainOverPolicy) {
    const CutPolicy other = Cut(sums, task.other, rule);
    terms.lower =
        Plus(Plus(std::move(terms.lower), other.reward, -1), other.missing, -1);
    terms.upper = Plus(std::move(terms.upper), other.reward, -1);
    terms.difference = Plus(std::move(terms.difference), other.difference, -1);
    terms.mass += other.mass;
    const double beta = BetaOf(sums, terms);
    return MakeSides(sums, terms, beta, ExtentOfPair(policy, other, beta));
  }
  const bool is_gain = task.of == Of::kGainOverLog;
  if (is_gain) {
    terms.lower = Plus(std::move(terms.lower), logged, -1);
    terms.upper = Plus(std::move(terms.upper), logged, -1);
  }
  const double beta = BetaOf(sums, terms);
  return MakeSides(sums, terms, beta, ExtentOf(policy, beta, is_gain));
}

bool AreNearlyNormal(const IntervalTask& task, const Sides& sides) {
  constexpr double kFewestEffective = 50;
  const PolicySums& sums = *task.sums;
  if (task.of != Of::kLogged &&
      sums.EffectiveSampleSize(task.policy) < kFewestEffective) {
    return false;
  }
  if (task.of == Of::kGainOverPolicy &&
      sums.EffectiveSampleSize(task.other) < kFewestEffective) {
    return false;
  }
  return IsNearlyNormal(sums.sums(), sides.above) &&
         IsNearlyNormal(sums.sums(), sides.below);
}

}  // namespace

Sides SidesOf(const IntervalTask& task) {
  Sides sides = SidesBy(task, CutRule::kLeastMass);
  sides.is_nearly_normal = AreNearlyNormal(task, sides);
  if (sides.is_nearly_normal || task.of == Of::kLogged) return sides;
  sides = SidesBy(task, CutRule::kLeastCharge);
  sides.is_nearly_normal = AreNearlyNormal(task, sides);
  return sides;
}

}  // namespace sortition
