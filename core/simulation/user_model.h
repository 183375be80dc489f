#pragma once
// A simulated user who knows the relevance of every candidate and judges a
// selection or a subset (of rankings see rank_reader.h). Rewards are in [0, 1]
// and a function of (seed, decision id, answer).
//
// Selection: a right answer (relevance >= relevant_from) is worth 1 and a wrong
// one 0; with probability `noise` the user reports the opposite. "No answer" is
// worth abstain_reward.
//
// Subset: the reward r is the F1 of the set with respect to the right
// candidates (relevance >= relevant_from), 2 |right ones in it| / (|set| +
// |right ones|), or 1 if both are empty. If the request fixed the size of the
// set, r is the precision: the share of right ones in it, 0 if it is empty.
// With probability `noise` the user reports 1 - r. The expected reward is (1 -
// noise) r + noise (1 - r).
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
};

// Immutable and thread-safe. Actions are document indexes within `relevances`.
class UserModel {
 public:
  explicit UserModel(const UserModelOptions& options);

  double SelectReward(std::span<const uint32_t> relevances,
                      int32_t document_index,
                      absl::string_view decision_id) const;

  enum class Measure { kF1, kPrecision };
  double SubsetReward(std::span<const uint32_t> relevances,
                      std::span<const int32_t> subset, Measure measure,
                      absl::string_view decision_id) const;

  // The exact expectations of these rewards over decision ids.
  double ExpectedSelectReward(std::span<const uint32_t> relevances,
                              int32_t document_index) const;
  double ExpectedSubsetReward(std::span<const uint32_t> relevances,
                              std::span<const int32_t> subset,
                              Measure measure) const;

 private:
  // Returns the reward of a subset without noise.
  double Worth(std::span<const uint32_t> relevances,
               std::span<const int32_t> subset, Measure measure) const;
  bool IsRight(uint32_t relevance) const {
    return relevance >= options_.relevant_from;
  }

  const UserModelOptions options_;
  const std::string seed_text_;
};

}  // namespace sortition
