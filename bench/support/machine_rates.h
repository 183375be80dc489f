#pragma once
// What one core of this machine can do at best, measured.

namespace sortition {

// Time of this process on the CPU: others may share the machine.
double CpuSeconds();

// Multiplications and additions of doubles in registers, 10^9 a second; fused
// and four at once where the processor can.
double PeakGigaflops();

// Reading of memory far beyond the caches, 10^9 bytes a second.
double MemoryGigabytesPerSecond();

}  // namespace sortition
