#pragma once
// Item-position terms [LiEtAl18]: the loss of a rank is weighed by how often
// the policies put its candidate there, whatever is above and below:
//   t = Σ_k f(δ_k, m_w[y_k][k] / m_0[y_k][k]),
// m_w the rank marginals of the policy (core/policies/marginals), m_0 those of
// the policy that logged (RankedTuple.log_marginals). If f(δ, ρ) = δ ρ, the
// mean estimates Σ_k E[δ_k] without bias where the loss of a rank depends on
// nothing but its candidate. The weights are the conditional expectations of
// those of prefixes, so that they vary less. Gradients are exact.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "core/learners/rankings/row_scores.h"
#include "core/policies/marginals/plackett_luce_marginals.h"

namespace sortition {

class ItemPositionTerms : public TupleTerms {
 public:
  // `tolerance` is that of the marginals, absolute: make it small against the
  // uniform share ε / n of a marginal. InvalidArgument as ValidateRankedLog(),
  // and where a tuple with a loss other than 0 has no log_marginals.
  static absl::StatusOr<ItemPositionTerms> Create(const RankedLog& log,
                                                  TermFunction function,
                                                  double tolerance = 1e-10);

  size_t num_tuples() const override { return log_.tuples.size(); }
  Eigen::Index dimension() const override { return log_.family.dimension(); }
  size_t block_size() const override { return 128; }
  std::span<const double> weights() const override { return log_.weights; }
  // Computes no marginals of tuples whose losses are all 0, nor of ranks below
  // the last loss.
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  ItemPositionTerms(const RankedLog& log, TermFunction function,
                    double tolerance)
      : log_(log),
        function_(std::move(function)),
        rows_(log.family.num_features, log.tuples),
        marginals_(tolerance) {}

  RankedLog log_;
  TermFunction function_;
  RowScores rows_;
  PlackettLuceMarginals marginals_;
  // The tuples of the last Values() that have losses, and their places.
  std::vector<uint32_t> active_;
  std::vector<uint32_t> places_;
  // One for each of their losses: δ, log ρ and then f, ∂f / ∂ log ρ, m_w.
  std::vector<double> deltas_;
  std::vector<double> terms_;
  std::vector<double> slopes_;
  std::vector<double> probabilities_;
  std::vector<double> ranks_by_candidates_;  // Marginals, or coefficients.
  std::vector<double> score_gradient_;
};

}  // namespace sortition
