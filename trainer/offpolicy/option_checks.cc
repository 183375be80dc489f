#include "trainer/offpolicy/option_checks.h"

#include "core/base/status_macros.h"
#include "core/learners/counterfactual/poem_options.h"
#include "io/models/model_store.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {

using config::v1::TrainOptions;

absl::Status ValidateTupleTraining(const TrainOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(ValidatePartsAndRewards(options));
  constexpr double kLeastFraction = 0.01;
  if (options.test_fraction() < kLeastFraction) {
    return absl::InvalidArgumentError(absl::StrCat(
        "test_fraction is ", options.test_fraction(), ", must be at least ",
        kLeastFraction, " for learner ", options.learner()));
  }
  RETURN_IF_ERROR(TupleSelection::Validate(options));
  RETURN_IF_ERROR(ValidatePoemOptions(WithOptimiser(options.poem(), 0)));
  if (options.baseline() != "serving" && options.baseline() != "newest" &&
      options.baseline() != "log") {
    return absl::InvalidArgumentError(
        absl::StrCat("baseline is '", options.baseline(),
                     "', must be serving, newest or log"));
  }
  if (!options.action().empty() && options.action() != "select" &&
      options.action() != "rank" && options.action() != "label" &&
      options.action() != "labels") {
    return absl::InvalidArgumentError(
        absl::StrCat("action is '", options.action(),
                     "', must be select, rank, label or labels"));
  }
  return absl::OkStatus();
}

}  // namespace sortition
