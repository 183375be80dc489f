#include "bench/serving/closed_loop.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

Clock::duration Duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

class ClosedLoop {
 public:
  ClosedLoop(const v1::RankRequest& request, int port,
             const ClosedLoopOptions& options)
      : request_(request), options_(options) {
    for (int i = 0; i < options.channels; ++i)
      stubs_.push_back(ConnectRank(port));
    calls_.resize(options.outstanding);
  }

  absl::StatusOr<ClosedLoopResult> Run(const ChildProcess& server) {
    for (size_t i = 0; i < calls_.size(); ++i) Send(i);
    Turn(Clock::now() + Duration(options_.warmup_seconds), true);
    latencies_.clear();
    const Clock::time_point start = Clock::now();
    ASSIGN_OR_RETURN(const double cpu_start, server.CpuSeconds());
    Turn(start + Duration(options_.seconds), true);
    const double elapsed = Seconds(Clock::now() - start).count();
    ASSIGN_OR_RETURN(const double cpu_end, server.CpuSeconds());
    const auto answered = static_cast<double>(latencies_.size());
    std::vector<float> latencies = std::move(latencies_);
    Turn(Clock::time_point::max(), false);
    if (latencies.empty()) {
      return absl::UnavailableError("no request was answered: " +
                                    result_.failure);
    }
    std::sort(latencies.begin(), latencies.end());
    result_.requests_per_second = answered / elapsed;
    result_.server_microseconds = 1e6 * (cpu_end - cpu_start) / answered;
    result_.p50_milliseconds = latencies[latencies.size() / 2];
    result_.p99_milliseconds = latencies[latencies.size() * 99 / 100];
    result_.p999_milliseconds = latencies[latencies.size() * 999 / 1000];
    return result_;
  }

 private:
  struct Call {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RankResponse>> reader;
    v1::RankResponse response;
    grpc::Status status;
    Clock::time_point sent;
  };

  void Send(size_t index) {
    Call& call = calls_[index];
    call.context = std::make_unique<grpc::ClientContext>();
    call.context->set_deadline(std::chrono::system_clock::now() +
                               std::chrono::seconds(10));
    if (!options_.traceparent.empty()) {
      call.context->AddMetadata("traceparent", options_.traceparent);
    }
    call.sent = Clock::now();
    call.reader = stubs_[index % stubs_.size()]->AsyncRank(call.context.get(),
                                                           request_, &queue_);
    call.reader->Finish(&call.response, &call.status,
                        reinterpret_cast<void*>(index));
    ++under_way_;
  }

  // Takes answers until `end`, or until no request is under way. If `again`,
  // each answer is followed by another request.
  void Turn(Clock::time_point end, bool again) {
    void* tag = nullptr;
    bool ok = false;
    while (under_way_ > 0 && Clock::now() < end && queue_.Next(&tag, &ok)) {
      --under_way_;
      const auto index = reinterpret_cast<size_t>(tag);
      Call& call = calls_[index];
      if (call.status.ok()) {
        latencies_.push_back(static_cast<float>(
            1e3 * Seconds(Clock::now() - call.sent).count()));
      } else if (result_.failed++ == 0) {
        result_.failure = call.status.error_message();
      }
      if (again) Send(index);
    }
  }

  const v1::RankRequest& request_;
  const ClosedLoopOptions options_;
  std::vector<std::unique_ptr<v1::Ranking::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  std::vector<Call> calls_;
  size_t under_way_ = 0;
  std::vector<float> latencies_;  // Milliseconds.
  ClosedLoopResult result_;
};

}  // namespace

std::unique_ptr<v1::Ranking::Stub> ConnectRank(int port) {
  grpc::ChannelArguments arguments;
  // Without this, all channels would share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::Ranking::NewStub(
      grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                grpc::InsecureChannelCredentials(), arguments));
}

absl::StatusOr<ClosedLoopResult> RunClosedLoop(
    const v1::RankRequest& request, int port, const ChildProcess& server,
    const ClosedLoopOptions& options) {
  return ClosedLoop(request, port, options).Run(server);
}

absl::StatusOr<v1::RankResponse> RankOnce(const v1::RankRequest& request,
                                          int port) {
  grpc::ClientContext context;
  v1::RankResponse response;
  const grpc::Status status =
      ConnectRank(port)->Rank(&context, request, &response);
  if (!status.ok()) return absl::UnavailableError(status.error_message());
  return response;
}

}  // namespace sortition
