#pragma once
// The value of an order from clicks of users who look at some ranks more than
// at others: Σ_d γ_d ω_d over the candidates d of a query, γ_d the relevance
// and ω_d = Σ_k P(d is at rank k) λ_k, with λ the worth of a rank: a discount
// of DCG, or how often it is looked at. Every click counts by what made it
// probable: no weight of a whole order enters.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

// P(click at rank k | d is there) = α_k γ_d + β_k: with β = 0, users who look
// at rank k with probability α_k [JoachimsSwaminathanSchnabel17]; otherwise
// also those who trust what stands on top [VardasbiEtAl20]. Clicks
// may be graded: α_k γ_d + β_k is then their mean.
struct Examination {
  std::vector<double> alpha;  // By rank, in [0, 1]. Deeper ranks have 0.
  std::vector<double> beta;   // By rank, in [0, 1 - α]; empty: 0.
};
// InvalidArgument if a number is out of its range or sizes differ.
absl::Status CheckExamination(const Examination& examination);

// Returns Σ_k marginals[k] values[k]: ω_d from λ, or the mean α of an item over
// the ranks where the log could have put it. What only one of them has is 0.
double ExpectedOverRanks(std::span<const double> marginals,
                         std::span<const double> values);

// The shown ranks of one decision, as one policy sees them.
struct ClickedRanking {
  // In [0, 1].
  std::span<const double> clicks;
  // ω of the item at each rank, at least 0.
  std::span<const double> target_weights;
  // Policy-aware: ᾱ_d, the mean α of the item at each rank over the ranks where
  // the log could have put it, with 0 where it would not have been shown
  // [OosterhuisDeRijke20]. Above 0. Empty: α of the rank itself, which is
  // unbiased only if everything that ω counts is always shown at a rank with α
  // above 0; an item at a rank with α = 0 then counts 0.
  std::span<const double> examinations = {};
  // A model γ̂ of relevance: of the item at each rank, and Σ_d γ̂_d ω_d over all
  // candidates. Empty: none. It must come from other units.
  std::span<const double> modelled_relevances = {};
  double modelled_value = 0;
};

struct ClickTerms {
  // Σ_k ω (c_k - β_k) / ᾱ
  double plain = 0;
  // Σ_d γ̂_d ω_d + Σ_k ω (c_k - β_k - α_k γ̂) / ᾱ [Oosterhuis23]: unbiased if
  // either ᾱ or γ̂ is right, with α and β right at the ranks. Without a model
  // the same as `plain`.
  double doubly_robust = 0;
};

// Returns what a decision contributes. ᾱ below `least_examination` in [0, 1]
// counts as that: less variance, and for the plain term a value that is too
// low where clicks are more frequent than β. InvalidArgument if a number is out
// of its range, or a span has not as many as `clicks`.
absl::StatusOr<ClickTerms> ClickTermsOf(const Examination& examination,
                                        const ClickedRanking& ranking,
                                        double least_examination = 0);

// Means of these terms for several policies. To compare with the log, the
// policy that logged is added as one of them.
class ClickSums {
 public:
  ClickSums(size_t num_policies, size_t num_groups);

  // As RankingSums::Add(). Requires a term for each policy.
  void Add(uint64_t unit_hash, double share, std::span<const ClickTerms> terms);
  // Requires equal shapes.
  void Merge(const ClickSums& other);

  const GroupSums& sums() const { return sums_; }
  std::vector<Ratio> RatiosOf(size_t policy, bool is_doubly_robust) const;

 private:
  GroupSums sums_;
};

}  // namespace sortition
