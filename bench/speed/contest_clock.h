#pragma once
// Times one of several programs that take turns.
#include "bench/support/clocks.h"

namespace sortition {

// Returns the CPU seconds of one call, by as many as fill a measurement.
template <typename Body>
double SecondsOf(const Body& body) {
  // What one measurement takes, about.
  constexpr double kSeconds = 0.01;
  int calls = 0;
  const double start = ThreadCpuSeconds();
  double seconds = 0;
  do {
    body();
    ++calls;
    seconds = ThreadCpuSeconds() - start;
  } while (seconds < kSeconds);
  return seconds / calls;
}

}  // namespace sortition
