#pragma once
// The ranking of a query's candidates by falling score, as groups of candidates
// with equal scores. Scores do not order the candidates of a group, so every
// metric of such a ranking is the expectation over uniformly random orders
// within each group. It does not depend on the order of the data, which often
// lists relevant candidates first.
//
// For a group of n candidates that occupies the ranks b .. b + n - 1:
// - E[gain at a rank] is the mean gain of the group. This is enough for all
//   metrics that are a sum over ranks: DCG, NDCG, precision at k.
// - Metrics that depend on several ranks use the counts of the group; their
//   closed forms are in ranking_metrics.cc.
// The closed forms for average precision, reciprocal rank, NDCG and precision
// are those of [McSherryNajork08].
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Immutable.
class TiedRanking {
 public:
  // Requires as many relevances as scores, and scores without NaN. `unranked`
  // has the relevances of judged candidates that the ranking lacks, as a search
  // engine lacks documents that it did not retrieve. They have no rank, but
  // metrics that compare with all relevant candidates count them.
  TiedRanking(std::span<const double> scores,
              std::span<const uint32_t> relevances,
              std::span<const uint32_t> unranked = {});
  // Makes a ranking without ties from the relevances in rank order.
  static TiedRanking OfOrder(std::span<const uint32_t> relevances,
                             std::span<const uint32_t> unranked = {});

  // Returns the number of ranks.
  size_t size() const { return relevances_.size(); }
  size_t num_groups() const { return ends_.size(); }
  // Returns the first rank of a group.
  size_t begin(size_t group) const { return group == 0 ? 0 : ends_[group - 1]; }
  // Returns the relevances of a group, highest first. Groups are numbered from
  // the highest score down, and none is empty.
  std::span<const uint32_t> group(size_t group) const {
    return std::span(relevances_)
        .subspan(begin(group), ends_[group] - begin(group));
  }

  // Returns the relevances of the candidates that have no rank, highest first.
  std::span<const uint32_t> unranked() const { return unranked_; }

  // Returns the ranking of all candidates by falling relevance, without ties.
  TiedRanking Best() const;

  // Returns E[gain(relevance)] for each rank.
  template <typename Gain>
  std::vector<double> ExpectedGains(const Gain& gain) const {
    std::vector<double> gains;
    gains.reserve(size());
    for (size_t g = 0; g < num_groups(); ++g) {
      double sum = 0;
      for (const uint32_t relevance : group(g)) sum += gain(relevance);
      gains.insert(gains.end(), group(g).size(),
                   sum / static_cast<double>(group(g).size()));
    }
    return gains;
  }

 private:
  TiedRanking() = default;

  std::vector<uint32_t> relevances_;  // By group; within a group falling.
  std::vector<size_t> ends_;          // End of each group, as a rank.
  std::vector<uint32_t> unranked_;    // Falling.
};

// Counts of pairs of candidates with different relevances, in one or more
// queries. Only tied pairs make a metric depend on how ties are broken.
struct TiedPairs {
  uint64_t pairs = 0;  // All pairs with different relevances.
  uint64_t tied = 0;   // Tied pairs: those with equal scores.
  // Tied pairs whose more relevant candidate comes first in the data.
  uint64_t tied_in_label_order = 0;
  // Variance of `tied_in_label_order` if the data listed the candidates of each
  // group in random order; the mean is tied / 2. With S the number of tied
  // pairs in label order less the number of the others, this is Var(S) / 4.
  // For a group of n candidates with t_l candidates of each relevance l,
  // Var(S) = [n (n - 1) (2 n + 5) - Σ_l t_l (t_l - 1) (2 t_l + 5)] / 18
  // [Kendall45].
  double variance = 0;

  void Add(const TiedPairs& other);
  // Returns how many standard deviations `tied_in_label_order` is from its mean
  // under random order; 0 if nothing is tied.
  double Deviation() const;
};

// Counts the pairs of one query; scores and relevances are in the order of the
// data. Requirements as for TiedRanking.
TiedPairs CountTiedPairs(std::span<const double> scores,
                         std::span<const uint32_t> relevances);

}  // namespace sortition
