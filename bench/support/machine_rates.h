#pragma once
// Measures the best rates of one core of this machine.

namespace sortition {

// Returns multiplications and additions of doubles in registers, 10^9 per
// second; fused and four at once if the processor can.
double PeakGigaflops();

// Returns the rate of reading memory far beyond the caches, 10^9 bytes per
// second.
double MemoryGigabytesPerSecond();

}  // namespace sortition
