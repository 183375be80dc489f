#include "bench/speed/open_loop.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "bench/speed/closed_loop.h"
#include "core/base/random.h"

namespace sortition {
namespace {

using Clock = std::chrono::system_clock;
using Seconds = std::chrono::duration<double>;

struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RankResponse>> reader;
  v1::RankResponse response;
  grpc::Status status;
  Clock::time_point due;
};

class OpenLoop {
 public:
  OpenLoop(const v1::RankRequest& request, int port,
           const OpenLoopOptions& options)
      : request_(request), options_(options), random_(SeedKey(3)) {
    for (int i = 0; i < options.channels; ++i) {
      stubs_.push_back(ConnectRank(port));
    }
  }

  absl::StatusOr<std::vector<double>> Run() {
    start_ = Clock::now();
    Clock::time_point next = start_;
    const Clock::time_point end =
        start_ + Duration(options_.warmup_seconds + options_.seconds);
    while (next < end || under_way_ > 0) {
      while (next < end && next <= Clock::now()) {
        Send(next);
        next += Duration(-std::log(1 - random_.Uniform()) /
                         options_.requests_per_second);
      }
      TakeAnswer(next < end ? next : Clock::now() + Duration(1));
    }
    if (!failure_.ok()) return failure_;
    std::sort(latencies_.begin(), latencies_.end());
    return std::move(latencies_);
  }

 private:
  static Clock::duration Duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }

  void Send(Clock::time_point due) {
    auto call = std::make_unique<Call>();
    call->due = due;
    call->context.set_deadline(due + std::chrono::seconds(10));
    call->reader = stubs_[sent_++ % stubs_.size()]->AsyncRank(
        &call->context, request_, &queue_);
    Call* const tag = call.release();
    tag->reader->Finish(&tag->response, &tag->status, tag);
    ++under_way_;
  }

  // Waits for an answer until `latest`.
  void TakeAnswer(Clock::time_point latest) {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, latest) !=
        grpc::CompletionQueue::GOT_EVENT) {
      return;
    }
    --under_way_;
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    if (!call->status.ok()) {
      failure_ = absl::UnavailableError(call->status.error_message());
    } else if (call->due >= start_ + Duration(options_.warmup_seconds)) {
      latencies_.push_back(1e3 * Seconds(Clock::now() - call->due).count());
    }
  }

  const v1::RankRequest& request_;
  const OpenLoopOptions options_;
  RandomSequence random_;
  std::vector<std::unique_ptr<v1::Ranking::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  Clock::time_point start_;
  size_t sent_ = 0;
  size_t under_way_ = 0;
  std::vector<double> latencies_;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<std::vector<double>> RunOpenLoop(
    const v1::RankRequest& request, int port, const OpenLoopOptions& options) {
  return OpenLoop(request, port, options).Run();
}

}  // namespace sortition
