#pragma once
// Terms of logged rankings whose importance weights are those of the first
// ranks, ρ_r = h_w(y_1..y_r) / p(y_1..y_r):
//   whole order  t = f(Σ_k δ_k, ρ_K), K ranks shown;
//   prefixes     t = Σ_k f(δ_k, ρ_k)  [McInerneyEtAl20] (RIPS).
// Both estimate Σ_k E[δ_k] if f(δ, ρ) = δ ρ; the second one assumes that what
// happens at a rank depends on nothing below it, as for users who read from the
// top. Its weights are products of fewer ratios, hence vary less.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/rankings/order_policy.h"

namespace sortition {

enum class PrefixWeights { kWholeOrder, kPrefixes };

class PrefixTerms : public TupleTerms {
 public:
  // functions[k] is the f of rank k, the last one also that of all ranks below;
  // a whole order has the f of its last shown rank. Losses of a whole order are
  // in [-K, 0]. InvalidArgument as ValidateRankedLog(), and without functions.
  static absl::StatusOr<PrefixTerms> Create(
      const RankedLog& log, PrefixWeights kind,
      std::vector<TermFunction> functions);

  size_t num_tuples() const override { return begins_.size() - 1; }
  Eigen::Index dimension() const override { return policy_.dimension(); }
  size_t block_size() const override { return policy_.block_size(); }
  std::span<const double> weights() const override {
    return policy_.log().weights;
  }
  // Reads no features of tuples whose losses are all 0, and asks the policy for
  // no ranks below the last loss.
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  // A loss other than 0, and the ranks whose weight it has.
  struct Loss {
    uint32_t rank = 0;  // The last of these ranks.
    double value = 0;
    double log_logged = 0;  // log p of these ranks.
  };

  PrefixTerms(OrderPolicy policy, std::vector<TermFunction> functions)
      : policy_(std::move(policy)), functions_(std::move(functions)) {}

  void AddLosses(size_t i, PrefixWeights kind);
  // Replaces the log-weights of the last Values() by terms, rank by rank.
  void ApplyFunctions();

  OrderPolicy policy_;
  std::vector<TermFunction> functions_;
  std::vector<Loss> losses_;    // Of all tuples, ranks ascending.
  std::vector<size_t> begins_;  // Where those of each tuple begin, and the end.
  // The tuples of the last Values() that have losses, their indices in that
  // call, and how many ranks they need.
  std::vector<uint32_t> active_;
  std::vector<uint32_t> places_;
  std::vector<uint32_t> depths_;
  std::vector<double> log_prefixes_;
  // One for each of their losses: entry of log_prefixes_, δ, log ρ and then f,
  // ∂f / ∂ log ρ, place in the call.
  std::vector<size_t> entries_;
  std::vector<uint32_t> ranks_;
  std::vector<double> deltas_;
  std::vector<double> terms_;
  std::vector<double> slopes_;
  std::vector<uint32_t> owners_;
};

}  // namespace sortition
