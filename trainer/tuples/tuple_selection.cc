#include "trainer/tuples/tuple_selection.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "process/command.h"
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

// Returns why no tuple gives the time from which an age counts back: the error
// `cause`, and what was found.
absl::Status NothingToCountFrom(const config::v1::TrainOptions& options,
                                const TupleCounts& found,
                                const absl::Status& cause) {
  std::string counts = found.DescribeExclusions();
  const uint64_t timeless = found.read_tuples - found.excluded_tuples();
  if (timeless > 0) {
    absl::StrAppend(&counts, ", ", timeless, " without a time before now");
  }
  return NotYetError(absl::StrCat(
      "no tuple of model '", options.model(), "' in ", options.tuples(),
      " can be used (", counts, "; ",
      TimesText(options.since(), options.until()), "): ", cause.message()));
}

}  // namespace

absl::StatusOr<TupleSelection> TupleSelection::Parse(
    const config::v1::TrainOptions& options) {
  TupleSelection selection(options);
  ASSIGN_OR_RETURN(selection.versions_, ParseVersions(options.versions()));
  selection.by_time_ = options.parts() == "time";
  if (!selection.by_time_ && options.parts() != "unit_hash") {
    return absl::InvalidArgumentError(absl::StrCat(
        "parts is '", options.parts(), "', must be unit_hash or time"));
  }
  if (!options.decay().empty()) {
    ASSIGN_OR_RETURN(selection.half_life_us_,
                     ParseAge("decay", options.decay()));
  }
  return selection;
}

absl::Status TupleSelection::Validate(const config::v1::TrainOptions& options) {
  RETURN_IF_ERROR(Parse(options).status());
  return ValidateTimes(options.since(), options.until());
}

absl::StatusOr<TupleSelection> TupleSelection::Create(
    const config::v1::TrainOptions& options, const TupleLog& log) {
  ASSIGN_OR_RETURN(TupleSelection selection, Parse(options));
  NewestTime newest;
  TupleCounts found;
  if (IsAge(options.since()) || IsAge(options.until())) {
    RETURN_IF_ERROR(HasTuple(log, [&](const log::v1::BanditTuple& tuple) {
                      ++found.read_tuples;
                      const auto reason =
                          selection.ReasonToSkip(tuple.decision());
                      if (reason.has_value()) {
                        found.LeaveOut(*reason);
                      } else {
                        newest.Add(tuple.decision().time_us());
                      }
                      return false;
                    }).status());
  }
  const absl::StatusOr<TimeRange> times =
      ParseTimeRange(options.since(), options.until(), newest.us());
  if (absl::IsFailedPrecondition(times.status())) {
    return NothingToCountFrom(options, found, times.status());
  }
  RETURN_IF_ERROR(times.status());
  selection.times_ = *times;
  return selection;
}

std::optional<LeftOutReason> TupleSelection::ReasonToSkip(
    const log::v1::Decision& decision) const {
  if (decision.model() != options_->model()) return LeftOutReason::kOtherModel;
  if (!versions_.empty() && !versions_.contains(decision.version())) {
    return LeftOutReason::kOtherVersion;
  }
  if (!times_.Contains(decision.time_us())) return LeftOutReason::kOtherTime;
  return std::nullopt;
}

double TupleSelection::RecencyOf(int64_t age_us) const {
  if (!half_life_us_.has_value()) return 1;
  // Decisions without a time would be infinitely old.
  constexpr double kLeast = 1e-9;
  if (age_us <= 0) return 1;
  return std::max(kLeast, std::exp2(-static_cast<double>(age_us) /
                                    static_cast<double>(*half_life_us_)));
}

Part TupleSelection::PartOf(double hash) const {
  if (hash < options_->test_fraction()) return Part::kTest;
  return hash < options_->test_fraction() + options_->validation_fraction()
             ? Part::kValidation
             : Part::kTrain;
}

Part TupleSelection::JudgingPartOf(double hash) const {
  return hash * judged_share() < options_->test_fraction() ? Part::kTest
                                                           : Part::kValidation;
}

absl::StatusOr<bool> HasMoreThanAggregations(const TupleLog& log,
                                             const TupleSelection& selection) {
  return HasTuple(log, [&](const log::v1::BanditTuple& logged) {
    const log::v1::Decision& decision = logged.decision();
    return !decision.has_aggregation() && !selection.ReasonToSkip(decision);
  });
}

void PartSizes::Add(Part part) {
  ++(part == Part::kTrain        ? train
     : part == Part::kValidation ? validation
                                 : test);
}

void KeptShare::Halve(absl::string_view warning) {
  fraction_ /= 2;
  LogWarning(warning,
             {{"memory_mb", memory_mb_}, {"kept_fraction", fraction_}});
}

}  // namespace sortition
