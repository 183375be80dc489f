#pragma once
// Dates and times as other programs write them.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sortition {

// How to read times that do not state their zone or unit.
class TimestampReader {
 public:
  // `zone` is UTC or a name of the time zone database, such as Europe/Zurich;
  // `unit` is s, ms, us or ns. InvalidArgument naming the option.
  static absl::StatusOr<TimestampReader> Create(absl::string_view zone,
                                                absl::string_view unit);
  // UTC and microseconds.
  TimestampReader() : zone_(absl::UTCTimeZone()) {}

  struct Timestamp {
    int64_t time_us = 0;  // Since 1970 in UTC.
    // True if the text did not state its zone, so that zone() was assumed.
    bool is_zone_assumed = false;
  };
  // Parses a number since 1970, or a date with or without a time and a zone:
  // 2026-01-31T09:30:00.5Z, 2026-01-31 09:30:00+01:00, 2026-01-31 09:30,
  // 2026-01-31. InvalidArgument naming `name` and the text.
  absl::StatusOr<Timestamp> Parse(absl::string_view text,
                                  absl::string_view name) const;

  const absl::TimeZone& zone() const { return zone_; }

 private:
  absl::TimeZone zone_;
  int64_t numerator_ = 1;  // Microseconds per unit.
  int64_t denominator_ = 1;
};

}  // namespace sortition
