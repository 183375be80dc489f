#pragma once
// Which PoemOptions go together, and the values of M, λ and μ that they name
// for a log. The objectives are explained in sortition/config/v1/poem.proto.
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_policy.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

// InvalidArgument, naming field, value and what is permitted, if options
// contradict each other: an optimiser, clip, λ or weights of ranks that the
// objective does not have, an option of EXPOSURE with another objective,
// smoothing where weights are not of whole actions, or two grids of the same
// quantity.
absl::Status ValidatePoemOptions(const config::v1::PoemOptions& options);

// Returns true for at most 50,000 tuples. So few are learned from with slower
// methods, which gain more there.
bool AreFewTuples(size_t num_tuples);

// Returns the options with an optimiser. If they name none, it is the one that
// they need, otherwise TRY_BOTH for few tuples. Mini-batches of few tuples
// often stop far from a minimum where features are many and sparse; where they
// do not, stopping early leaves a policy with smaller weights, which is easier
// to prove better (./dev bench drafts).
config::v1::PoemOptions WithOptimiser(config::v1::PoemOptions options,
                                      size_t num_tuples);

// Whether the objective bounds weights by M.
bool HasClip(config::v1::PoemOptions::Objective objective);

// Returns the β to try, in the order of the options.
std::vector<double> ListSmoothings(const config::v1::PoemOptions& options);

// Returns M of the objective for these training tuples; infinity: no clip. M is
// the same for every β, that of the propensities p themselves: p^β bounds large
// weights already, and where h is near 1 M^β would cut off the tuples that M
// cuts off without smoothing.
double ClipOf(const config::v1::PoemOptions& options,
              const TuplePolicy& policy);

struct LambdaChoice {
  std::optional<double> factor;  // c; empty if λ was given.
  double lambda = 0;
};

// Returns the λ to try with β = `smoothing`, in the order of the options.
// Requires valid options. FailedPrecondition if λ* is needed and all losses are
// equal (CalibratedLambda).
absl::StatusOr<std::vector<LambdaChoice>> ListLambdas(
    const config::v1::PoemOptions& options, const TuplePolicy& policy,
    double smoothing = 1);

// Returns the μ to try, in the order of the options. Requires valid options.
// For S of prior_decisions μ = S / n, n the sum of the tuples' weights: n times
// what is minimised is the sum of what n decisions say plus S ‖w - w₀‖², which
// does not grow with n. With n well below S the result stays near w₀; as n
// grows, the decisions outweigh it.
std::vector<double> ListL2s(const config::v1::PoemOptions& options,
                            const TuplePolicy& policy);

}  // namespace sortition
