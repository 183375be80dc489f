#pragma once
// Which of two versions gets the credit for what the ranks of an interleaved
// order earned.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/choices/interleaving.h"
#include "core/policies/linear_policy.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Of one decision, in units of the reward.
struct TeamCredit {
  // Σ_r reward_r (P(the other version filled r | order) - P(the serving one
  // did | order)). The order and what came of it do not say who filled which
  // rank; that is averaged over, as in [HofmannWhitesonDeRijke11], and the
  // credit varies less than that of the coins that fell. Its mean is the same.
  // It is 0 on average for users to whom it is all one who filled a rank,
  // however much they prefer some ranks, and always for equal versions.
  double preference = 0;
  double credited = 0;  // Σ_r |reward_r|
};

// The versions of a store, as credit needs them. Not thread-safe.
class TeamCredits {
 public:
  // More versions than this are not loaded: they are unknown.
  static constexpr size_t kMostLoaded = 64;

  // `num_features` is that of the log: 0 with columns. Rewards of ranks beyond
  // those of the options, and 0, count as the nearer end. `options` must
  // outlive it.
  TeamCredits(const config::v1::OpeOptions& options, uint32_t num_features);

  // Returns the credit of an interleaved decision from the rewards of its
  // ranks; nothing, and counts it, if the store lacks one of the versions, or
  // they give the order another probability than the log does.
  std::optional<TeamCredit> Of(const LoggedDecision& decision);

  // So far.
  uint64_t unknown() const { return unknown_; }
  uint64_t contradictions() const { return contradictions_; }

 private:
  struct Version {
    model::v1::Policy policy;
    LinearPolicy linear;
  };

  // Null: it is unknown.
  const Version* Find(uint64_t version);
  std::unique_ptr<const Version> Load(uint64_t version) const;
  double Clamped(double reward) const;

  const config::v1::OpeOptions& options_;
  const uint32_t num_features_;
  std::map<uint64_t, std::unique_ptr<const Version>> versions_;
  PolicyWorkspace workspaces_[2];
  InterleavingScratch scratch_;
  std::vector<double> log_odds_;
  uint64_t unknown_ = 0;
  uint64_t contradictions_ = 0;
};

}  // namespace sortition
