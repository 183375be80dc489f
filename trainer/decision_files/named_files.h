#pragma once
// Options of the form NAME=FILE and NAME:NUMBER.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace sortition {

// Returns all entries, each of which may be several, separated by commas.
std::vector<std::string> SplitEntries(
    const google::protobuf::RepeatedPtrField<std::string>& entries);

// The terms that may follow the file of an entry.
inline constexpr char kPeriodTerms[] =
    "@horizon=AGE, @from=TIME, @through=TIME or @sparse";

// The decisions whose outcomes a file has.
struct OutcomePeriod {
  // Longest time between a decision and its outcome.
  int64_t horizon_us = 0;
  // The file has the outcomes of decisions made from this time on; unset: of
  // all decisions.
  std::optional<int64_t> from_us = {};
  // The file has all outcomes up to this time; unset: the file declares the
  // time.
  std::optional<int64_t> through_us = {};
  // True: decisions without a row had the outcome 0, as in a list of
  // complaints. False: every decision has a row.
  bool is_sparse = false;
};

struct NamedFile {
  std::string name;
  std::string path = {};
  OutcomePeriod period = {};
};

// Parses entries such as "clicks=clicks.csv@horizon=7d". Terms follow the file,
// each after an '@': horizon=AGE (required), from=TIME, through=TIME, sparse.
// The path ends before the first term, so it may contain '@'. InvalidArgument,
// naming `option` and the entry, if name, file or horizon are missing, if a
// term after the first one is unknown, if a term is repeated, or if a name is
// repeated or has characters other than letters, digits, '_', '-' and '.'.
absl::StatusOr<std::vector<NamedFile>> ParseNamedFiles(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries);

// How much a reward may fall.
struct NamedLimit {
  std::string name;
  double allowed = 0;  // At least 0, in units of the reward.
};

// What a reward can be.
struct NamedRange {
  std::string name;
  double min = 0;  // At most 0, which is the reward of decisions without one.
  double max = 0;
};

// Parses entries such as "complaints:-1:0". InvalidArgument as below, or where
// not -1e9 <= MIN <= 0 <= MAX <= 1e9 and MIN < MAX.
absl::StatusOr<std::vector<NamedRange>> ParseRanges(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries,
    const std::vector<NamedFile>& rewards);

// Parses entries such as "complaints:0.01". InvalidArgument as above, where the
// name is not one of `rewards`, or where the number is not at least 0.
absl::StatusOr<std::vector<NamedLimit>> ParseLimits(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries,
    const std::vector<NamedFile>& rewards);

}  // namespace sortition
