#pragma once
// The control plane without its transport: lists models.
#include "absl/status/status.h"
#include "server/models/model_registry.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// Thread-safe.
class ModelsService {
 public:
  // `models` must outlive it.
  explicit ModelsService(const ModelRegistry* models) : models_(models) {}

  absl::Status ListModels(const v1::ListModelsRequest& request,
                          v1::ListModelsResponse* response) const;

 private:
  const ModelRegistry* const models_;
};

}  // namespace sortition
