#pragma once
// A model that selects, for tests of the store.
#include <cstdint>
#include <vector>

#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Model "ads" with these weights.
inline model::v1::Model SelectionModel(const std::vector<double>& weights = {
                                           1}) {
  model::v1::Model model;
  model.set_name("ads");
  model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(-1);
  model.mutable_policy()->set_inverse_temperature(2);
  model.mutable_policy()->set_uniform_mixture(0.1);
  model.set_num_features(static_cast<uint32_t>(weights.size()));
  model.mutable_weights()->Add(weights.begin(), weights.end());
  return model;
}

}  // namespace sortition
