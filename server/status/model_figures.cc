#include "server/status/model_figures.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "io/models/look_ledger.h"
#include "io/models/serving_state.h"
#include "process/status/status_text.h"

namespace sortition {
namespace {

void SetEstimate(const model::v1::Estimate& from, status::v1::Estimate* to) {
  to->set_value(from.value());
  to->set_lower(from.lower());
  to->set_upper(from.upper());
  to->set_confidence(from.confidence());
}

void SetEvaluation(const model::v1::Evaluation& evaluation,
                   status::v1::Version* version) {
  version->set_is_evaluated(true);
  version->set_verdict(evaluation.verdict());
  version->set_promoted(evaluation.promoted());
  if (evaluation.has_improvement()) {
    SetEstimate(evaluation.improvement(), version->mutable_improvement());
  }
  version->set_effective_sample_size(evaluation.effective_sample_size());
  version->set_test_tuples(evaluation.test_tuples());
  version->set_look(evaluation.look());
  for (const model::v1::Finding& finding : evaluation.findings()) {
    version->add_findings(finding.sentence());
  }
}

}  // namespace

void ModelFigures::Look(const v1::ModelStatus& model, int64_t steady_us,
                        Stored* stored) {
  const uint64_t change = model.serving().change();
  const bool is_known = stored->look_us != 0 && stored->change == change &&
                        stored->version == model.version();
  if (is_known && steady_us - stored->look_us < kLookUs) return;
  stored->look_us = steady_us;
  stored->change = change;
  stored->version = model.version();
  if (auto versions = store_->ListVersions(model.name()); versions.ok()) {
    stored->versions.assign(versions->rbegin(), versions->rend());
  }
  const std::string dir = absl::StrCat(store_->root(), "/", model.name());
  if (const auto history = ServingHistory(dir); history.ok()) {
    const size_t size = std::min(history->size(), kMostChanges);
    stored->history.assign(history->rbegin(),
                           history->rbegin() + static_cast<ptrdiff_t>(size));
  }
  const auto next =
      LookLedger(store_->root(), model.name()).NextNumber(model.version());
  stored->looks = next.ok() ? *next - 1 : 0;
}

status::v1::Version ModelFigures::ReadVersion(const std::string& model,
                                              uint64_t version,
                                              Stored* stored) const {
  const auto found = stored->read.find(version);
  if (found != stored->read.end()) return found->second;
  status::v1::Version figures;
  figures.set_version(version);
  const auto provenance = store_->LoadProvenance(model, version);
  if (!provenance.ok()) {
    figures.set_error(Utf8Text(provenance.status().message()));
    return figures;
  }
  figures.set_learner(provenance->learner());
  figures.set_created_time_us(provenance->created_time_us());
  figures.set_parent_version(provenance->parent_version());
  figures.set_comment(provenance->comment());
  if (const auto evaluation = store_->LoadEvaluation(model, version);
      evaluation.ok()) {
    SetEvaluation(*evaluation, &figures);
  }
  stored->read.emplace(version, figures);
  return figures;
}

void ModelFigures::AddVersions(const v1::ModelStatus& model, Stored* stored,
                               status::v1::Model* figures) const {
  std::set<uint64_t, std::greater<>> shown(
      stored->versions.begin(),
      stored->versions.begin() + static_cast<ptrdiff_t>(std::min(
                                     stored->versions.size(), kMostVersions)));
  // 0 is the uniform policy, which is in no store.
  for (const v1::LoadedVersion& loaded : model.loaded()) {
    if (loaded.version() != 0) shown.insert(loaded.version());
  }
  std::erase_if(stored->read, [&shown](const auto& version) {
    return !shown.contains(version.first);
  });
  for (const uint64_t version : shown) {
    status::v1::Version& added = *figures->add_versions();
    added = ReadVersion(model.name(), version, stored);
    for (const v1::LoadedVersion& loaded : model.loaded()) {
      if (loaded.version() != version) continue;
      added.set_is_loaded(true);
      added.set_bytes(loaded.bytes());
      *added.mutable_uses() = loaded.uses();
    }
    for (const v1::RejectedVersion& rejected : model.rejected()) {
      if (rejected.version() != version) continue;
      added.set_error(Utf8Text(rejected.reason()));
    }
  }
}

void ModelFigures::Add(int64_t steady_us, status::v1::Server* server) {
  v1::ListModelsResponse list;
  if (!models_->ListModels({}, &list).ok()) return;
  std::set<std::string> names;
  for (const v1::ModelStatus& model : list.models()) {
    if (server->models_size() >= kMostModels) break;
    names.insert(model.name());
    Stored& stored = stored_[model.name()];
    Look(model, steady_us, &stored);
    status::v1::Model& figures = *server->add_models();
    figures.set_name(model.name());
    figures.set_version(model.version());
    figures.set_policy(model.policy());
    *figures.mutable_serving() = model.serving();
    figures.set_serving_error(Utf8Text(model.serving_error()));
    figures.set_looks(stored.looks);
    AddVersions(model, &stored, &figures);
    figures.mutable_history()->Assign(stored.history.begin(),
                                      stored.history.end());
  }
  std::erase_if(stored_, [&names](const auto& model) {
    return !names.contains(model.first);
  });
}

}  // namespace sortition
