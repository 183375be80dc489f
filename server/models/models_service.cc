#include "server/models/models_service.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "io/models/serving_edit.h"
#include "io/models/serving_state.h"
#include "process/log.h"

namespace sortition {
namespace {

void FillLoaded(const ServingSet& set, v1::ModelStatus* status) {
  const model::v1::Serving& serving = set.serving;
  for (const auto& [version, model] : set.loaded) {
    v1::LoadedVersion& loaded = *status->add_loaded();
    loaded.set_version(version);
    loaded.set_bytes(model->bytes);
    if (version == set.primary->version) {
      loaded.add_uses(serving.pinned_version() > 0 ? "serves, pinned"
                                                   : "serves");
    }
    for (const auto& arm : serving.split().arms()) {
      if (arm.version() != version) continue;
      loaded.add_uses(absl::StrCat("arm ", PlacesOf(arm)));
    }
    for (const auto& label : serving.labels()) {
      if (label.version() != version) continue;
      loaded.add_uses(absl::StrCat("label ", label.name()));
    }
    if (serving.has_interleave() && serving.interleave().version() == version) {
      loaded.add_uses(
          absl::StrCat("interleaved ", serving.interleave().parts()));
    }
    for (const auto& shadow : serving.shadows()) {
      if (shadow.version() == version) loaded.add_uses("shadow");
    }
  }
}

void FillIgnored(
    const std::vector<IgnoredEntry>& entries,
    google::protobuf::RepeatedPtrField<v1::IgnoredEntry>* ignored) {
  for (const IgnoredEntry& entry : entries) {
    v1::IgnoredEntry* const added = ignored->Add();
    added->set_name(entry.name);
    added->set_reason(entry.reason);
  }
}

void FillVersion(const ModelStore& store, const std::string& model,
                 uint64_t version, v1::StoredVersion* stored) {
  stored->set_version(version);
  const auto provenance = store.LoadProvenance(model, version);
  if (!provenance.ok()) {
    stored->set_error(std::string(provenance.status().message()));
    return;
  }
  stored->set_learner(provenance->learner());
  stored->set_created_time_us(provenance->created_time_us());
  stored->set_parent_version(provenance->parent_version());
  stored->set_comment(provenance->comment());
}

// Tells who asked for what, and what came of it.
void LogChange(const std::string& model, v1::ChangeServingRequest request,
               const std::string& caller, const absl::Status& status) {
  request.clear_model();
  request.clear_reason();
  LogInfo("audit", {{"method", "ChangeServing"},
                    {"caller", caller},
                    {"model", model},
                    {"change", request.ShortDebugString()},
                    {"code", absl::StatusCodeToString(status.code())},
                    {"reason", std::string(status.message())}});
}

absl::Status NoSuchModel(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("model = ", status.message()));
}

}  // namespace

void ModelsService::FillStatus(const ModelState& state,
                               v1::ModelStatus* status) const {
  const ServedModel& serving = *state.set->primary;
  status->set_name(serving.name);
  status->set_version(serving.version);
  status->set_policy(serving.policy_name);
  status->set_num_features(serving.num_features);
  if (serving.schema() != nullptr) {
    *status->mutable_schema() = state.set->RequestSchema();
  }
  status->set_loaded_time_us(serving.loaded_time_us);
  status->set_checksum(serving.checksum);
  for (const auto& [version, reason] : state.rejected) {
    v1::RejectedVersion& rejected = *status->add_rejected();
    rejected.set_version(version);
    rejected.set_reason(reason);
  }
  FillIgnored(state.not_versions, status->mutable_not_versions());
  FillLoaded(*state.set, status);
  *status->mutable_serving() = state.set->serving;
  status->set_serving_error(state.serving_error);
  FillAgreement(*state.set, status);
}

void ModelsService::FillAgreement(const ServingSet& set,
                                  v1::ModelStatus* status) const {
  if (agreement_ == nullptr) return;
  const AgreementSums sums = agreement_->LastHour(
      {set.name, set.primary->version, set.serving.mode()}, NowUs());
  if (sums.asked == 0) return;
  v1::BaselineAgreement& agreement = *status->mutable_agreement();
  agreement.set_decisions(sums.asked);
  agreement.set_propensity(sums.propensity_sum /
                           static_cast<double>(sums.asked));
  if (sums.modes == 0) return;
  agreement.set_mode_agreement(static_cast<double>(sums.agreements) /
                               static_cast<double>(sums.modes));
}

absl::Status ModelsService::ListModels(const v1::ListModelsRequest&,
                                       v1::ListModelsResponse* response) const {
  response->Clear();
  for (const ModelState& state : models_->List()) {
    FillStatus(state, response->add_models());
  }
  FillIgnored(models_->ListNotModels(), response->mutable_not_models());
  return absl::OkStatus();
}

absl::Status ModelsService::DescribeModel(
    const v1::DescribeModelRequest& request,
    v1::DescribeModelResponse* response) const {
  response->Clear();
  const auto set = models_->Find(request.model());
  if (!set.ok()) return NoSuchModel(set.status());
  const std::string& name = (*set)->name;
  for (const ModelState& state : models_->List()) {
    if (state.set->name == name) FillStatus(state, response->mutable_status());
  }
  const ModelStore& store = models_->store();
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(name));
  for (const uint64_t version : versions) {
    FillVersion(store, name, version, response->add_versions());
  }
  ASSIGN_OR_RETURN(const auto history,
                   ServingHistory(absl::StrCat(store.root(), "/", name)));
  for (const model::v1::Serving& state : history) {
    *response->add_history() = state;
  }
  const auto stored = ReadServing(absl::StrCat(store.root(), "/", name));
  if (stored.ok()) {
    response->set_stored_change(stored->change());
  } else if (!history.empty()) {
    response->set_stored_change(history.back().change());
  }
  return absl::OkStatus();
}

absl::Status ModelsService::ChangeServing(
    const v1::ChangeServingRequest& request, const std::string& caller,
    v1::ChangeServingResponse* response) {
  response->Clear();
  const auto set = models_->Find(request.model());
  if (!set.ok()) return NoSuchModel(set.status());
  const std::string name = (*set)->name;
  const auto changed = models_->Change(
      name, {request.reason(), caller},
      [&](const EditContext& context, model::v1::Serving* serving) {
        return EditServing(request, context, serving);
      });
  LogChange(name, request, caller, changed.status());
  if (!changed.ok()) return changed.status();
  *response->mutable_serving() = *changed;
  ASSIGN_OR_RETURN(const auto now, models_->Find(name));
  response->set_version(now->primary->version);
  return absl::OkStatus();
}

absl::Status ModelsService::ReloadModels(const v1::ReloadModelsRequest&,
                                         v1::ReloadModelsResponse* response) {
  response->Clear();
  models_->Refresh();
  return absl::OkStatus();
}

}  // namespace sortition
