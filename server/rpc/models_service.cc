#include "server/rpc/models_service.h"

namespace sortition {
namespace {

void FillStatus(const ModelState& state, v1::ModelStatus* status) {
  const ServedModel& serving = *state.serving;
  status->set_name(serving.name);
  status->set_version(serving.version);
  status->set_policy(serving.policy_name);
  status->set_num_features(serving.num_features);
  status->set_loaded_time_us(serving.loaded_time_us);
  status->set_checksum(serving.checksum);
  for (const auto& [version, reason] : state.rejected) {
    v1::RejectedVersion& rejected = *status->add_rejected();
    rejected.set_version(version);
    rejected.set_reason(reason);
  }
}

}  // namespace

absl::Status ModelsService::ListModels(const v1::ListModelsRequest&,
                                       v1::ListModelsResponse* response) const {
  response->Clear();
  for (const ModelState& state : models_->List()) {
    FillStatus(state, response->add_models());
  }
  return absl::OkStatus();
}

}  // namespace sortition
