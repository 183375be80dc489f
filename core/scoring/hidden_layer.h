#pragma once
// A layer of units between inputs and weights: h = tanh(V x + c).
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// tanh with the same bits on every machine; its relative error is below 1e-15.
double StableTanh(double x);

// Immutable, thread-safe. Outputs have the same bits on every machine.
class HiddenLayer {
 public:
  // InvalidArgument, naming the field, where a number is out of its range or
  // there are not as many as the units and inputs need.
  static absl::StatusOr<HiddenLayer> Create(const model::v1::HiddenLayer& layer,
                                            uint32_t num_inputs);

  uint32_t num_units() const { return static_cast<uint32_t>(biases_.size()); }

  // Writes outputs[i * num_units() + u], that of unit u for the i-th document.
  // Requires the inputs that Create() was told.
  void Outputs(const Candidates& inputs, std::span<const uint32_t> documents,
               std::span<double> outputs) const;

 private:
  HiddenLayer() = default;

  uint32_t num_inputs_ = 0;
  std::vector<double> weights_;  // num_units() × num_inputs_ by rows.
  std::vector<double> biases_;
};

}  // namespace sortition
