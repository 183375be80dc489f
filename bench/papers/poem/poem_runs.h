#pragma once
// Repeats the experiment of the POEM paper.
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/poem_results.h"

namespace sortition {

struct Repetition {
  int runs = 10;  // Each with its own logging policies and logs.
  int threads = 2;
  double fraction = 0.05;
  double inverse_temperature = 1;
  uint32_t replays = 4;
};

// Returns the log of a protocol: kText fits h0 with the default C of the
// library that the paper names, 1, the others with that of the authors'
// program, 0.1.
LogOptions LogOptionsOf(Protocol protocol, const Repetition& repetition);

// Runs all `methods`, several runs at once; the result does not depend on how
// many. Measures the skyline as well if asked to.
absl::StatusOr<Results> RunAll(const LabelData& data,
                               const Repetition& repetition,
                               std::span<const Method> methods,
                               bool with_skyline);

}  // namespace sortition
