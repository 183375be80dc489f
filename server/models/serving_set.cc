#include "server/models/serving_set.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"

namespace sortition {
namespace {

bool PlaysFBetaGame(const ServedModel& model) {
  return model.policy.game_subset().measure() == model::v1::GameSubset::F_BETA;
}

// A request that does not say how many candidates to choose is answered by the
// size of its arm. Were that another one than the others', they could never
// have chosen its action, and the record does not say who gave the size.
absl::Status CheckSizes(const ServingSet& set) {
  if (set.has_f_beta_game) return absl::OkStatus();
  const ServingSet::Arm* first = nullptr;
  for (const ServingSet::Arm& arm : set.arms) {
    if (!arm.model->label.has_value()) return absl::OkStatus();
    if (first == nullptr) first = &arm;
    const uint32_t size = arm.model->label->subset_size();
    const uint32_t expected = first->model->label->subset_size();
    if (size == expected) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "split.arms: version ", arm.model->version, " chooses k = ", size,
        " candidates, version ", first->model->version, " k = ", expected,
        " (0: any number): must be the same for all"));
  }
  return absl::OkStatus();
}

void AddArms(ServingSet* set) {
  const model::v1::Split& split = set->serving.split();
  if (split.arms().empty()) return;
  for (const VersionShare& share : SharesOf(split, set->primary->version)) {
    const ServedModel& model = *set->loaded.at(share.version);
    set->arms.push_back(
        {&model, static_cast<double>(share.places) / kSplitPlaces});
    set->has_f_beta_game |= PlaysFBetaGame(model);
  }
}

absl::Status CannotInterleave(const ServedModel& model,
                              const absl::Status& status) {
  return absl::FailedPreconditionError(absl::StrCat(
      "interleave: version ", model.version, ": ", status.message()));
}

// Nothing is interleaved while no version is loaded that could serve, or the
// other version itself serves because it is the newest that loads.
absl::Status AddInterleaved(ServingSet* set) {
  if (!set->serving.has_interleave()) return absl::OkStatus();
  const model::v1::Interleave& interleave = set->serving.interleave();
  const ServedModel& primary = *set->primary;
  const ServedModel& other = *set->loaded.at(interleave.version());
  for (const ServedModel* model : {&other, &primary}) {
    if (model->version == 0) return absl::OkStatus();
    const absl::Status status = ValidateInterleaved(model->policy);
    // What was published last serves alone, rather than not at all.
    const bool is_newest =
        model == &primary && set->serving.pinned_version() == 0;
    if (!status.ok() && is_newest) return absl::OkStatus();
    if (!status.ok()) return CannotInterleave(*model, status);
  }
  if (other.version == primary.version) return absl::OkStatus();
  auto interleaver = Interleaver::Create(interleave.method(),
                                         {&*primary.rank, &primary.policy},
                                         {&*other.rank, &other.policy});
  if (!interleaver.ok()) return CannotInterleave(other, interleaver.status());
  set->interleaved.emplace(ServingSet::Interleaved{
      &other, *std::move(interleaver),
      static_cast<double>(interleave.parts()) / kSplitPlaces});
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

absl::Status AddShadows(ServingSet* set) {
  bool has_primary = false;
  for (const model::v1::ShadowVersion& shadow : set->serving.shadows()) {
    has_primary |= shadow.version() == set->primary->version;
    RETURN_IF_ERROR(AddShadow("shadows.version",
                              set->loaded.at(shadow.version()), shadow.every(),
                              set));
  }
  // The baseline decides, and the version that would serve looks on.
  if (set->serving.mode() != model::v1::SHADOW || has_primary) {
    return absl::OkStatus();
  }
  return AddShadow("mode = SHADOW: version", set->primary, 1, set);
}

// InvalidArgument if no request suits both `model` and a version of the set.
absl::Status CheckSuitsAll(const ServedModel& model, const ServingSet& set) {
  if (model.schema() == nullptr) return absl::OkStatus();
  for (const auto& [version, other] : set.loaded) {
    if (other->schema() == nullptr) continue;  // The uniform policy.
    RETURN_IF_ERROR(CheckColumnTypes(*model.schema(), *other));
  }
  return absl::OkStatus();
}

}  // namespace

const ServingSet::Arm& ServingSet::ArmOf(absl::string_view unit_id,
                                         absl::string_view decision_id) const {
  const model::v1::Split& split = serving.split();
  return arms[ShareAt(split, primary->version,
                      SplitPlace(name, split.salt(), unit_id, decision_id))];
}

const ServingSet::Interleaved* ServingSet::InterleavedFor(
    absl::string_view unit_id, absl::string_view decision_id) const {
  if (!interleaved.has_value()) return nullptr;
  const model::v1::Interleave& interleave = serving.interleave();
  const uint32_t place =
      InterleavingPlace(name, interleave.salt(), unit_id, decision_id);
  return place < interleave.parts() ? &*interleaved : nullptr;
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

model::v1::Schema ServingSet::RequestSchema() const {
  model::v1::Schema merged;
  std::map<std::string, int> places;
  const auto add = [&](const ServedModel& model, bool decides) {
    if (model.schema() == nullptr) return;
    for (const auto& column : model.schema()->declared().column()) {
      const auto [place, is_new] =
          places.emplace(column.name(), merged.column_size());
      model::v1::ColumnSchema& of_set =
          is_new ? *merged.add_column() : *merged.mutable_column(place->second);
      const bool is_required =
          decides &&
          column.if_absent_case() == model::v1::ColumnSchema::IF_ABSENT_NOT_SET;
      if (is_new) of_set = column;
      if (is_required) {
        of_set.clear_if_absent();
      } else if (is_new && !decides) {
        of_set.set_missing(true);
      }
    }
  };
  add(*primary, true);
  for (const Arm& arm : arms) add(*arm.model, true);
  if (interleaved.has_value()) add(*interleaved->other, true);
  for (const auto& [version, model] : loaded) add(*model, false);
  return merged;
}

std::vector<VersionUse> UsesOf(const model::v1::Serving& serving) {
  std::vector<VersionUse> uses;
  std::set<uint64_t> versions;
  const auto add = [&](std::string name, uint64_t version) {
    if (versions.insert(version).second) {
      uses.push_back({std::move(name), version});
    }
  };
  if (serving.pinned_version() > 0) {
    add("pinned_version", serving.pinned_version());
  }
  for (const model::v1::SplitArm& arm : serving.split().arms()) {
    add("split.arms.version", arm.version());
  }
  for (const model::v1::VersionLabel& label : serving.labels()) {
    add(absl::StrCat("label \"", label.name(), "\" of version"),
        label.version());
  }
  if (serving.has_interleave()) {
    add("interleave.version", serving.interleave().version());
  }
  for (const model::v1::ShadowVersion& shadow : serving.shadows()) {
    add("shadows.version", shadow.version());
  }
  return uses;
}

absl::Status CannotServe(const VersionUse& use, const absl::Status& status) {
  return absl::FailedPreconditionError(
      absl::StrCat(use.name, " ", use.version, ": ", status.message()));
}

absl::StatusOr<std::shared_ptr<const ServingSet>> MakeServingSet(
    const std::string& name, const model::v1::Serving& serving,
    const ServingSet::Model& primary, LoadVersion load) {
  auto set = std::make_shared<ServingSet>();
  set->name = name;
  set->serving = serving;
  // The versions of a set are measured against each other.
  set->shape = primary.get();
  const auto add = [&](const ServingSet::Model& model) {
    if (set->loaded.empty() || set->shape->version == 0) {
      set->shape = model.get();
    }
    set->loaded.emplace(model->version, model);
  };
  if (serving.pinned_version() == 0) add(primary);
  for (const VersionUse& use : UsesOf(serving)) {
    if (set->loaded.contains(use.version)) continue;
    const auto model = load(use.version, *set->shape);
    if (!model.ok()) return CannotServe(use, model.status());
    if (const absl::Status suits = CheckSuitsAll(**model, *set); !suits.ok()) {
      return CannotServe(use, suits);
    }
    add(*model);
  }
  set->primary = serving.pinned_version() == 0
                     ? primary
                     : set->loaded.at(serving.pinned_version());
  AddArms(set.get());
  RETURN_IF_ERROR(CheckSizes(*set));
  RETURN_IF_ERROR(AddInterleaved(set.get()));
  RETURN_IF_ERROR(AddShadows(set.get()));
  if (serving.mode() == model::v1::EXPLORE_ABOVE_BASELINE &&
      (set->has_f_beta_game || PlaysFBetaGame(*set->primary))) {
    return absl::FailedPreconditionError(
        "mode = EXPLORE_ABOVE_BASELINE: not for F-score games, whose "
        "propensities depend on time; must be ONLINE, APPRENTICE, SHADOW or "
        "OFF");
  }
  return set;
}

}  // namespace sortition
