#include "trainer/tuples/scan/present_rate.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

constexpr double kMicrosOfSecond = 1e6;

struct DurationUnit {
  double seconds;
  const char* name;
};

constexpr DurationUnit kDurations[] = {
    {86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};

// Returns whether decisions have stopped coming.
bool HasStopped(const Arrivals& arrivals, int64_t now_us) {
  constexpr double kMinSeconds = 600;
  // Recent is half of the time of the log.
  const double quiet = std::fmax(kMinSeconds, arrivals.recent_seconds / 2) +
                       arrivals.reward_wait_seconds;
  return static_cast<double>(now_us - arrivals.newest_us) / kMicrosOfSecond >
         quiet;
}

// The rate of a kind of thing, in the largest unit of time with at least one.
std::string PerTimeText(double per_second, const char* what) {
  const DurationUnit* unit = std::begin(kDurations);
  while (unit->seconds > 1 && per_second * unit->seconds > 10000) ++unit;
  const double rate = per_second * unit->seconds;
  // Two significant digits.
  const double digit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return absl::StrFormat("%g %s %s %s", digit * std::round(rate / digit), what,
                         unit->seconds == 3600 ? "an" : "a", unit->name);
}

struct Wanted {
  double more = 0;    // How many things.
  double recent = 0;  // How many came in Arrivals.recent_seconds.
  const char* what = "";
};

std::string RateText(const Wanted& wanted, const Arrivals& arrivals,
                     int64_t now_us) {
  if (arrivals.newest_us <= 0 || arrivals.recent_seconds <= 0) return "";
  if (HasStopped(arrivals, now_us)) {
    return absl::StrCat(", but traffic has stopped: the newest decision is of ",
                        UtcTimeText(arrivals.newest_us));
  }
  const double rate = wanted.recent / arrivals.recent_seconds;
  if (!(rate > 0)) {
    return absl::StrCat(", but no ", wanted.what, " came lately");
  }
  // A century is no plan.
  constexpr double kLongest = 100 * 365.0 * 86400;
  const double wait = wanted.more / rate;
  if (!(wait < kLongest)) return "";
  return absl::StrCat(", at the present rate of about ",
                      PerTimeText(rate, wanted.what), " in about ",
                      DurationText(wait));
}

}  // namespace

std::string DurationText(double seconds) {
  for (const DurationUnit& unit : kDurations) {
    // "3 hours" rather than "2 days" for 2.5 of them.
    if (seconds < 2 * unit.seconds && unit.seconds > 1) continue;
    const double number = std::fmax(1, std::ceil(seconds / unit.seconds));
    return absl::StrFormat("%.0f %s%s", number, unit.name,
                           number == 1 ? "" : "s");
  }
  return "";
}

double RoundedUp(double number) {
  constexpr double kDigits = 100;  // Two significant ones.
  if (!(number >= kDigits)) return std::ceil(number);
  const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
  return unit * std::ceil(number / unit);
}

std::string AtPresentRate(double more, const Arrivals& arrivals,
                          int64_t now_us) {
  return RateText(
      {.more = more,
       .recent = static_cast<double>(arrivals.recent_units),
       .what = arrivals.units_are_decisions() ? "decisions" : "new users"},
      arrivals, now_us);
}

std::string AtPresentDecisionRate(double more, double every,
                                  const Arrivals& arrivals, int64_t now_us) {
  return RateText({.more = more * every,
                   .recent = static_cast<double>(arrivals.recent_decisions),
                   .what = "decisions"},
                  arrivals, now_us);
}

}  // namespace sortition
