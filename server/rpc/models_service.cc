#include "server/rpc/models_service.h"

#include <utility>

namespace sortition {

absl::Status ModelsService::ListModels(const v1::ListModelsRequest&,
                                       v1::ListModelsResponse* response) const {
  response->Clear();
  for (v1::ModelStatus& status : models_->List()) {
    *response->add_models() = std::move(status);
  }
  return absl::OkStatus();
}

}  // namespace sortition
