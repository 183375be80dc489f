#include "trainer/tuples/tuple_selection.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "process/log.h"

namespace sortition {
namespace {

// Parses TrainOptions.versions.
absl::StatusOr<std::set<uint64_t>> ParseVersions(const std::string& text) {
  std::set<uint64_t> versions;
  if (text.empty()) return versions;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    uint64_t version = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(part), &version)) {
      return absl::InvalidArgumentError(
          absl::StrCat("versions is '", text,
                       "', must be whole numbers separated by commas"));
    }
    versions.insert(version);
  }
  return versions;
}

}  // namespace

absl::StatusOr<TupleSelection> TupleSelection::Create(
    const config::v1::TrainOptions& options) {
  ASSIGN_OR_RETURN(auto versions, ParseVersions(options.versions()));
  return TupleSelection(options, std::move(versions));
}

std::optional<LeftOutReason> TupleSelection::ReasonToSkip(
    const log::v1::Decision& decision) const {
  if (decision.model() != options_->model()) return LeftOutReason::kOtherModel;
  if (!versions_.empty() && !versions_.contains(decision.version())) {
    return LeftOutReason::kOtherVersion;
  }
  return std::nullopt;
}

Part TupleSelection::PartOf(double hash) const {
  if (hash < options_->test_fraction()) return Part::kTest;
  return hash < options_->test_fraction() + options_->validation_fraction()
             ? Part::kValidation
             : Part::kTrain;
}

void PartSizes::Add(Part part) {
  ++(part == Part::kTrain        ? train
     : part == Part::kValidation ? validation
                                 : test);
}

void KeptShare::Halve(absl::string_view warning) {
  fraction_ /= 2;
  LogWarning(warning, {{"memory_mb", absl::StrCat(memory_mb_)},
                       {"kept_fraction", absl::StrCat(fraction_)}});
}

}  // namespace sortition
