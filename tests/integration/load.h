#pragma once
// Closed-loop clients that call a server until they are stopped.
#include <grpcpp/support/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sortition/v1/ranking.grpc.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// n candidates with d features each, all different, determined by `salt`.
v1::DecisionContext MakeContext(uint32_t num_candidates, uint32_t num_features,
                                uint32_t salt);

// Returns the id of the feedback on a decision.
std::string FeedbackId(const std::string& decision_id);

// Threads that call Select with a new id for every call. A call that failed is
// not repeated, but feedback is, until a server acknowledges it.
class SelectLoad {
 public:
  struct Options {
    std::string address;
    int threads = 4;
    uint32_t num_candidates = 10;
    uint32_t num_features = 8;
    std::string id_prefix = "load";
    // Feedback follows every second answer, with the id FeedbackId().
    bool has_feedback = false;
  };
  explicit SelectLoad(const Options& options);
  ~SelectLoad();  // Stop()

  // Later calls go to `address`.
  void SetAddress(const std::string& address);
  uint64_t num_answered() const { return num_answered_; }
  // True once this version of the model answered a call.
  bool HasSeen(uint64_t version);
  void Stop();

  // Ids of calls that ended with OK; the figures below are of all calls. Valid
  // after Stop().
  const std::vector<std::string>& answered() const { return answered_; }
  // Ids of the feedback that was acknowledged.
  const std::vector<std::string>& reported() const { return reported_; }
  const std::set<uint64_t>& versions() const { return versions_; }
  const std::map<grpc::StatusCode, std::string>& failures() const {
    return failures_;  // First message by code.
  }

 private:
  void Run(int thread_index);
  // Returns true if the call was answered.
  bool Select(v1::Ranking::Stub* stub, const v1::SelectRequest& request);
  bool Report(v1::Ranking::Stub* stub, const std::string& decision_id);
  void NoteFailure(const grpc::Status& status);
  // Waits briefly for another address.
  void WaitAfterFailure(uint64_t generation);

  Options options_;
  std::atomic<uint64_t> num_answered_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t generation_ = 1;  // Counts SetAddress().
  bool stopping_ = false;
  std::vector<std::string> answered_;
  std::vector<std::string> reported_;
  std::set<uint64_t> versions_;
  std::map<grpc::StatusCode, std::string> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace sortition
