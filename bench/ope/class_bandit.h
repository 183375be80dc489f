#pragma once
// Logs of a class problem: what is drawn, with which probability, and what
// policies are worth, by enumeration.
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "bench/ope/class_problems.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "core/counterfactual/reward_models/reward_model.h"

namespace sortition {

// The probabilities of both policies for all test items, one row for each.
struct BanditPolicies {
  Eigen::MatrixXd logging;
  Eigen::MatrixXd target;
  double value = 0;         // What the target earns.
  double logged_value = 0;  // What the logging policy earns.
};

// The classifiers behind the policies.
class ClassBandit {
 public:
  // Fits logistic regressions, one for each class against the others: those of
  // the logging policy to the first 5 % of the training items, those of the
  // target to the others. `problem` must outlive this object.
  static absl::StatusOr<ClassBandit> Create(const ClassProblem& problem);

  // Logging: softmax of the logits times `inverse_temperature`, mixed with 5 %
  // uniform. Target: softmax of the logits.
  BanditPolicies PoliciesAt(double inverse_temperature) const;

  // Draws a log: test items with replacement, actions by the logging policy.
  // Returns the sums of the target; an item is a unit, so that its reward
  // models have not seen it.
  absl::StatusOr<PolicySums> DrawSums(const BanditPolicies& policies,
                                      RewardModelKind kind,
                                      uint64_t seed) const;

  size_t num_draws() const;
  const ClassProblem& problem() const { return *problem_; }

 private:
  explicit ClassBandit(const ClassProblem& problem) : problem_(&problem) {}

  const ClassProblem* problem_;
  Eigen::MatrixXd logging_logits_;  // Of the test items.
  Eigen::MatrixXd target_logits_;
};

}  // namespace sortition
