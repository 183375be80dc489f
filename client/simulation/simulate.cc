#include "client/simulation/simulate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/rpc/uuid.h"
#include "client/simulation/front_end.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"

namespace sortition {

using Clock = std::chrono::steady_clock;

void RewardStats::Add(double reward, double expected_reward, bool abstain) {
  ++decisions;
  abstained += abstain ? 1 : 0;
  reward_sum += reward;
  reward_squares += reward * reward;
  expected_reward_sum += expected_reward;
}

void RewardStats::Merge(const RewardStats& other) {
  decisions += other.decisions;
  abstained += other.abstained;
  reward_sum += other.reward_sum;
  reward_squares += other.reward_squares;
  expected_reward_sum += other.expected_reward_sum;
}

double RewardStats::mean_reward() const {
  return decisions == 0 ? 0 : reward_sum / static_cast<double>(decisions);
}

double RewardStats::standard_error() const {
  if (decisions < 2) return 0;
  const double n = static_cast<double>(decisions);
  const double variance =
      (reward_squares - reward_sum * reward_sum / n) / (n - 1);
  return std::sqrt(std::max(0.0, variance) / n);
}

double RewardStats::mean_expected_reward() const {
  return decisions == 0 ? 0
                        : expected_reward_sum / static_cast<double>(decisions);
}

double RewardStats::abstain_rate() const {
  return decisions == 0
             ? 0
             : static_cast<double>(abstained) / static_cast<double>(decisions);
}

void RankClicks::Add(size_t ranks,
                     std::span<const std::pair<uint32_t, double>> clicks) {
  if (shown.size() < ranks) {
    shown.resize(ranks);
    clicked.resize(ranks);
  }
  for (size_t rank = 0; rank < ranks; ++rank) ++shown[rank];
  for (const auto& [rank, reward] : clicks) ++clicked[rank];
}

void RankClicks::Merge(const RankClicks& other) {
  if (shown.size() < other.shown.size()) {
    shown.resize(other.shown.size());
    clicked.resize(other.shown.size());
  }
  for (size_t rank = 0; rank < other.shown.size(); ++rank) {
    shown[rank] += other.shown[rank];
    clicked[rank] += other.clicked[rank];
  }
}

void SimulateResult::Merge(const SimulateResult& other) {
  rewards.Merge(other.rewards);
  ranks.Merge(other.ranks);
  for (const auto& [model, stats] : other.models) models[model].Merge(stats);
  failed += other.failed;
  failed_reports += other.failed_reports;
  for (const auto& [code, count] : other.failures) failures[code] += count;
  if (first_failure.empty()) first_failure = other.first_failure;
  degraded += other.degraded;
  shown_reported += other.shown_reported;
  feedback_reported += other.feedback_reported;
  latency.Merge(other.latency);
}

namespace {

absl::Status CheckData(const LabelledQueries& queries) {
  if (queries.queries.empty()) {
    return absl::InvalidArgumentError("data holds no queries");
  }
  return absl::OkStatus();
}

std::string IdPrefix(const config::v1::SimulateOptions& options) {
  const std::string prefix = absl::StrCat("sim-", options.seed(), "-");
  if (!options.unique_ids()) return prefix;
  const uint64_t run = HashBytes(MakeUuidV7()).low;
  return absl::StrCat(prefix, absl::Hex(run, absl::kZeroPad16), "-");
}

absl::StatusOr<std::optional<uint64_t>> UntilVersion(
    const config::v1::SimulateOptions& options) {
  if (options.until_version().empty()) return std::optional<uint64_t>();
  uint64_t version = 0;
  if (!absl::SimpleAtoi(options.until_version(), &version)) {
    return absl::InvalidArgumentError(
        absl::StrCat("until_version is \"", options.until_version(),
                     "\", must be a model version, a number"));
  }
  return std::optional<uint64_t>(version);
}

}  // namespace

absl::StatusOr<SimulateResult> Simulate(
    const config::v1::SimulateOptions& options, const LabelledQueries& queries,
    const std::function<void(const SimulateProgress&)>& report_progress) {
  RETURN_IF_ERROR(CheckData(queries));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> version,
                   UntilVersion(options));
  const Clock::time_point start = Clock::now();
  SharedLoop loop(
      {.decisions = options.decisions(),
       .until_version = version,
       .start = start,
       .deadline =
           start + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(options.max_seconds())),
       .rate = options.rate(),
       .id_prefix = IdPrefix(options)});
  std::vector<std::unique_ptr<FrontEnd>> front_ends;
  for (uint32_t i = 0; i < options.connections(); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<FrontEnd> front_end,
                     FrontEnd::Create(options, queries, &loop));
    front_ends.push_back(std::move(front_end));
  }
  std::mutex mutex;
  std::condition_variable all_done;
  size_t running = front_ends.size();
  std::vector<std::thread> threads;
  for (const auto& front_end : front_ends) {
    threads.emplace_back([&] {
      front_end->Run();
      const std::lock_guard lock(mutex);
      if (--running == 0) all_done.notify_one();
    });
  }
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  {
    std::unique_lock lock(mutex);
    while (!all_done.wait_for(lock, std::chrono::milliseconds(500),
                              [&] { return running == 0; })) {
      if (report_progress) {
        report_progress({loop.asked(), loop.failed(), seconds()});
      }
    }
  }
  for (std::thread& thread : threads) thread.join();
  SimulateResult result;
  for (const auto& front_end : front_ends) result.Merge(front_end->result());
  result.seconds = seconds();
  result.version_seen = loop.version_seen();
  return result;
}

}  // namespace sortition
