#include "io/models/serving_edit.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/models/draw_salt.h"

namespace sortition {
namespace {

using model::v1::Serving;
using v1::ChangeServingRequest;

constexpr size_t kMaxReasonBytes = 1000;
constexpr int kKeptRollbacks = 64;

absl::Status CheckStored(const EditContext& context, absl::string_view field,
                         uint64_t version) {
  if (std::binary_search(context.versions.begin(), context.versions.end(),
                         version)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      field, " = ", version, ": no such version in the store, which has ",
      context.versions.empty() ? "none"
                               : absl::StrCat(context.versions.size(), " from ",
                                              context.versions.front(), " to ",
                                              context.versions.back())));
}

// Returns the version of all places that no arm has.
uint64_t PrimaryVersion(const EditContext& context, const Serving& serving) {
  return serving.pinned_version() > 0 ? serving.pinned_version()
                                      : context.primary_version;
}

bool IsRolledBack(const Serving& serving, uint64_t version) {
  const auto& versions = serving.rolled_back_versions();
  return std::find(versions.begin(), versions.end(), version) != versions.end();
}

void Forgive(uint64_t version, Serving* serving) {
  auto& versions = *serving->mutable_rolled_back_versions();
  versions.erase(std::remove(versions.begin(), versions.end(), version),
                 versions.end());
}

absl::Status Pin(const EditContext& context, absl::string_view field,
                 uint64_t version, Serving* serving) {
  RETURN_IF_ERROR(CheckStored(context, field, version));
  serving->set_pinned_version(version);
  Forgive(version, serving);
  return absl::OkStatus();
}

absl::Status SetLabel(const EditContext& context,
                      const ChangeServingRequest::SetLabel& change,
                      Serving* serving) {
  std::map<std::string, uint64_t> labels;
  for (const auto& label : serving->labels()) {
    labels[label.name()] = label.version();
  }
  if (change.version() > 0) {
    RETURN_IF_ERROR(
        CheckStored(context, "set_label.version", change.version()));
    labels[change.name()] = change.version();
  } else if (labels.erase(change.name()) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("set_label.name = \"", change.name(),
                     "\": no such label, so it cannot be removed"));
  }
  serving->clear_labels();
  for (const auto& [name, version] : labels) {
    model::v1::VersionLabel& label = *serving->add_labels();
    label.set_name(name);
    label.set_version(version);
  }
  return absl::OkStatus();
}

absl::Status SetSplit(const EditContext& context,
                      const ChangeServingRequest::SetSplit& change,
                      Serving* serving) {
  std::map<uint64_t, uint32_t> places;
  for (const ChangeServingRequest::Arm& arm : change.arms()) {
    RETURN_IF_ERROR(
        CheckStored(context, "set_split.arms.version", arm.version()));
    if (arm.parts() < 1 || arm.parts() > kSplitPlaces ||
        !places.emplace(arm.version(), arm.parts()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("set_split.arms of version ", arm.version(),
                       ": parts = ", arm.parts(), ": must be in [1, ",
                       kSplitPlaces, "], once for each version"));
    }
  }
  if (const uint64_t primary = PrimaryVersion(context, *serving);
      places.contains(primary)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "set_split.arms.version = ", primary,
        ": serves already, and would have the rest, too; pin the version that "
        "is to have the rest first"));
  }
  if (const absl::Status status =
          AssignPlaces(places, serving->mutable_split());
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("set_split: ", status.message()));
  }
  if (places.empty()) {
    serving->clear_split();
  } else if (serving->split().salt().empty()) {
    serving->mutable_split()->set_salt(RandomDrawSalt());
  }
  return absl::OkStatus();
}

absl::Status SetShadows(const EditContext& context,
                        const ChangeServingRequest::SetShadows& change,
                        Serving* serving) {
  for (const model::v1::ShadowVersion& shadow : change.shadows()) {
    RETURN_IF_ERROR(
        CheckStored(context, "set_shadows.shadows.version", shadow.version()));
  }
  *serving->mutable_shadows() = change.shadows();
  return absl::OkStatus();
}

absl::Status SetInterleave(const EditContext& context,
                           const ChangeServingRequest::SetInterleave& change,
                           Serving* serving) {
  if (change.parts() == 0) {
    serving->clear_interleave();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(
      CheckStored(context, "set_interleave.version", change.version()));
  if (change.version() == PrimaryVersion(context, *serving)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "set_interleave.version = ", change.version(),
        ": serves already, and would be interleaved with itself; pin the "
        "version that is to serve first"));
  }
  model::v1::Interleave& interleave = *serving->mutable_interleave();
  // Who was in an earlier comparison has no part in the next one for it.
  if (interleave.version() != change.version()) {
    interleave.set_salt(RandomDrawSalt());
  }
  interleave.set_version(change.version());
  interleave.set_method(change.method());
  interleave.set_parts(change.parts());
  return absl::OkStatus();
}

// Returns the version that is one step back.
absl::StatusOr<uint64_t> StepBack(const EditContext& context,
                                  const Serving& serving) {
  const uint64_t primary = PrimaryVersion(context, serving);
  if (serving.split().arms_size() > 0 || serving.has_interleave()) {
    return primary;
  }
  for (auto version = context.versions.rbegin();
       version != context.versions.rend(); ++version) {
    if (*version >= primary || IsRolledBack(serving, *version)) continue;
    if (!context.can_serve || context.can_serve(*version)) return *version;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "rollback: the store has no version before ", primary,
      ", which serves, that loads and that no rollback has left before; name "
      "one with rollback.version"));
}

absl::Status Rollback(const EditContext& context, uint64_t version,
                      Serving* serving) {
  if (version == 0) {
    ASSIGN_OR_RETURN(version, StepBack(context, *serving));
  }
  std::vector<uint64_t> left = {PrimaryVersion(context, *serving)};
  for (const auto& arm : serving->split().arms()) left.push_back(arm.version());
  if (serving->has_interleave()) {
    left.push_back(serving->interleave().version());
  }
  for (const uint64_t version_left : left) {
    Forgive(version_left, serving);
    if (version_left == 0) continue;
    serving->add_rolled_back_versions(version_left);
  }
  auto& versions = *serving->mutable_rolled_back_versions();
  const int excess = versions.size() - kKeptRollbacks;
  if (excess > 0) versions.erase(versions.begin(), versions.begin() + excess);
  serving->clear_split();
  serving->clear_interleave();
  return Pin(context, "rollback.version", version, serving);
}

absl::Status Protect(const EditContext& context,
                     const ChangeServingRequest::Protect& change,
                     Serving* serving) {
  auto& versions = *serving->mutable_protected_versions();
  const auto place =
      std::find(versions.begin(), versions.end(), change.version());
  if (change.off()) {
    if (place == versions.end()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "protect.version = ", change.version(), ": is not protected"));
    }
    versions.erase(place);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckStored(context, "protect.version", change.version()));
  if (place == versions.end()) versions.Add(change.version());
  return absl::OkStatus();
}

}  // namespace

absl::Status EditServing(const ChangeServingRequest& request,
                         const EditContext& context, Serving* serving) {
  if (request.reason().empty() || request.reason().size() > kMaxReasonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("reason has ", request.reason().size(),
                     " bytes: must have 1 to ", kMaxReasonBytes));
  }
  // One line of text: `models describe` prints a line for each change.
  const auto control = std::find_if(
      request.reason().begin(), request.reason().end(),
      [](char c) { return absl::ascii_iscntrl(static_cast<uint8_t>(c)); });
  if (control != request.reason().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "reason has a control character, such as a line break, at byte ",
        control - request.reason().begin(),
        ": must be one line of text; replace it by a space"));
  }
  if (request.has_expected_change() &&
      request.expected_change() != serving->change()) {
    return absl::AbortedError(absl::StrCat(
        "expected_change = ", request.expected_change(),
        ": the state is of change ", serving->change(), "; look at it again"));
  }
  switch (request.change_case()) {
    case ChangeServingRequest::kPin:
      return Pin(context, "pin.version", request.pin().version(), serving);
    case ChangeServingRequest::kUnpin:
      serving->clear_pinned_version();
      return absl::OkStatus();
    case ChangeServingRequest::kSetLabel:
      return SetLabel(context, request.set_label(), serving);
    case ChangeServingRequest::kSetSplit:
      return SetSplit(context, request.set_split(), serving);
    case ChangeServingRequest::kSetShadows:
      return SetShadows(context, request.set_shadows(), serving);
    case ChangeServingRequest::kSetMode:
      serving->set_mode(request.set_mode().mode());
      serving->set_explore_parts(request.set_mode().explore_parts());
      return absl::OkStatus();
    case ChangeServingRequest::kRollback:
      return Rollback(context, request.rollback().version(), serving);
    case ChangeServingRequest::kProtect:
      return Protect(context, request.protect(), serving);
    case ChangeServingRequest::kSetInterleave:
      return SetInterleave(context, request.set_interleave(), serving);
    case ChangeServingRequest::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "change: must be one of pin, unpin, set_label, set_split, "
      "set_interleave, set_shadows, set_mode, rollback and protect");
}

}  // namespace sortition
