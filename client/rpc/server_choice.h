#pragma once
// Which of several servers a call tries, and in which order.
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// The addresses of a client, and which of them are away. Thread-safe.
//
// The id of a decision puts the servers into an order: by the hash of address
// and id, largest first (rendezvous hashing), as in the clients for Python and
// Node. A server that is added or removed takes over, or leaves, only its own
// share of the ids.
//
// A server is away for a while after a call to it failed. That while doubles as
// long as failures follow each other. After it, one call tries the server
// again.
class ServerChoice {
 public:
  using Clock = std::chrono::steady_clock;

  // `addresses` must not be empty. `retry_budget`: CallOptions::retry_budget.
  ServerChoice(std::vector<std::string> addresses, uint32_t retry_budget);

  const std::vector<std::string>& addresses() const { return addresses_; }

  // Returns the index of the decision's server: the one that answered, if
  // Decided() was called for the id, else the one that the id chooses.
  size_t Of(absl::string_view decision_id) const;

  // Returns all servers in the order in which a call about the decision tries
  // them: that of the decision first, and those that are away last.
  std::vector<size_t> Route(absl::string_view decision_id,
                            Clock::time_point now) const;
  // Returns `servers` with those that are away behind the others.
  std::vector<size_t> ThoseAwayLast(std::vector<size_t> servers,
                                    Clock::time_point now) const;

  // Returns a new UUID; a few tries look for one of a server that is not away.
  std::string NewDecisionId(Clock::time_point now) const;

  // Notes that a call goes to the server. If the last one failed, other calls
  // avoid the server until this one has been answered, or for twice as long.
  void Begin(size_t server, Clock::time_point now);
  // Notes that a call found the server away. Calls that fail together count as
  // one failure.
  void Failed(size_t server, Clock::time_point now);
  // Notes that the server answered a call, be it by an error.
  void Answered(size_t server);

  // Takes one retry from the budget of all calls; returns false if it is empty.
  bool TakeRetry();

  // Remembers the server that answered, for reports, unless the id chooses it
  // anyway. The last kMaxMoved decisions are remembered.
  void Decided(absl::string_view decision_id, size_t server);

  static constexpr std::chrono::milliseconds kFirstAvoidance{200};
  static constexpr std::chrono::milliseconds kMaxAvoidance{10'000};
  static constexpr size_t kMaxMoved = 10'000;
  static constexpr uint32_t kAnswersPerRetry = 10;

 private:
  struct Server {
    Clock::time_point avoided_until;
    Clock::duration avoidance{0};  // 0: the last call was answered.
  };

  std::vector<size_t> ByHash(absl::string_view decision_id) const;
  bool IsAway(size_t server, Clock::time_point now) const;

  const std::vector<std::string> addresses_;
  const uint64_t max_budget_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Server> servers_;
  uint64_t budget_;  // In answers.
  std::unordered_map<std::string, size_t> moved_;
  std::deque<std::string> moved_order_;  // Keys of `moved_`, oldest first.
};

}  // namespace sortition
