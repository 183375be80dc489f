#include "server/status/model_figures.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "io/models/look_ledger.h"
#include "process/status/status_text.h"
#include "server/status/training_figures.h"

namespace sortition {
namespace {

bool Decides(const v1::LoadedVersion& loaded) {
  return std::any_of(
      loaded.uses().begin(), loaded.uses().end(), [](const std::string& use) {
        return absl::StartsWith(use, "serves") || absl::StartsWith(use, "arm ");
      });
}

// The status can be read without a token. Salts are left out, because a caller
// who knows one can choose a unit for the arm that it leads to.
void SetServing(const model::v1::Serving& from, model::v1::Serving* to) {
  *to = from;
  if (to->has_split()) to->mutable_split()->clear_salt();
  if (to->has_interleave()) to->mutable_interleave()->clear_salt();
  to->set_time(ShownText(from.time()));
  to->set_reason(ShownText(from.reason()));
  to->set_caller(ShownText(from.caller()));
}

// Sets what the registry says of a version.
void SetState(const v1::ModelStatus& model, status::v1::Version* figures) {
  for (const v1::LoadedVersion& loaded : model.loaded()) {
    if (loaded.version() != figures->version()) continue;
    figures->set_is_loaded(true);
    figures->set_bytes(loaded.bytes());
    *figures->mutable_uses() = loaded.uses();
  }
  for (const v1::RejectedVersion& rejected : model.rejected()) {
    if (rejected.version() != figures->version()) continue;
    figures->set_error(ShownText(rejected.reason()));
  }
}

}  // namespace

std::vector<const v1::ModelStatus*> ShownModels(
    const v1::ListModelsResponse& list, const SamplesByModel& samples) {
  std::vector<std::pair<double, const v1::ModelStatus*>> models;
  for (const v1::ModelStatus& model : list.models()) {
    const auto found = samples.find(model.name());
    models.emplace_back(found == samples.end() ? 0 : found->second.decisions,
                        &model);
  }
  // Models of equal traffic stay in the order of their names.
  std::stable_sort(
      models.begin(), models.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  models.resize(std::min(models.size(), kMostModels));
  std::vector<const v1::ModelStatus*> shown;
  for (const auto& [decisions, model] : models) shown.push_back(model);
  return shown;
}

WantedModel WantedOf(const v1::ModelStatus& model) {
  WantedModel wanted = {.name = model.name(),
                        .change = model.serving().change(),
                        .version = model.version(),
                        .loaded = {},
                        .decides = {}};
  for (const v1::LoadedVersion& loaded : model.loaded()) {
    wanted.loaded.push_back(loaded.version());
    if (Decides(loaded)) wanted.decides.push_back(loaded.version());
  }
  return wanted;
}

void SetModel(const v1::ModelStatus& model, const StoredFigures* stored,
              status::v1::Model* figures) {
  figures->set_name(model.name());
  figures->set_version(model.version());
  figures->set_policy(model.policy());
  SetServing(model.serving(), figures->mutable_serving());
  figures->set_serving_error(ShownText(model.serving_error()));
  if (stored == nullptr) return;
  figures->set_looks(stored->looks);
  figures->set_error_budget_left(ShareLeftAfter(stored->looks));
  figures->set_further_versions(stored->further_versions);
  for (const status::v1::Version& version : stored->versions) {
    status::v1::Version& added = *figures->add_versions();
    added = version;
    SetState(model, &added);
  }
  for (const model::v1::Serving& change : stored->history) {
    SetServing(change, figures->add_history());
  }
  SetRuns(stored->runs, figures->mutable_runs());
  SetRuns(stored->earlier_runs, figures->mutable_earlier_runs());
}

}  // namespace sortition
