#pragma once
// Clocks of benchmarks, and the memory of a program. CPU time is the more
// reliable figure if others share the machine.

namespace sortition {

double ThreadCpuSeconds();   // CPU time of the calling thread.
double ProcessCpuSeconds();  // CPU time of all threads of this process.
double WallSeconds();        // Monotonic; since some fixed point.

// Returns the largest resident memory of this process so far, in MiB.
double PeakMebibytes();

// Returns the CPU seconds that `body` takes on this thread.
template <typename Body>
double ThreadCpuSecondsOf(const Body& body) {
  const double start = ThreadCpuSeconds();
  body();
  return ThreadCpuSeconds() - start;
}

}  // namespace sortition
