#pragma once
// Examination by rank from the chance in logged orders, without a model of
// attraction: by the probability that the policy had an item at a rank, and by
// the probability of neighbours the other way round.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clicks/click_sessions.h"
#include "core/clicks/propensities.h"
#include "core/policies/linear_policy.h"
#include "core/policies/marginals/plackett_luce_marginals.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/clicks.pb.h"
#include "trainer/clicks/click_log.h"
#include "trainer/clicks/item_keys.h"

namespace sortition {

// Takes 12 bytes an item and 8 more for each rank, and the sessions that are
// used. Not thread-safe.
class LoggedPropensities {
 public:
  // `options` and `items` must outlive it. Of `num_sessions` a share is used,
  // by hash of the decision id, so that it is about propensity_sessions.
  static absl::StatusOr<LoggedPropensities> Create(
      const config::v1::ClicksOptions& options, const ItemIndex& items,
      uint64_t num_sessions);

  // Takes a ranking, or counts why its policy's probabilities are not known: a
  // version that is not in the store, or gives another propensity than was
  // logged; an order in which the caller's baseline or another version had a
  // part. A policy other than Plackett-Luce and uniform orders takes part by
  // swaps alone: it has no exact marginals.
  absl::Status Take(const ClickedRanking& ranking);

  // Adds to report->interventions and without_propensities.
  void Fill(config::v1::ClicksReport* report);

 private:
  // A version of the log.
  struct Logging {
    std::optional<LinearPolicy> policy;  // Unset: unknown.
    // Of exact marginals: what multiplies the scores; and ε.
    std::optional<double> scale;
    double uniform_mixture = 0;
  };

  LoggedPropensities(const config::v1::ClicksOptions& options,
                     const ItemIndex& items, double share,
                     ClickSessions harvested, ClickSessions swapped);

  const Logging& LoggingOf(uint64_t version);
  // Returns why the decision's policy is not known, in words; empty: it is.
  std::string Ask(const log::v1::Decision& decision);
  absl::Status Harvest(const ClickedRanking& ranking);
  absl::Status Swap(const ClickedRanking& ranking);

  const config::v1::ClicksOptions& options_;
  const ItemIndex& items_;
  const double share_;
  std::map<uint64_t, Logging> versions_;
  std::map<std::string, uint64_t> without_;  // By reason.

  // Of the decision that Ask() was called for.
  const Logging* logging_ = nullptr;
  PolicyQuery query_;
  PolicyWorkspace workspace_;
  double log_propensity_ = 0;

  PlackettLuceMarginals marginals_{1e-8};
  std::vector<double> logits_;
  std::vector<double> at_ranks_;
  std::vector<uint32_t> numbers_;
  std::vector<int32_t> order_;
  ClickSessions harvested_;
  std::vector<double> sums_;      // Of marginals, items × max_ranks.
  std::vector<uint32_t> counts_;  // Of decisions, by item.
  ClickSessions swapped_;
  std::vector<RandomisedPair> pairs_;
  uint64_t num_swappable_ = 0;  // Decisions whose swaps were asked for.
};

}  // namespace sortition
