#pragma once
// The best rates of one core of this machine, measured.

namespace sortition {

// Multiplications and additions of doubles in registers, 10^9 per second; fused
// and four at once if the processor can.
double PeakGigaflops();

// Reading memory far beyond the caches, 10^9 bytes per second.
double MemoryGigabytesPerSecond();

}  // namespace sortition
