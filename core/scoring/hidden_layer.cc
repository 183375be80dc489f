#include "core/scoring/hidden_layer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/annotated_range.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

absl::Status CheckSize(absl::string_view field, int size, uint64_t required) {
  if (static_cast<uint64_t>(size) == required) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "hidden_layer.", field, " has ", size, " values, must have ", required));
}

}  // namespace

double StableTanh(double x) {
  constexpr double kSaturated = 20;  // 1 - tanh(20) is below half an ulp of 1.
  const double magnitude = std::abs(x);
  if (magnitude > kSaturated) return x > 0 ? 1 : -1;
  const double below = stable::Expm1(-2 * magnitude);
  return std::copysign(-below / (below + 2), x);
}

absl::StatusOr<HiddenLayer> HiddenLayer::Create(
    const model::v1::HiddenLayer& layer, uint32_t num_inputs) {
  RETURN_IF_ERROR(CheckAnnotatedRanges(layer, "hidden_layer"));
  RETURN_IF_ERROR(CheckSize("weights", layer.weights_size(),
                            uint64_t{layer.num_units()} * num_inputs));
  RETURN_IF_ERROR(CheckSize("biases", layer.biases_size(), layer.num_units()));
  HiddenLayer result;
  result.num_inputs_ = num_inputs;
  result.weights_.assign(layer.weights().begin(), layer.weights().end());
  result.biases_.assign(layer.biases().begin(), layer.biases().end());
  return result;
}

void HiddenLayer::Outputs(const Candidates& inputs,
                          std::span<const uint32_t> documents,
                          std::span<double> outputs) const {
  CHECK(inputs.num_features() == num_inputs_);
  CHECK(outputs.size() == documents.size() * biases_.size());
  const std::span<const double> weights = weights_;
  for (size_t i = 0; i < documents.size(); ++i) {
    for (size_t u = 0; u < biases_.size(); ++u) {
      outputs[i * biases_.size() + u] =
          StableTanh(inputs.Score(documents[i], weights.subspan(u * num_inputs_,
                                                                num_inputs_)) +
                     biases_[u]);
    }
  }
}

}  // namespace sortition
