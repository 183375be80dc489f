#pragma once
// The methods that the POEM paper compares, and later objectives, each by one
// of three protocols.
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/papers/poem/label_experiment.h"
#include "bench/papers/poem/smoothed_risk.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

enum class Protocol {
  kText,     // As the paper describes it.
  kAuthors,  // As the program of its authors does it (author_descent.h).
  kBest,     // Ours, from the same logs as kAuthors.
};
inline constexpr size_t kNumProtocols = 3;
// Returns "text", "authors" or "best".
const char* ProtocolName(Protocol protocol);

// The criterion on the validation tuples that chooses a point of the grid.
enum class Criterion {
  kUnbiased,        // Σ δρ / n: eq. 1, as in the paper.
  kSelfNormalised,  // Σ δρ / Σ ρ: the authors' program.
  kBounded,  // Σ δρ / max(n, Σ ρ): weights that sum to less than n leave
             // probability unaccounted for, which counts as the worst
             // loss; those that sum to more do not flatter.
};

struct Method {
  std::string name;            // The row of the table.
  std::string published = {};  // The paper's row; empty if it has none.
  Protocol protocol = Protocol::kText;
  // Objective, optimiser and, unless they are the defaults, lambda_factor,
  // smoothing, penalty, l2 and prior_decisions.
  config::v1::PoemOptions options = {};
  Criterion criterion = Criterion::kUnbiased;
  std::vector<double> clip_factors = {1};  // Of the rule's M; a grid.
  std::vector<double> steps = {1};         // η; a grid.
  // AuthorDescent.scales_majoriser and .most_batches.
  bool scales_majoriser = false;
  uint32_t most_batches = 1000;
  Weights weights = Weights::kPlain;
  std::vector<double> quantiles = {0};  // kImplicit: those of γ; a grid.
  bool from_zero = true;
  // Descends from h0, too, and keeps it if nothing has a better criterion.
  bool from_parent = false;
};

using Optimiser = config::v1::PoemOptions::Optimiser;
Method Ips(Protocol protocol, Optimiser optimiser);
Method Poem(Protocol protocol, Optimiser optimiser);
// Adds a grid of step sizes.
Method WithSteps(Method method);
// Return methods by the authors' protocol but for one thing: POEM(S) with the
// update of the paper's sec. 5.3; IPS(S) and POEM(S) that end after 250
// batches.
Method PoemOfSection53();
std::vector<Method> ShortDescents();
// Returns POEM(S) with starts at w = 0 and at h0, h0 in the grid, and a penalty
// on the distance from h0.
Method PoemNearParent();
// Returns the self-normalised objective.
Method NormPoem();
// Returns objectives since 2015.
std::vector<Method> NewerMethods();

struct Learnt {
  HammingLosses losses;    // Of the chosen point on the test set.
  double mean_weight = 0;  // Of it on the validation tuples.
  // The lowest expected loss on the test set of all points of the grid: what a
  // perfect validation would have chosen.
  double lowest = std::numeric_limits<double>::infinity();
  double seconds_per_fit = 0;
};

// Trains every point of the method's grid. M follows the percentile rule of
// sec. 6; sec. 4.4 says to select M and not to make it too small.
absl::StatusOr<Learnt> Learn(const Method& method, LabelLog* log);

}  // namespace sortition
