#pragma once
// Expected exposure of every candidate of a decision under a linear
// Plackett-Luce policy mixed with uniform, as a function of w:
//   e_d(w) = Σ_{k < K} λ_k m_w[d][k],  Σ_d e_d = Σ_k λ_k = Z.
// λ_k is how likely a user looks at rank k; m are rank marginals
// (core/policies/marginals). Exact, and so are gradients.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/rankings/row_scores.h"
#include "core/policies/marginals/plackett_luce_marginals.h"

namespace sortition {

// Decisions, of which only the candidates matter, not what was chosen. Views.
struct ExposureProblem {
  LinearFamily family = {};  // kRank, Plackett-Luce.
  std::span<const BanditTuple> tuples;
  // λ by rank, finite, at least 0; K is their number. Decisions with fewer
  // candidates have as many ranks as candidates.
  std::vector<double> discounts;
  std::span<const double> weights = {};  // Of the tuples; empty: 1.
  double tolerance = 1e-10;              // Of the marginals, absolute.
};

// InvalidArgument, naming field and range, where a field is out of its range or
// a tuple does not fit the family.
absl::Status ValidateExposureProblem(const ExposureProblem& problem);

// Not thread-safe.
class Exposures {
 public:
  // InvalidArgument as ValidateExposureProblem().
  static absl::StatusOr<Exposures> Create(const ExposureProblem& problem);

  const ExposureProblem& problem() const { return problem_; }
  size_t num_tuples() const { return problem_.tuples.size(); }
  Eigen::Index dimension() const { return problem_.family.dimension(); }
  size_t block_size() const { return 128; }
  // Z of a decision with n candidates.
  double Total(size_t n) const;

  // Computes the exposures in these tuples.
  void Compute(const Eigen::VectorXd& parameters,
               std::span<const uint32_t> tuples);
  // e_d of the k-th of them.
  std::span<const double> exposures(size_t k) const {
    return std::span<const double>(exposures_)
        .subspan(rows_.begin(k), rows_.scores(k).size());
  }
  // Adds the gradient of Σ_d factors[d] e_d of the k-th tuple of the last
  // Compute(), at its parameters.
  void AddGradient(size_t k, std::span<const double> factors,
                   Eigen::VectorXd* gradient);

 private:
  explicit Exposures(const ExposureProblem& problem)
      : problem_(problem),
        rows_(problem.family.num_features, problem.tuples),
        marginals_(problem.tolerance) {}

  ExposureProblem problem_;
  RowScores rows_;
  PlackettLuceMarginals marginals_;
  std::vector<double> exposures_;
  std::vector<double> ranks_by_candidates_;  // Marginals, or coefficients.
  std::vector<double> score_gradient_;
};

}  // namespace sortition
