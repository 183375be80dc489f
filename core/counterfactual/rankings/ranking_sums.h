#pragma once
// What a log of orders says of several policies at once: the sums from which
// all estimators follow, in one pass and constant memory. Values, gains over
// the log, paired differences and intervals by unit come from GroupSums.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/rankings/ranked_decision.h"
#include "core/counterfactual/rankings/ranking_terms.h"

namespace sortition {

class RankingSums {
 public:
  static constexpr size_t kMaxSegments = 64;
  // Units fall into so many folds, each of which is judged by what was chosen
  // for kAdaptive on the other one.
  static constexpr size_t kNumFolds = 2;
  // Among which kAdaptive chooses, from the fewest assumptions to the most: an
  // assumption contains all before it.
  static constexpr RankingEstimatorKind kCandidates[] = {
      RankingEstimatorKind::kShownPrefix,
      RankingEstimatorKind::kRewardInteraction,
      RankingEstimatorKind::kItemPosition};
  static constexpr size_t kNumCandidates = std::size(kCandidates);

  struct Options {
    RankingValue value;
    std::vector<RankingInputs> policies;            // One for each.
    size_t num_segments = 1;                        // In [1, kMaxSegments].
    size_t num_groups = GroupSums::kDefaultGroups;  // At least 2.
  };

  // InvalidArgument if an option is out of its range. Memory: 8 bytes for each
  // group times about 22 + 5 counted ranks + 6 segments for each policy.
  static absl::StatusOr<RankingSums> Create(Options options);

  // Adds a decision as each policy sees it. `unit_hash` stands for its unit;
  // `share` in (0, 1] is how much it counts (UnitSizes). InvalidArgument, and
  // nothing is added, if the decision is not what ranked_decision.h says.
  absl::Status Add(uint64_t unit_hash, double share,
                   const RankedDecision& decision,
                   std::span<const JudgedRanking> policies);
  // Requires equal options.
  void Merge(const RankingSums& other);

  const Options& options() const { return options_; }
  size_t num_policies() const { return options_.policies.size(); }
  size_t num_ranks() const { return options_.value.rank_weights.size(); }
  const GroupSums& sums() const { return sums_; }
  uint64_t num_decisions() const { return num_decisions_; }

  // Whether a policy brings along what the estimator needs.
  bool Supports(size_t policy, RankingEstimatorKind kind) const;

  // The estimates as ratios of sums, each a sum of one or more of them; none if
  // not supported. kAdaptive chooses by the sums so far.
  std::vector<Ratio> RatiosOf(size_t policy, RankingEstimatorKind kind) const;
  // The same of E[r_k] alone, without α_k, for the plain and self-normalised
  // kinds of kPrefix and kMarginal; none for others.
  std::vector<Ratio> RatiosAtRank(size_t policy, RankingEstimatorKind kind,
                                  size_t rank) const;
  // The mean R of the log, and its mean r_k.
  Ratio LoggedReward() const;
  Ratio LoggedRewardAtRank(size_t rank) const;
  // The mean weight, by what could have been earned. Far from 1, something that
  // the policy does is missing in the log.
  Ratio MeanWeight(size_t policy, RankingWeightKind kind) const;

  // (Σ W)² / Σ W², W a decision's RankingTerms::weight: its weights by rank in
  // the proportions in which ranks count. For kDirect it is that of the
  // decisions; for kAdaptive that of the chosen weights. 0 if not supported.
  double EffectiveSampleSize(size_t policy, RankingEstimatorKind kind) const;
  // The same of ρ_{1:k} or m_k, for kPrefix and kMarginal.
  double EffectiveSampleSizeAtRank(size_t policy, RankingWeightKind kind,
                                   size_t rank) const;

  // Sums of what is one-sided: of the plain term, of the plain term of 1 - r,
  // and of what could have been earned. All logged ranks could have earned
  // something, up to the deepest rank that any decision showed. Those that a
  // decision hid earned 0 there, with the weight ρ_{1:L}.
  SumFunction PlainTerm(size_t policy, RankingWeightKind kind) const;
  SumFunction PlainRegret(size_t policy, RankingWeightKind kind) const;
  SumFunction LargestReward() const;
  // Returns true if a decision hid a logged rank that another decision showed.
  // The number of shown ranks is then not the minimum of the logged ranks and a
  // constant, and may depend on the order.
  bool ShownRanksVary() const;

  // What kAdaptive chooses for units of a fold in a segment, by the units of
  // the other fold.
  RankingEstimatorKind ChosenFor(size_t policy, size_t segment,
                                 size_t fold) const;
  static size_t FoldOf(uint64_t unit_hash) { return unit_hash >> 63; }

 private:
  explicit RankingSums(Options options);

  // Return how many of the ranks that count were shown, and logged.
  size_t NumShown(const RankedDecision& decision) const;
  size_t NumLogged(const RankedDecision& decision) const;
  // Returns the index of the sum of weights of decisions that logged this rank
  // without showing it.
  size_t HiddenEntry(size_t rank) const;
  SumFunction WeightTerm(size_t policy, RankingWeightKind kind) const;
  size_t SegmentCount(size_t segment, size_t fold) const;
  size_t EntryOf(size_t policy, size_t entry) const;
  size_t RankEntry(size_t policy, size_t block, size_t rank) const;
  size_t CandidateEntry(size_t policy, size_t segment, size_t fold,
                        size_t candidate) const;
  size_t CandidateFor(size_t policy, size_t segment, size_t fold) const;
  struct Added {
    const RankedDecision& decision;
    double share;
    size_t fold;
  };
  void AddPolicy(const Added& added, size_t policy, const JudgedRanking& judged,
                 std::span<double> row);
  std::vector<Ratio> SelfNormalised(size_t policy,
                                    RankingWeightKind kind) const;

  // Of weights, whatever their units.
  struct Squares {
    double sum = 0;
    double square = 0;

    void Add(double x) {
      sum += x;
      square += x * x;
    }
    double EffectiveSize() const { return square > 0 ? sum * sum / square : 0; }
  };

  Options options_;
  bool needs_marginals_ = false;
  GroupSums sums_;
  uint64_t num_decisions_ = 0;
  size_t most_shown_ = 0;         // Most counting ranks that a decision showed.
  std::vector<Squares> weights_;  // By policy and RankingWeightKind.
  std::vector<Squares> rank_weights_;  // By policy, kPrefix or not, and rank.
  // By policy, segment, fold and candidate.
  std::vector<Squares> candidate_weights_;
  Squares shares_;
  RankingWeights scratch_;
};

}  // namespace sortition
