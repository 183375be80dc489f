#pragma once
// Users who read rankings from the top and click, with a ledger of what they
// were told and what they reported.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/rpc/client.h"
#include "core/data/labelled_queries.h"

namespace sortition {

inline constexpr uint32_t kUserFeatures = 5;
inline constexpr uint32_t kUserRanks = 4;
// Rewards of a click, and of a purchase, which names no rank. Sums of them are
// exact, and at most 1.
inline constexpr double kClickReward = 0.1875;
inline constexpr double kPurchaseReward = 0.25;

// One ranking that was answered.
struct RankSession {
  std::string decision_id;
  size_t server = 0;  // That answered it.
  uint64_t version = 0;
  std::vector<uint32_t> order;
  double log_propensity = 0;
  bool is_shown_listed = false;  // Otherwise seen_ranks alone was reported.
  uint32_t seen_ranks = 0;
  std::vector<uint32_t> clicks;  // Ranks, ascending.
  bool has_purchase = false;
  // A reward of 0 without a rank was reported: nothing was clicked.
  bool has_zero = false;

  double click_reward() const {
    return kClickReward * static_cast<double>(clicks.size());
  }
};

// What a tuple must say of its decision, in words that can be compared. Doubles
// are written bit for bit.
using SessionTexts = std::map<std::string, std::string>;  // By decision id.
SessionTexts TextsOf(const std::vector<RankSession>& sessions);
// The same of the tuples in `dir`, whose segments must all be closed and whole.
// Late feedback, and what is there twice, have entries of their own.
SessionTexts TextsOfTuples(const std::string& dir);

// Front ends that ask servers in turn. Of four sessions one reports its order
// in two pages, one the second page first, one how far the user looked alone,
// and again when it grows, and one clicks before it says what was shown.
// Reports go to any server.
class RankUsers {
 public:
  RankUsers(const std::vector<std::string>& addresses, int num_threads);
  ~RankUsers() { Stop(); }

  // Starts users who ask until `answers` more have come from this version, or
  // from any.
  void Start(uint64_t answers, std::optional<uint64_t> version = std::nullopt);
  // Waits until half of them have come.
  bool WaitForHalf();
  // Waits until all have come, and everything is reported.
  bool Finish();

  // Valid after Finish(). In any order.
  const std::vector<RankSession>& sessions() const { return sessions_; }
  std::vector<RankSession> SessionsOf(uint64_t version) const;
  // Messages of calls that failed.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  void Run();
  void Stop();
  void Ask(uint64_t index);
  void Report(const RankSession& session, uint64_t index);
  void ReportShown(const RankSession& session, uint64_t index);
  void ReportFeedback(const RankSession& session, uint64_t index);
  // Returns a server that is independent of the one that decided.
  Client& Receiver(uint64_t index) const;
  void Note(const absl::Status& status);

  const int num_threads_;
  const LabelledQueries world_;
  std::vector<std::unique_ptr<Client>> servers_;
  std::atomic<uint64_t> next_index_ = 0;
  std::atomic<uint64_t> num_answers_ = 0;  // That count.
  std::atomic<uint64_t> target_ = 0;
  uint64_t first_answer_ = 0;
  std::optional<uint64_t> version_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;  // Guards what follows while threads run.
  std::vector<RankSession> sessions_;
  std::vector<std::string> failures_;
};

}  // namespace sortition
