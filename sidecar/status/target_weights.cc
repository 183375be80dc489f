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

// What is known of a version first counts.
void Add(uint64_t version, double weight, VersionWeights* weights) {
  for (const auto& known : *weights) {
    if (known.first == version) return;
  }
  weights->emplace_back(version, weight);
}

// Adds the weight of the other one of two arms.
void AddOtherArm(const log::v1::Decision& choice, VersionWeights* weights) {
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
  Add(other, std::max(0.0, (1 - q * own) / (1 - q)), weights);
}

}  // namespace

void TargetWeights(const log::v1::BanditTuple& tuple,
                   const log::v1::Decision& choice, VersionWeights* weights) {
  weights->clear();
  const double whole = WholeLogPropensity(choice);
  if (!std::isfinite(whole)) return;
  if (const std::optional<double> own = OwnLogPropensity(choice)) {
    Add(choice.version(), std::exp(*own - whole), weights);
  }
  for (const log::v1::ShadowView& view : tuple.shadow_views()) {
    if (view.model() != choice.model()) continue;
    Add(view.version(), std::exp(view.log_propensity() - whole), weights);
  }
  AddOtherArm(choice, weights);
}

}  // namespace sortition
