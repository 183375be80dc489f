#include "server/models/serving_set.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/traffic_split.h"

namespace sortition {
namespace {

bool PlaysFBetaGame(const ServedModel& model) {
  return model.policy.game_subset().measure() == model::v1::GameSubset::F_BETA;
}

// Loads what a set needs.
class Loading {
 public:
  Loading(ServingSet* set, const ServedModel& beside, LoadVersion load)
      : set_(*set), beside_(&beside), load_(load) {}

  absl::StatusOr<ServingSet::Model> Take(absl::string_view use,
                                         uint64_t version) {
    const auto known = set_.loaded.find(version);
    if (known != set_.loaded.end()) return known->second;
    auto model = load_(version, *beside_);
    if (!model.ok()) {
      return absl::Status(
          model.status().code(),
          absl::StrCat(use, " ", version, ": ", model.status().message()));
    }
    Add(*model);
    return model;
  }

  // The versions of a set are measured against each other.
  void Add(const ServingSet::Model& model) {
    if (set_.loaded.empty()) beside_ = model.get();
    set_.loaded.emplace(model->version, model);
  }

 private:
  ServingSet& set_;
  const ServedModel* beside_;
  LoadVersion load_;
};

absl::Status AddArms(Loading* loading, ServingSet* set) {
  const model::v1::Split& split = set->serving.split();
  if (split.arms().empty()) return absl::OkStatus();
  const auto add = [set](const ServingSet::Model& model, uint32_t places) {
    set->arms.push_back(
        {model.get(), static_cast<double>(places) / kSplitPlaces});
    set->has_f_beta_game |= PlaysFBetaGame(*model);
  };
  for (const model::v1::SplitArm& arm : split.arms()) {
    ASSIGN_OR_RETURN(const ServingSet::Model model,
                     loading->Take("split.arms.version", arm.version()));
    add(model, PlacesOf(arm));
  }
  if (const uint32_t free = FreePlaces(split); free > 0) {
    add(set->primary, free);
  }
  return absl::OkStatus();
}

absl::Status AddShadow(absl::string_view use, ServingSet::Model model,
                       uint32_t every, ServingSet* set) {
  if (PlaysFBetaGame(*model)) {
    return absl::FailedPreconditionError(absl::StrCat(
        use, " ", model->version,
        ": plays an F-score game, whose propensities depend on time; a version "
        "that looks on must not"));
  }
  set->shadows.push_back({std::move(model), every});
  return absl::OkStatus();
}

absl::Status AddShadows(Loading* loading, ServingSet* set) {
  bool has_primary = false;
  for (const model::v1::ShadowVersion& shadow : set->serving.shadows()) {
    ASSIGN_OR_RETURN(ServingSet::Model model,
                     loading->Take("shadows.version", shadow.version()));
    has_primary |= model->version == set->primary->version;
    RETURN_IF_ERROR(
        AddShadow("shadows.version", std::move(model), shadow.every(), set));
  }
  // The baseline decides, and the version that would serve looks on.
  if (set->serving.mode() != model::v1::SHADOW || has_primary) {
    return absl::OkStatus();
  }
  return AddShadow("mode = SHADOW: version", set->primary, 1, set);
}

}  // namespace

const ServingSet::Arm& ServingSet::ArmOf(absl::string_view unit_id,
                                         absl::string_view decision_id) const {
  const model::v1::Split& split = serving.split();
  const int arm =
      ArmAt(split, SplitPlace(name, split.salt(), unit_id, decision_id));
  return arm < 0 ? arms.back() : arms[static_cast<size_t>(arm)];
}

const ServedModel* ServingSet::FindVersion(uint64_t version) const {
  const auto found = loaded.find(version);
  return found == loaded.end() ? nullptr : found->second.get();
}

const ServedModel* ServingSet::FindLabel(absl::string_view label) const {
  for (const model::v1::VersionLabel& known : serving.labels()) {
    if (known.name() == label) return FindVersion(known.version());
  }
  return nullptr;
}

uint64_t ServingSet::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [version, model] : loaded) bytes += model->bytes;
  return bytes;
}

absl::StatusOr<std::shared_ptr<const ServingSet>> MakeServingSet(
    const std::string& name, const model::v1::Serving& serving,
    const ServingSet::Model& primary, LoadVersion load) {
  auto set = std::make_shared<ServingSet>();
  set->name = name;
  set->serving = serving;
  Loading loading(set.get(), *primary, load);
  if (serving.pinned_version() == 0) {
    set->primary = primary;
    loading.Add(primary);
  } else {
    ASSIGN_OR_RETURN(set->primary,
                     loading.Take("pinned_version", serving.pinned_version()));
  }
  RETURN_IF_ERROR(AddArms(&loading, set.get()));
  for (const model::v1::VersionLabel& label : serving.labels()) {
    RETURN_IF_ERROR(
        loading
            .Take(absl::StrCat("label \"", label.name(), "\" of version"),
                  label.version())
            .status());
  }
  RETURN_IF_ERROR(AddShadows(&loading, set.get()));
  if (serving.mode() == model::v1::EXPLORE_ABOVE_BASELINE &&
      (set->has_f_beta_game || PlaysFBetaGame(*set->primary))) {
    return absl::FailedPreconditionError(
        "mode = EXPLORE_ABOVE_BASELINE: not for F-score games, whose "
        "propensities depend on time");
  }
  return set;
}

}  // namespace sortition
