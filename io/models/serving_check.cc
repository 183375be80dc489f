// What a state of serving may say, and which versions it names.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "google/protobuf/stubs/common.h"
#include "io/models/draw_salt.h"
#include "io/models/model_store.h"
#include "io/models/serving_state.h"

namespace sortition {
namespace {

using model::v1::Interleave;
using model::v1::Serving;

constexpr int kMostNamed = 64;  // Labels, arms or shadows.
constexpr int kMostProtected = 10'000;
constexpr uint64_t kLargestChange = uint64_t{1} << 62;

absl::Status CheckVersion(absl::string_view field, uint64_t version) {
  if (version > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " = 0: must be the number of a version"));
}

absl::Status CheckCount(absl::string_view field, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " has ", count, " entries, must have at most ", most));
}

absl::Status CheckCounts(const Serving& serving) {
  RETURN_IF_ERROR(CheckCount("labels", serving.labels_size(), kMostNamed));
  RETURN_IF_ERROR(
      CheckCount("split.arms", serving.split().arms_size(), kMostNamed));
  RETURN_IF_ERROR(CheckCount("shadows", serving.shadows_size(), kMostNamed));
  RETURN_IF_ERROR(CheckCount(
      "protected_versions", serving.protected_versions_size(), kMostProtected));
  return CheckCount("rolled_back_versions", serving.rolled_back_versions_size(),
                    kMostNamed);
}

// The parser of text takes any bytes. Answers with others could not be read.
absl::Status CheckText(absl::string_view field, absl::string_view text) {
  if (google::protobuf::internal::IsStructurallyValidUTF8(
          text.data(), static_cast<int>(text.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is not text: must be UTF-8"));
}

absl::Status CheckLabels(const Serving& serving) {
  std::set<std::string> labels;
  for (const model::v1::VersionLabel& label : serving.labels()) {
    if (!ValidateModelName(label.name()).ok() ||
        !labels.insert(label.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "labels.name = \"", label.name(),
          "\": must be 1 to 64 letters, digits, '_', '-' or '.', not '.' "
          "first, and stand there once"));
    }
    RETURN_IF_ERROR(CheckVersion("labels.version", label.version()));
  }
  return absl::OkStatus();
}

absl::Status CheckSalt(absl::string_view field, absl::string_view salt) {
  if (ValidateDrawSalt(salt).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", salt.size(),
                   " characters: must have 32 digits of 0-9 and a-f"));
}

absl::Status CheckShadows(const Serving& serving) {
  std::set<uint64_t> shadows;
  for (const model::v1::ShadowVersion& shadow : serving.shadows()) {
    RETURN_IF_ERROR(CheckVersion("shadows.version", shadow.version()));
    if (shadow.every() == 0 || !shadows.insert(shadow.version()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shadows of version ", shadow.version(), ": every = ", shadow.every(),
          ": must be at least 1, once for each version"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMode(const Serving& serving) {
  if (!model::v1::LearningMode_IsValid(serving.mode())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode = ", static_cast<int>(serving.mode()),
        ": must be ONLINE, APPRENTICE, EXPLORE_ABOVE_BASELINE, SHADOW or OFF"));
  }
  const bool explores = serving.mode() == model::v1::EXPLORE_ABOVE_BASELINE;
  if (explores ? serving.explore_parts() < 1 ||
                     serving.explore_parts() > kSplitPlaces
               : serving.explore_parts() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "explore_parts = ", serving.explore_parts(), ": must be in [1, ",
        kSplitPlaces, "] with EXPLORE_ABOVE_BASELINE, and unset otherwise"));
  }
  if (serving.mode() != model::v1::ONLINE && serving.split().arms_size() > 0 &&
      !explores && serving.mode() != model::v1::APPRENTICE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode = ", model::v1::LearningMode_Name(serving.mode()),
        ": the baseline decides alone, so there must be no split"));
  }
  return absl::OkStatus();
}

// Returns an error about what cannot stand beside `interleave`.
absl::Status NotBesideInterleave(absl::string_view other,
                                 absl::string_view must) {
  return absl::InvalidArgumentError(absl::StrCat(
      "interleave beside ", other, ": ", must,
      ", or nothing interleaved (sortition models interleave none)"));
}

absl::Status CheckInterleave(const Serving& serving) {
  if (!serving.has_interleave()) return absl::OkStatus();
  const Interleave& interleave = serving.interleave();
  RETURN_IF_ERROR(CheckVersion("interleave.version", interleave.version()));
  if (interleave.method() != Interleave::TEAM_DRAFT &&
      interleave.method() != Interleave::PROBABILISTIC) {
    return absl::InvalidArgumentError(absl::StrCat(
        "interleave.method = ", static_cast<int>(interleave.method()),
        ": must be TEAM_DRAFT or PROBABILISTIC"));
  }
  if (interleave.parts() < 1 || interleave.parts() > kSplitPlaces) {
    return absl::InvalidArgumentError(
        absl::StrCat("interleave.parts = ", interleave.parts(),
                     ": must be in [1, ", kSplitPlaces, "]"));
  }
  if (interleave.salt().empty()) {
    return absl::InvalidArgumentError(
        "interleave.salt is empty, must be 32 hexadecimal digits");
  }
  RETURN_IF_ERROR(CheckSalt("interleave.salt", interleave.salt()));
  if (serving.pinned_version() == interleave.version()) {
    return NotBesideInterleave(
        absl::StrCat("pinned_version = ", serving.pinned_version()),
        "no version is interleaved with itself; must be another one");
  }
  if (serving.split().arms_size() > 0) {
    return NotBesideInterleave("split.arms", "must be no split");
  }
  if (serving.mode() != model::v1::ONLINE) {
    return NotBesideInterleave(
        absl::StrCat("mode = ", model::v1::LearningMode_Name(serving.mode())),
        "the caller's baseline has a part; mode must be ONLINE");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateServing(const Serving& serving) {
  RETURN_IF_ERROR(CheckCounts(serving));
  for (const uint64_t version : serving.protected_versions()) {
    RETURN_IF_ERROR(CheckVersion("protected_versions", version));
  }
  if (serving.change() > kLargestChange) {
    return absl::InvalidArgumentError(absl::StrCat(
        "change = ", serving.change(), ": must be at most ", kLargestChange));
  }
  RETURN_IF_ERROR(CheckText("time", serving.time()));
  RETURN_IF_ERROR(CheckText("reason", serving.reason()));
  RETURN_IF_ERROR(CheckText("caller", serving.caller()));
  RETURN_IF_ERROR(CheckLabels(serving));
  RETURN_IF_ERROR(ValidateSplit(serving.split()));
  RETURN_IF_ERROR(CheckSalt("split.salt", serving.split().salt()));
  RETURN_IF_ERROR(CheckShadows(serving));
  RETURN_IF_ERROR(CheckMode(serving));
  return CheckInterleave(serving);
}

std::vector<uint64_t> NamedVersions(const Serving& serving) {
  std::set<uint64_t> versions;
  if (serving.pinned_version() > 0) versions.insert(serving.pinned_version());
  for (const auto& label : serving.labels()) versions.insert(label.version());
  for (const auto& arm : serving.split().arms()) versions.insert(arm.version());
  for (const auto& shadow : serving.shadows()) {
    versions.insert(shadow.version());
  }
  if (serving.has_interleave()) versions.insert(serving.interleave().version());
  return {versions.begin(), versions.end()};
}

}  // namespace sortition
