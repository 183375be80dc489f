#pragma once
// The methods that the POEM paper compares, and later objectives.
#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/label_experiment.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

struct Method {
  std::string name;
  // Objective, optimiser and, unless it is the default, lambda_factor.
  config::v1::PoemOptions options = {};
  bool both_starts = false;  // From h0 as well as from w = 0.
};

Method Ips(config::v1::PoemOptions::Optimiser optimiser);
Method Poem(config::v1::PoemOptions::Optimiser optimiser);
// Returns the self-normalised, doubly robust and logarithmically smoothed
// objectives.
std::vector<Method> NewerMethods();
// Returns POEM(S) as `sortition-trainer train` runs it by default, from both
// starts.
Method PoemFromBothStarts();

// The criterion on the validation tuples that chooses a point of the grid.
enum Criterion {
  kBounded,  // Σ δρ / max(n, Σ ρ): weights that sum to less than n leave
             // probability unaccounted for, which counts as the worst
             // loss; those that sum to more do not flatter.
  kSelfNormalised,  // Σ δρ / Σ ρ
  kUnbiased,        // Σ δρ / n: eq. 1, as in the paper.
};
inline constexpr size_t kNumCriteria = 3;

struct Learnt {
  // Losses of the chosen point on the test set, for each criterion.
  std::array<HammingLosses, kNumCriteria> losses;
  double seconds_per_fit = 0;
};

// Trains every λ of the method's grid from every start at M, 10 M and 100 M. M
// follows the percentile rule of sec. 6; sec. 4.4 says to select M and not to
// make it too small.
absl::StatusOr<Learnt> Learn(const Method& method, LabelLog* log);

}  // namespace sortition
