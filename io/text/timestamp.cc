#include "io/text/timestamp.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

struct Format {
  const char* text;
  bool has_zone;
};

// The first is the commonest.
constexpr Format kFormats[] = {
    {"%Y-%m-%dT%H:%M:%E*S%Ez", true},  {"%Y-%m-%d %H:%M:%E*S%Ez", true},
    {"%Y-%m-%dT%H:%M:%E*S", false},    {"%Y-%m-%d %H:%M:%E*S", false},
    {"%Y-%m-%d %H:%M:%E*S %Ez", true}, {"%Y-%m-%d %H:%M:%E*S UTC", true},
    {"%Y/%m/%d %H:%M:%E*S", false},    {"%Y-%m-%dT%H:%M", false},
    {"%Y-%m-%d %H:%M", false},         {"%Y-%m-%d", false},
};

}  // namespace

absl::StatusOr<TimestampReader> TimestampReader::Create(
    absl::string_view zone, absl::string_view unit) {
  TimestampReader reader;
  if (!absl::LoadTimeZone(std::string(zone), &reader.zone_)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--time_zone is '", Shown(zone),
        "', must be UTC or a zone that this machine's time zone database "
        "(package tzdata) has, such as Europe/Zurich"));
  }
  if (unit == "s") {
    reader.numerator_ = 1000000;
  } else if (unit == "ms") {
    reader.numerator_ = 1000;
  } else if (unit == "ns") {
    reader.denominator_ = 1000;
  } else if (unit != "us") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--time_unit is '", Shown(unit), "', must be s, ms, us or ns"));
  }
  return reader;
}

absl::StatusOr<TimestampReader::Timestamp> TimestampReader::Parse(
    absl::string_view text, absl::string_view name) const {
  const auto wrong = [&](absl::string_view permitted) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is '", Shown(text), "', must be ", permitted));
  };
  int64_t units = 0;
  double fraction = 0;
  constexpr int64_t kMaxUs = std::numeric_limits<int64_t>::max();
  if (ParseNumber(text, &units)) {
    if (units > kMaxUs / numerator_ || units < -(kMaxUs / numerator_)) {
      return wrong(absl::StrCat("in [-", kMaxUs / numerator_, ", ",
                                kMaxUs / numerator_, "]"));
    }
    return Timestamp{units * numerator_ / denominator_};
  }
  if (ParseNumber(text, &fraction)) {
    // Python's time.time() is a number of seconds with a fraction.
    const double us = fraction * static_cast<double>(numerator_) /
                      static_cast<double>(denominator_);
    if (!(us >= -9e18 && us <= 9e18))
      return wrong("a time in [-9e18, 9e18] us");
    return Timestamp{static_cast<int64_t>(us)};
  }
  absl::Time time;
  std::string ignored;
  for (const Format& format : kFormats) {
    // ParseTime() also accepts "infinite-future" and "infinite-past".
    if (absl::ParseTime(format.text, text,
                        format.has_zone ? absl::UTCTimeZone() : zone_, &time,
                        &ignored) &&
        time > absl::InfinitePast() && time < absl::InfiniteFuture()) {
      return Timestamp{absl::ToUnixMicros(time), !format.has_zone};
    }
  }
  return wrong(
      "a number since 1970 (--time_unit) or a date and time such as "
      "2026-01-31T09:30:00Z or 2026-01-31 09:30:00 (--time_zone)");
}

}  // namespace sortition
