#pragma once
// What objectives of rankings learn from a log of clicks.
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "bench/clicks/learning_log.h"
#include "bench/clicks/page_model.h"
#include "core/optim/parameter_frame.h"

namespace sortition {

enum class ClickObjective {
  kWholeOrder,        // Counterfactual risk with weights of whole orders.
  kPrefixes,          // With weights of prefixes.
  kItemPosition,      // With weights of candidates at their ranks.
  kCascade,           // Prefixes with a model of clicks.
  kExposure,          // Bias-corrected clicks and exact exposures.
  kSampledExposures,  // The same with drawn orders: PL-Rank.
  kSafeExposure,      // Exposure, minus what it may be wrong by.
};
std::span<const ClickObjective> AllClickObjectives();
std::string ClickObjectiveName(ClickObjective objective);

struct ObjectiveTask {
  const LearningLog* log = nullptr;
  std::vector<double> discounts;  // How often users look at each rank.
  ParameterFrame frame;           // Its origin is w of the policy that logged.
  const PageModel* model = nullptr;  // Needed by kCascade alone.
};

// Returns weights w. All objectives start at the policy that logged and have
// the penalty ‖v‖² / N in the frame, N sessions. Errors as the terms and
// optimisers.
absl::StatusOr<Eigen::VectorXd> LearnFromClicks(ClickObjective objective,
                                                const ObjectiveTask& task);

}  // namespace sortition
