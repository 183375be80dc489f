#pragma once
// How long it takes until a log has enough.
#include <cstdint>
#include <string>

#include "trainer/tuples/scan/arrivals.h"

namespace sortition {

// Returns a duration, rounded up, as people say it: "40 seconds", "3 hours".
std::string DurationText(double seconds);

// Returns `number` rounded up to two significant digits, so that a forecast
// does not look more precise than it is.
double RoundedUp(double number);

// Returns how long it takes until `more` further units come, or decisions if
// each is its own unit: ", at the present rate of about 120 new users a day in
// about 3 days". The rate is that of units which the log had not seen before,
// in the second half of its time: units that come back do not count again.
// Returns ", but traffic has stopped: the newest decision is of 2026-11-28T…"
// if none came for a quarter of the time of the log, and no less than ten
// minutes, besides the time that tuples wait for rewards. Returns "" if times
// are not known.
std::string AtPresentRate(double more, const Arrivals& arrivals,
                          int64_t now_us);

// The same for `more` further decisions, by new and returning units, of which
// one in `every` counts.
std::string AtPresentDecisionRate(double more, double every,
                                  const Arrivals& arrivals, int64_t now_us);

}  // namespace sortition
