#pragma once
// One connection of the simulator.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/rpc/client.h"
#include "client/simulation/simulate.h"
#include "core/data/labelled_queries.h"
#include "core/simulation/rank_reader.h"
#include "core/simulation/user_model.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

// The state that the connections share. Thread-safe.
class SharedLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // Behaviour of all connections together.
  struct Plan {
    uint64_t decisions = 0;
    std::optional<uint64_t> until_version;
    Clock::time_point start;
    Clock::time_point deadline;
    double rate = 0;        // Decisions per second; 0: no limit.
    std::string id_prefix;  // Decision ids begin with it.
  };
  explicit SharedLoop(Plan plan)
      : plan_(std::move(plan)),
        version_seen_(!plan_.until_version.has_value()) {}

  // Returns the number of the next decision to ask for; nothing at the end.
  std::optional<uint64_t> Next();
  // Returns the earliest time at which to ask for a decision.
  Clock::time_point TimeOf(uint64_t index) const;
  std::string DecisionId(uint64_t index) const;
  void Answered(uint64_t version);
  void Failed() { ++failed_; }

  uint64_t asked() const { return next_; }
  uint64_t failed() const { return failed_; }
  bool version_seen() const { return version_seen_; }

 private:
  const Plan plan_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<bool> version_seen_;
};

// Used by one thread.
class FrontEnd {
 public:
  // `queries` and `loop` must outlive it. InvalidArgument for a bad address or
  // user.
  static absl::StatusOr<std::unique_ptr<FrontEnd>> Create(
      const config::v1::SimulateOptions& options,
      const LabelledQueries& queries, SharedLoop* loop);

  // Asks until the loop ends, then reports what is left to report.
  void Run();

  const SimulateResult& result() const { return result_; }

 private:
  FrontEnd(const config::v1::SimulateOptions& options,
           const LabelledQueries& queries, SharedLoop* loop, RankReader reader,
           std::unique_ptr<Client> client);

  // Waits until the decision may be asked for.
  void WaitFor(uint64_t index);
  void Decide(uint64_t index);
  // Names the user of the decision, who has the same attributes in every run.
  void SetUser(uint64_t index, v1::DecisionContext* context) const;
  void Select(const LabelledQuery& query, v1::DecisionContext context);
  void Rank(const LabelledQuery& query, v1::DecisionContext context);
  void Label(const LabelledQuery& query, v1::DecisionContext context);
  // What a user did with an answer.
  struct Outcome {
    std::vector<uint32_t> shown;
    // Of the whole answer, or of clicks on ranks.
    std::vector<std::pair<std::optional<uint32_t>, double>> rewards;
    std::optional<uint32_t> seen_ranks;
    double expected_reward = 0;

    double reward() const;
  };
  // Counts and reports it.
  void Conclude(const v1::DecisionResult& decision, const Outcome& outcome);
  void ReportShown(const v1::DecisionResult& decision, const Outcome& outcome);
  void SendFeedback();
  void CountFailure(const absl::Status& status, uint64_t* counter);

  const config::v1::SimulateOptions& options_;
  const LabelledQueries& queries_;
  SharedLoop& loop_;
  const std::unique_ptr<Client> client_;
  const UserModel user_;
  const RankReader reader_;
  const std::string seed_text_;
  v1::ReportFeedbackRequest pending_;
  std::chrono::steady_clock::time_point pending_since_;  // Of its first item.
  SimulateResult result_;
};

}  // namespace sortition
