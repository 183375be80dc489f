#pragma once
// The control plane without its transport: lists, describes and changes what
// serves.
#include <string>

#include "absl/status/status.h"
#include "server/models/baseline_agreement.h"
#include "server/models/model_registry.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// Thread-safe.
class ModelsService {
 public:
  // Both must outlive it. `agreement` null: it is not told.
  explicit ModelsService(ModelRegistry* models,
                         const BaselineAgreement* agreement = nullptr)
      : models_(models), agreement_(agreement) {}

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
  void FillStatus(const ModelState& state, v1::ModelStatus* status) const;
  void FillAgreement(const ServingSet& set, v1::ModelStatus* status) const;

  ModelRegistry* const models_;
  const BaselineAgreement* const agreement_;
};

}  // namespace sortition
