#include "core/counterfactual/loss_model.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace sortition {

absl::Status ValidateLossModelFit(const LossModelFit& fit) {
  if (!(fit.l2 > 0 && std::isfinite(fit.l2))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "loss_model_l2 is ", fit.l2, ", must be finite and positive"));
  }
  if (fit.folds == 0) {
    return absl::InvalidArgumentError(
        "loss_model_folds is 0, must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace sortition
