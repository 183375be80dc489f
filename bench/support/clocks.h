#pragma once
// Clocks of benchmarks, and what a program took. CPU time is the sturdier
// figure where others share the machine.

namespace sortition {

double ThreadCpuSeconds();   // CPU time of the calling thread.
double ProcessCpuSeconds();  // CPU time of all threads of this process.
double WallSeconds();        // Monotonic; since some fixed point.

// The largest resident memory of this process so far, in MiB.
double PeakMebibytes();

// CPU seconds that `body` takes on this thread.
template <typename Body>
double ThreadCpuSecondsOf(const Body& body) {
  const double start = ThreadCpuSeconds();
  body();
  return ThreadCpuSeconds() - start;
}

}  // namespace sortition
