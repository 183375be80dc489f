#include "bench/serving/stream_loop.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Tags are the addresses of these.
struct Stream {
  enum Operation { kStart, kWrite, kRead };
  struct Event {
    Stream* stream;
    Operation operation;
  };
  std::unique_ptr<v1::Ranking::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::RankStreamRequest,
                                                v1::RankStreamResponse>>
      calls;
  v1::RankStreamResponse response;
  std::deque<Clock::time_point> sent;  // Of the requests under way.
  bool is_writing = false;
  Event start{this, kStart};
  Event write{this, kWrite};
  Event read{this, kRead};
};

class StreamLoop {
 public:
  StreamLoop(const v1::RankRequest& request, int port,
             const ClosedLoopOptions& options)
      : options_(options),
        window_(std::max(1, options.outstanding / options.channels)),
        streams_(options.channels) {
    *request_.mutable_rank() = request;
    for (Stream& stream : streams_) {
      stream.stub = ConnectRank(port);
      stream.calls =
          stream.stub->AsyncRankStream(&stream.context, &queue_, &stream.start);
    }
  }
  ~StreamLoop() {
    for (Stream& stream : streams_) stream.context.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  absl::StatusOr<ClosedLoopResult> Run(const ChildProcess& server) {
    RETURN_IF_ERROR(Turn(options_.warmup_seconds));
    latencies_.clear();
    const Clock::time_point start = Clock::now();
    ASSIGN_OR_RETURN(const double cpu_start, server.CpuSeconds());
    RETURN_IF_ERROR(Turn(options_.seconds));
    const double elapsed = Seconds(Clock::now() - start).count();
    ASSIGN_OR_RETURN(const double cpu_end, server.CpuSeconds());
    if (latencies_.empty()) {
      return absl::UnavailableError("no request was answered");
    }
    std::sort(latencies_.begin(), latencies_.end());
    const auto answered = static_cast<double>(latencies_.size());
    ClosedLoopResult result;
    result.requests_per_second = answered / elapsed;
    result.server_microseconds = 1e6 * (cpu_end - cpu_start) / answered;
    result.p50_milliseconds = latencies_[latencies_.size() / 2];
    result.p99_milliseconds = latencies_[latencies_.size() * 99 / 100];
    result.p999_milliseconds = latencies_[latencies_.size() * 999 / 1000];
    return result;
  }

 private:
  absl::Status Turn(double seconds) {
    const Clock::time_point end =
        Clock::now() +
        std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    void* tag = nullptr;
    bool ok = false;
    while (Clock::now() < end && queue_.Next(&tag, &ok)) {
      if (!ok) return absl::UnavailableError("a stream ended");
      const auto& event = *static_cast<Stream::Event*>(tag);
      Stream& stream = *event.stream;
      if (event.operation == Stream::kWrite) stream.is_writing = false;
      if (event.operation == Stream::kRead) {
        if (!stream.response.has_rank()) {
          return absl::UnavailableError(stream.response.error().message());
        }
        latencies_.push_back(
            1e3 * Seconds(Clock::now() - stream.sent.front()).count());
        stream.sent.pop_front();
      }
      if (event.operation != Stream::kWrite) {
        stream.calls->Read(&stream.response, &stream.read);
      }
      if (!stream.is_writing && stream.sent.size() < window_) {
        stream.is_writing = true;
        stream.sent.push_back(Clock::now());
        stream.calls->Write(request_, &stream.write);
      }
    }
    return absl::OkStatus();
  }

  const ClosedLoopOptions options_;
  const size_t window_;
  v1::RankStreamRequest request_;
  grpc::CompletionQueue queue_;
  std::vector<Stream> streams_;
  std::vector<double> latencies_;  // Milliseconds.
};

}  // namespace

absl::StatusOr<ClosedLoopResult> RunStreamLoop(
    const v1::RankRequest& request, int port, const ChildProcess& server,
    const ClosedLoopOptions& options) {
  return StreamLoop(request, port, options).Run(server);
}

}  // namespace sortition
