#include "trainer/ope/exploration_report.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/planning.h"

namespace sortition {

// The value of the newest version mixed with uniform is linear in the mixture
// for these estimators: no further pass is needed.
void AddExploration(const OpeReportTask& task, double improvement,
                    config::v1::OpeReport* report) {
  const PolicySums& sums = task.judgement.all();
  const size_t num_policies = task.judgement.num_reported();
  if (sums.num_policies() == num_policies) return;
  const double failure = (1 - task.style.confidence) / 2;
  const Estimator estimator{task.judgement.has_model(num_policies)
                                ? EstimatorKind::kDoublyRobust
                                : EstimatorKind::kIps};
  const double z = NormalQuantile(1 - failure);
  std::optional<double> without;
  for (size_t i = 0; i < Exploration::kMixtures.size(); ++i) {
    const double mixture = Exploration::kMixtures[i];
    std::vector<Ratio> ratios;
    for (const auto& [policy, factor] :
         {std::pair{num_policies, 1 - mixture},
          std::pair{num_policies + 1, mixture}}) {
      for (Ratio& ratio : sums.RatiosOf(policy, estimator)) {
        ratio.factor *= factor;
        ratios.push_back(std::move(ratio));
      }
    }
    const RatioEstimate value = EstimateRatios(sums.sums(), ratios);
    const double range = task.style.range();
    auto* const added = report->add_exploration();
    added->set_mixture(mixture);
    config::v1::OpeEstimate* const estimate = added->mutable_value();
    estimate->set_estimator(EstimatorKey(estimator.kind));
    estimate->set_standard_error(range * value.standard_error);
    estimate->set_value_interval(IntervalKey(IntervalKind::kStudent));
    const double middle = task.style.reward_min + range * value.value;
    estimate->mutable_value()->set_value(middle);
    estimate->mutable_value()->set_lower(middle -
                                         z * estimate->standard_error());
    estimate->mutable_value()->set_upper(middle +
                                         z * estimate->standard_error());
    estimate->mutable_value()->set_confidence(task.style.confidence);
    if (!without) without = middle;
    added->set_cost(*without - middle);
    const double deviation =
        range * task.judgement.exploration().DeviationAt(i);
    if (std::isfinite(deviation) && deviation > 0 && improvement > 0) {
      added->set_decisions(
          DecisionsToSee(deviation, 1, improvement, failure, kPower));
    }
  }
}

}  // namespace sortition
