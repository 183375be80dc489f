#pragma once
// From when to when decisions are read.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct TimeRange {
  std::optional<int64_t> since_us;  // Unset: from the beginning.
  std::optional<int64_t> until_us;  // Exclusive; unset: to the end.

  bool Contains(int64_t time_us) const {
    return time_us >= since_us.value_or(time_us) &&
           (!until_us.has_value() || time_us < *until_us);
  }
};

// The newest of the times that are not in the future, by the clock of this
// machine: one decision with a wrong clock must not make all others old.
class NewestTime {
 public:
  NewestTime();
  void Add(int64_t time_us) {
    if (time_us > latest_us_) {
      ++num_future_;
    } else {
      newest_us_ = std::max(newest_us_, time_us);
    }
  }
  int64_t us() const { return newest_us_; }  // 0: unknown.
  // Logs how many times are in the future, if any are.
  void WarnOfFuture() const;

 private:
  int64_t latest_us_;
  int64_t newest_us_ = 0;
  uint64_t num_future_ = 0;
};

// Returns whether `text` is a number of seconds, minutes, hours, days or weeks:
// "90s", "30m", "36h", "7d", "2w".
bool IsAge(absl::string_view text);

// Returns an age in microseconds. InvalidArgument, which names the option, if
// `text` is none or not in (0, 36500 days].
absl::StatusOr<int64_t> ParseAge(absl::string_view option,
                                 absl::string_view text);
// The same in [0, 36500 days].
absl::StatusOr<int64_t> ParseAgeOrZero(absl::string_view option,
                                       absl::string_view text);

// Parses a time in RFC 3339, or a date (its beginning, UTC), of the years 1970
// to 9999, and returns it in microseconds since the epoch. InvalidArgument,
// naming the option, for any other text.
absl::StatusOr<int64_t> ParseInstant(absl::string_view option,
                                     absl::string_view text);

// Both ends are RFC 3339, a date (its beginning, UTC), an age before
// `newest_us`, or empty for none. InvalidArgument if one is none of these, or
// if the range is empty; FailedPrecondition if an age is given and `newest_us`
// is 0, unknown.
absl::StatusOr<TimeRange> ParseTimeRange(absl::string_view since,
                                         absl::string_view until,
                                         int64_t newest_us);

// InvalidArgument as ParseTimeRange(), of what is wrong whatever the newest
// decision is.
absl::Status ValidateTimes(absl::string_view since, absl::string_view until);

// Returns a time in RFC 3339, UTC, to the second.
std::string UtcTimeText(int64_t time_us);

// Returns what was asked for: "since = '7d', until = ''".
std::string TimesText(absl::string_view since, absl::string_view until);

}  // namespace sortition
