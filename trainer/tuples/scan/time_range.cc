#include "trainer/tuples/scan/time_range.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr double kMostDays = 36500;

// The age as it is written, in any range; nothing if it is none.
std::optional<double> SecondsOf(absl::string_view text) {
  if (text.size() < 2 || !absl::ascii_isdigit(text[0])) return std::nullopt;
  double seconds = 0;
  switch (text.back()) {
    case 's':
      seconds = 1;
      break;
    case 'm':
      seconds = 60;
      break;
    case 'h':
      seconds = 3600;
      break;
    case 'd':
      seconds = 86400;
      break;
    case 'w':
      seconds = 7 * 86400;
      break;
    default:
      return std::nullopt;
  }
  double number = 0;
  text.remove_suffix(1);
  if (!absl::SimpleAtod(text, &number)) return std::nullopt;
  return seconds * number;
}

// Parses a time in RFC 3339 or a date, of the years 1970 to 9999, so that the
// sum of the time and any age does not overflow; nullopt for any other text.
std::optional<int64_t> InstantOf(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error) &&
      !absl::ParseTime("%Y-%m-%d", text, absl::UTCTimeZone(), &time, &error)) {
    return std::nullopt;
  }
  static const absl::Time kEnd =
      absl::FromCivil(absl::CivilYear(10000), absl::UTCTimeZone());
  if (time < absl::UnixEpoch() || time >= kEnd) return std::nullopt;
  return absl::ToUnixMicros(time);
}

absl::StatusOr<int64_t> ParseTime(absl::string_view option,
                                  absl::string_view text, int64_t newest_us) {
  if (IsAge(text)) {
    ASSIGN_OR_RETURN(const int64_t age, ParseAge(option, text));
    if (newest_us != 0) return newest_us - age;
    return absl::FailedPreconditionError(
        absl::StrCat(option, " is '", text,
                     "', an age before the newest decision, and none has a "
                     "time before now; must be a time or empty"));
  }
  if (const auto instant = InstantOf(std::string(text))) return *instant;
  return absl::InvalidArgumentError(absl::StrCat(
      option, " is '", text,
      "', must be RFC 3339 (2026-11-23T05:00:00Z) or a date (2026-11-23) of "
      "the years 1970 to 9999, or an age before the newest decision (7d, "
      "36h)"));
}

}  // namespace

// Clocks of machines differ by less than an hour.
NewestTime::NewestTime()
    : latest_us_(absl::ToUnixMicros(absl::Now() + absl::Hours(1))) {}

void NewestTime::WarnOfFuture() const {
  if (num_future_ == 0) return;
  LogWarning("decisions of the future count as new ones: is a clock wrong?",
             {{"decisions", num_future_}});
}

bool IsAge(absl::string_view text) { return SecondsOf(text).has_value(); }

absl::StatusOr<int64_t> ParseAge(absl::string_view option,
                                 absl::string_view text) {
  const std::optional<double> seconds = SecondsOf(text);
  if (!seconds || !(*seconds > 0) || !(*seconds <= kMostDays * 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is '", text,
                     "', must be a number of s, m, h, d or w, such as 14d, "
                     "above 0 and at most ",
                     kMostDays, "d"));
  }
  return static_cast<int64_t>(*seconds * 1e6);
}

absl::StatusOr<int64_t> ParseAgeOrZero(absl::string_view option,
                                       absl::string_view text) {
  const std::optional<double> seconds = SecondsOf(text);
  if (!seconds || !(*seconds <= kMostDays * 86400)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is '", text,
                     "', must be a number of s, m, h, d or w, such as 14d, in "
                     "[0s, ",
                     kMostDays, "d]"));
  }
  return static_cast<int64_t>(*seconds * 1e6);
}

absl::StatusOr<int64_t> ParseInstant(absl::string_view option,
                                     absl::string_view text) {
  if (const auto instant = InstantOf(std::string(text))) return *instant;
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is '", text,
                   "', must be RFC 3339 (2026-11-23T05:00:00Z) or a date "
                   "(2026-11-23) of the years 1970 to 9999"));
}

absl::StatusOr<TimeRange> ParseTimeRange(absl::string_view since,
                                         absl::string_view until,
                                         int64_t newest_us) {
  TimeRange range;
  if (!since.empty()) {
    ASSIGN_OR_RETURN(range.since_us, ParseTime("since", since, newest_us));
  }
  if (!until.empty()) {
    ASSIGN_OR_RETURN(range.until_us, ParseTime("until", until, newest_us));
  }
  if (range.since_us && range.until_us && *range.since_us >= *range.until_us) {
    return absl::InvalidArgumentError(absl::StrCat(
        "until is '", until, "', must be after since, '", since, "'"));
  }
  return range;
}

absl::Status ValidateTimes(absl::string_view since, absl::string_view until) {
  const int64_t any = absl::ToUnixMicros(absl::Now());
  RETURN_IF_ERROR(ParseTimeRange(since, "", any).status());
  RETURN_IF_ERROR(ParseTimeRange("", until, any).status());
  if (IsAge(since) != IsAge(until)) return absl::OkStatus();
  return ParseTimeRange(since, until, any).status();
}

std::string UtcTimeText(int64_t time_us) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

std::string TimesText(absl::string_view since, absl::string_view until) {
  return absl::StrCat("since = '", since, "', until = '", until, "'");
}

}  // namespace sortition
