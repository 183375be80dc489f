#pragma once
// A simulated user, who knows the relevance of every candidate. Rewards are in
// [0, 1] and a function of (seed, decision id, answer).
//
// Selection: a right answer (relevance >= relevant_from) is worth 1, a wrong
// one 0, and with probability `noise` the user says the opposite; "no answer"
// is worth abstain_reward.
//
// Ranking: the cascade user of expected reciprocal rank [Chapelle09]. Ranks are
// read from the top; a candidate of relevance g satisfies with probability
//   R(g) = (2^g - 1) / 2^g_max,
// the user stops there, and the reward is 1 / (rank + 1), rank 0-based; 0 where
// nothing satisfies. Its expectation is ERR = Σ_r R_r Π_{s<r} (1 - R_s) /
// (r+1).
//
// Subset: F1 of the set against the right candidates (relevance >=
// relevant_from), 2 |right ones in it| / (|set| + |right ones|), 1 where both
// are empty; of a set whose size was asked for, precision: the share of right
// ones in it, 0 where it is empty. With probability `noise` the user says the
// opposite, 1 less that. Its expectation is (1 - noise) r + noise (1 - r).
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "core/data/action.h"

namespace sortition {

struct UserModelOptions {
  uint64_t seed = 1;
  uint32_t relevant_from = 1;
  double abstain_reward = 0.3;
  double noise = 0.05;
  uint32_t max_relevance = 1;  // g_max of the data, at least 1.
};

// Immutable and thread-safe. Actions are in document indexes, in range of
// `relevances`.
class UserModel {
 public:
  explicit UserModel(const UserModelOptions& options);

  double SelectReward(std::span<const uint32_t> relevances,
                      int32_t document_index,
                      absl::string_view decision_id) const;
  double RankReward(std::span<const uint32_t> relevances,
                    std::span<const int32_t> order,
                    absl::string_view decision_id) const;

  enum class Measure { kF1, kPrecision };
  double SubsetReward(std::span<const uint32_t> relevances,
                      std::span<const int32_t> subset, Measure measure,
                      absl::string_view decision_id) const;

  // Exact expectations of the above over decision ids.
  double ExpectedSelectReward(std::span<const uint32_t> relevances,
                              int32_t document_index) const;
  double ExpectedRankReward(std::span<const uint32_t> relevances,
                            std::span<const int32_t> order) const;
  double ExpectedSubsetReward(std::span<const uint32_t> relevances,
                              std::span<const int32_t> subset,
                              Measure measure) const;

 private:
  // Without noise.
  double Worth(std::span<const uint32_t> relevances,
               std::span<const int32_t> subset, Measure measure) const;
  double Satisfaction(uint32_t relevance) const;
  bool IsRight(uint32_t relevance) const {
    return relevance >= options_.relevant_from;
  }

  const UserModelOptions options_;
  const std::string seed_text_;
};

}  // namespace sortition
