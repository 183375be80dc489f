#include "trainer/tuples/scan/present_rate.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

constexpr double kMicrosOfSecond = 1e6;

struct DurationUnit {
  double seconds;
  const char* name;
};

constexpr DurationUnit kDurations[] = {
    {86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};

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

std::string AtPresentRate(double more, double so_far,
                          const TupleCounts& counts) {
  const double seconds =
      static_cast<double>(counts.newest_us - counts.oldest_us) /
      kMicrosOfSecond;
  if (counts.oldest_us <= 0 || seconds <= 0 || so_far <= 0) return "";
  // A century is no plan.
  constexpr double kLongest = 100 * 365.0 * 86400;
  const double wait = more * seconds / so_far;
  if (!(wait < kLongest)) return "";
  return absl::StrCat(", at the present rate in about ", DurationText(wait));
}

}  // namespace sortition
