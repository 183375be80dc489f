#include "sidecar/status/worths.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sidecar/spools/record_wire.h"
#include "sidecar/status/target_weights.h"

namespace sortition {
namespace {

constexpr char kOther[] = "other";

WorthSums* Make(std::optional<WorthSums>* sums) {
  if (!sums->has_value()) sums->emplace();
  return &**sums;
}

void AddWorth(const std::string& model, const std::string& version,
              const WorthSums& sums, status::v1::Sidecar* sidecar) {
  status::v1::Worth& worth = *sidecar->add_worths();
  worth = sums.Worth();
  worth.set_model(model);
  worth.set_version(version);
}

}  // namespace

Worths::Model* Worths::FindModel(const std::string& name) {
  const auto found = models_.find(name);
  if (found != models_.end()) return &found->second;
  return models_.size() < kMaxModels ? &models_[name] : nullptr;
}

bool Worths::MakePlace(Model* model) {
  auto& versions = model->versions;
  if (versions.size() < kMaxVersions) return true;
  const auto idlest = std::min_element(versions.begin(), versions.end(),
                                       [](const auto& a, const auto& b) {
                                         return a.second.last < b.second.last;
                                       });
  if (model->tuples - idlest->second.last < kIdle) return false;
  Make(&model->other)->Merge(idlest->second.sums);
  versions.erase(idlest);
  return true;
}

WorthSums* Worths::FindSums(uint64_t version, Model* model) {
  auto found = model->versions.find(version);
  if (found == model->versions.end()) {
    if (!MakePlace(model)) return nullptr;
    found = model->versions.try_emplace(version).first;
  }
  found->second.last = model->tuples;
  return &found->second.sums;
}

void Worths::Add(const log::v1::BanditTuple& tuple,
                 absl::string_view decision) {
  if (!ParseChoice(decision, &kept_, &choice_).ok() || choice_.has_seed()) {
    return;
  }
  Model* const model = FindModel(choice_.model());
  if (model == nullptr) {
    Make(&other_)->AddTuple(tuple, choice_);
    return;
  }
  ++model->tuples;
  WorthSums* const decided = FindSums(choice_.version(), model);
  (decided != nullptr ? decided : Make(&model->other))
      ->AddTuple(tuple, choice_);
  TargetWeights(tuple, choice_, &weights_);
  for (const auto& [version, weight] : weights_) {
    WorthSums* const judged = FindSums(version, model);
    if (judged != nullptr) judged->AddWeight(weight);
  }
}

void Worths::Fill(status::v1::Sidecar* sidecar) const {
  for (const auto& [name, model] : models_) {
    for (const auto& [version, of] : model.versions) {
      AddWorth(name, absl::StrCat(version), of.sums, sidecar);
    }
    if (model.other.has_value()) AddWorth(name, kOther, *model.other, sidecar);
  }
  if (other_.has_value()) AddWorth(kOther, kOther, *other_, sidecar);
}

}  // namespace sortition
