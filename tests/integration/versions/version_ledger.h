#pragma once
// Which version was to serve when, by what the control plane was told; and
// clients that note which version answered.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Steady time, in nanoseconds.
inline int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the control plane has asked for, by steady time in nanoseconds.
// Thread-safe.
class VersionLedger {
 public:
  // What a request asks for, besides an answer.
  struct Request {
    std::string unit_id;
    std::string decision_id;
    std::string label;  // May be empty.
  };

  // A change begins: from now on requests may see what it brings.
  void Begin();
  // It is in force: from now on no request sees what was before. `version`
  // serves where no arm does.
  void End(const model::v1::Serving& serving, uint64_t version);

  // Whether `version` was to answer at some time in [start, end]. Call it after
  // the last End().
  bool WasToServe(const Request& request, uint64_t version, int64_t start,
                  int64_t end) const;

 private:
  struct State {
    model::v1::Serving serving;
    uint64_t version = 0;
    int64_t begin = 0;  // Of its change; the next one's End() ends it.
    int64_t in_force = 0;
  };
  // Returns the version that is to answer; 0: none.
  static uint64_t VersionOf(const State& state, const Request& request);

  mutable std::mutex mutex_;
  int64_t begin_ = 0;
  std::vector<State> states_;  // By time.
};

// Closed-loop clients of "default": with unit ids, without, and with the label
// "stable". Checks nothing until Stop().
class VersionLoad {
 public:
  VersionLoad(const std::string& address, int threads);
  ~VersionLoad() { Stop(); }
  void Stop();

  uint64_t num_answered() const { return num_answered_; }

  struct Answer {
    VersionLedger::Request request;
    uint64_t version = 0;
    int64_t start = 0;
    int64_t end = 0;
  };
  // Valid after Stop().
  const std::vector<Answer>& answers() const { return answers_; }
  const std::map<std::string, int>& failures() const { return failures_; }

 private:
  void Run(const std::string& address, int thread_index);

  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> num_answered_{0};
  std::mutex mutex_;
  std::vector<Answer> answers_;
  std::map<std::string, int> failures_;  // Count by message.
  std::vector<std::thread> threads_;
};

}  // namespace sortition
