#include "sidecar/status/target_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/choices/traffic_split.h"

namespace sortition {
namespace {

// Log-propensity of the action under the version that the decision names.
std::optional<double> OwnLogPropensity(const log::v1::Decision& choice) {
  if (choice.has_interleaving()) return std::nullopt;
  if (!choice.has_baseline()) return choice.log_propensity();
  if (!choice.baseline().has_model_log_propensity()) return std::nullopt;
  return choice.baseline().model_log_propensity();
}

double WholeLogPropensity(const log::v1::Decision& choice) {
  return choice.arm().has_mixture_log_propensity()
             ? choice.arm().mixture_log_propensity()
             : choice.log_propensity();
}

// Adds the weight of the other one of two arms.
void AddOtherArm(const log::v1::Decision& choice,
                 std::map<uint64_t, double>* weights) {
  if (!choice.arm().has_mixture_log_propensity() || choice.has_baseline()) {
    return;
  }
  const std::vector<VersionShare> shares =
      SharesOf(choice.arm().split(), choice.arm().primary_version());
  const double q = choice.arm().probability();
  if (shares.size() != 2 || !(q > 0 && q < 1)) return;
  const uint64_t other = shares[0].version == choice.version()
                             ? shares[1].version
                             : shares[0].version;
  // q ρ of the arm that decided and (1 - q) ρ of the other one are 1 together.
  const double own =
      std::exp(choice.log_propensity() - choice.arm().mixture_log_propensity());
  weights->emplace(other, std::max(0.0, (1 - q * own) / (1 - q)));
}

}  // namespace

std::map<uint64_t, double> TargetWeights(const log::v1::BanditTuple& tuple,
                                         const log::v1::Decision& choice) {
  std::map<uint64_t, double> weights;
  const double whole = WholeLogPropensity(choice);
  if (!std::isfinite(whole)) return weights;
  if (const std::optional<double> own = OwnLogPropensity(choice)) {
    weights.emplace(choice.version(), std::exp(*own - whole));
  }
  for (const log::v1::ShadowView& view : tuple.shadow_views()) {
    if (view.model() != choice.model()) continue;
    weights.emplace(view.version(), std::exp(view.log_propensity() - whole));
  }
  AddOtherArm(choice, &weights);
  return weights;
}

}  // namespace sortition
