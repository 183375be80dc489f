#pragma once
// Plays a front end and its users: asks for decisions in a closed loop, shows
// each answer to a simulated user, and reports what was shown and the reward.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/simulation/latency_histogram.h"
#include "core/data/labelled_queries.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

// Rewards of a set of decisions.
struct RewardStats {
  uint64_t decisions = 0;
  uint64_t abstained = 0;
  double reward_sum = 0;
  double reward_squares = 0;
  double expected_reward_sum = 0;  // In expectation over users.

  void Add(double reward, double expected_reward, bool abstain);
  void Merge(const RewardStats& other);
  double mean_reward() const;     // 0 where there are no decisions.
  double standard_error() const;  // Of mean_reward().
  double mean_expected_reward() const;
  double abstain_rate() const;
};

// What users clicked, by rank.
struct RankClicks {
  std::vector<uint64_t> shown;
  std::vector<uint64_t> clicked;

  void Add(size_t ranks, std::span<const std::pair<uint32_t, double>> clicks);
  void Merge(const RankClicks& other);
};

struct SimulateResult {
  RewardStats rewards;
  RankClicks ranks;  // Of rankings.
  std::map<std::pair<std::string, uint64_t>, RewardStats> models;
  uint64_t failed = 0;          // Decisions that were not answered.
  uint64_t failed_reports = 0;  // Shown and feedback calls that failed.
  std::map<std::string, uint64_t> failures;  // Both, by status code.
  std::string first_failure;                 // Message of the first.
  uint64_t degraded = 0;                     // Answers marked as degraded.
  uint64_t shown_reported = 0;
  uint64_t feedback_reported = 0;  // Items.
  double seconds = 0;
  LatencyHistogram latency;  // Of answered decision calls.
  bool version_seen = true;  // True also without until_version.

  void Merge(const SimulateResult& other);
  uint64_t asked() const { return rewards.decisions + failed; }
};

struct SimulateProgress {
  uint64_t asked = 0;
  uint64_t failed = 0;
  double seconds = 0;
};

// Decision i asks query UnitInterval(hash(seed, i)) · queries under the id
// "sim-<seed>-<i>": the same seed asks the same again. With unique_ids the id
// is "sim-<seed>-<random>-<i>". Ends after options.decisions(), where
// until_version is set not before that version has answered, and in any case
// after max_seconds. Calls `report_progress` (may be empty) twice a second from
// this thread. InvalidArgument for unusable options or data; failed calls are
// counted, not returned.
absl::StatusOr<SimulateResult> Simulate(
    const config::v1::SimulateOptions& options, const LabelledQueries& queries,
    const std::function<void(const SimulateProgress&)>& report_progress);

std::string SimulateResultJson(const config::v1::SimulateOptions& options,
                               const SimulateResult& result);
std::string SimulateResultText(const config::v1::SimulateOptions& options,
                               const SimulateResult& result);

}  // namespace sortition
