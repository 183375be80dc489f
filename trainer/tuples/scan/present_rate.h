#pragma once
// How long it takes until a log has enough.
#include <string>

#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

// Returns a duration, rounded up, as people say it: "40 seconds", "3 hours".
std::string DurationText(double seconds);

// Returns ", at the present rate in about 3 hours": how long it takes until
// `more` further decisions or units come, if `so_far` of them came from the
// oldest to the newest tuple in use. Returns "" if that time is not known.
std::string AtPresentRate(double more, double so_far,
                          const TupleCounts& counts);

}  // namespace sortition
