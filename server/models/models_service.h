#pragma once
// The control plane without its transport: lists, describes and changes what
// serves.
#include <string>

#include "absl/status/status.h"
#include "server/models/model_registry.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// Thread-safe.
class ModelsService {
 public:
  // `models` must outlive it.
  explicit ModelsService(ModelRegistry* models) : models_(models) {}

  absl::Status ListModels(const v1::ListModelsRequest& request,
                          v1::ListModelsResponse* response) const;
  absl::Status DescribeModel(const v1::DescribeModelRequest& request,
                             v1::DescribeModelResponse* response) const;
  // `caller` is kept with the change. May wait for the load of a version.
  absl::Status ChangeServing(const v1::ChangeServingRequest& request,
                             const std::string& caller,
                             v1::ChangeServingResponse* response);
  absl::Status ReloadModels(const v1::ReloadModelsRequest& request,
                            v1::ReloadModelsResponse* response);

 private:
  ModelRegistry* const models_;
};

}  // namespace sortition
