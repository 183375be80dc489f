#pragma once
// The policies that wrote a log, for weights that need more of them than the
// propensity of what they did.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Not thread-safe.
class LoggingPolicies {
 public:
  // Models of more versions than this are not held in memory, but those with
  // the most decisions.
  static constexpr size_t kMostLoaded = 64;
  // More versions than this are not mixed: each decision asks all of them.
  static constexpr size_t kMostMixed = PolicySums::kNumStrata;
  // Tolerance of the comparison of a policy with log propensities.
  static constexpr double kLogTolerance = 1e-6;

  // Loads the versions of the log from the store, if there is one. Those that
  // it lacks, or that have other features than the log, stay unknown.
  // `versions` is from version to decisions.
  static LoggingPolicies Load(const config::v1::OpeOptions& options,
                              const std::map<uint64_t, uint64_t>& versions,
                              uint32_t num_features);

  // Asks the policies of a decision. `wants_first` as for JudgedPolicy::View().
  absl::Status View(const LoggedDecision& decision, bool wants_first);

  // Of the last decision. log Σ_j (n_j / n) π_j of the logged action; unset if
  // one of the policies is unknown, if there is only one, or more than
  // kMostMixed.
  std::optional<double> log_mixture() const { return log_mixture_; }
  // What the policy that logged it does; null if it is unknown, or if the
  // caller's baseline or another version had a part.
  const PolicyView* logging_view() const { return logging_view_; }

  // Decisions whose policy is unknown, or says another propensity than the log,
  // so far.
  uint64_t unknown() const { return unknown_; }
  uint64_t contradictions() const { return contradictions_; }
  size_t num_versions() const { return policies_.size(); }
  // Null: it is unknown.
  JudgedPolicy* PolicyOf(uint64_t version) const {
    const size_t index = IndexOf(version);
    return index < policies_.size() ? policies_[index].policy.get() : nullptr;
  }
  // Numbers the versions of the log from 0; others have num_versions().
  size_t IndexOf(uint64_t version) const {
    const auto found = indexes_.find(version);
    return found == indexes_.end() ? policies_.size() : found->second;
  }

 private:
  struct Logging {
    double log_share = 0;                  // log n_j / n
    std::unique_ptr<JudgedPolicy> policy;  // Null: unknown.
    PolicyView view;
  };

  // Returns the policy of a version; null if it is unknown.
  static std::unique_ptr<JudgedPolicy> LoadPolicy(
      const config::v1::OpeOptions& options, uint64_t version,
      uint32_t num_features);

  std::vector<Logging> policies_;
  absl::flat_hash_map<uint64_t, size_t> indexes_;  // By version.
  bool is_mixed_ = false;                          // All are known, and few.
  std::optional<double> log_mixture_;
  const PolicyView* logging_view_ = nullptr;
  uint64_t unknown_ = 0;
  uint64_t contradictions_ = 0;
};

}  // namespace sortition
