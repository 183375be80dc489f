#include "bench/serving/open_loop.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

Clock::duration Duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

struct OpenCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
  Clock::time_point start;  // When it should have been sent.
};

class Generator {
 public:
  Generator(int port, const OpenLoopOptions& options)
      : options_(options), slice_(options.request), request_(&slice_, 1) {
    for (int i = 0; i < options.channels; ++i) {
      grpc::ChannelArguments arguments;
      // Without this, all channels would share one connection.
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(
          std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
              absl::StrCat("127.0.0.1:", port),
              grpc::InsecureChannelCredentials(), arguments)));
    }
  }

  void Send(Clock::time_point start) {
    auto* call = new OpenCall;
    call->start = start;
    const auto lag = Clock::now() - start;
    lags_.push_back(static_cast<float>(1e3 * Seconds(lag).count()));
    call->context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            Seconds(options_.deadline_seconds) - lag));
    call->reader = stubs_[num_sent_++ % stubs_.size()]->PrepareUnaryCall(
        &call->context, options_.method, request_, &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->response, &call->status, call);
    ++under_way_;
  }

  // Takes one answer, if one comes until `end`; true if one came.
  bool Take(Clock::time_point end) {
    void* tag = nullptr;
    bool ok = false;
    const auto wait = std::max(end - Clock::now(), Clock::duration(0));
    if (queue_.AsyncNext(
            &tag, &ok,
            std::chrono::system_clock::now() +
                std::chrono::duration_cast<std::chrono::system_clock::duration>(
                    wait)) != grpc::CompletionQueue::GOT_EVENT) {
      return false;
    }
    --under_way_;
    const std::unique_ptr<OpenCall> call(static_cast<OpenCall*>(tag));
    if (call->start < counted_from_) return true;
    switch (call->status.error_code()) {
      case grpc::StatusCode::OK:
        latencies_.push_back(static_cast<float>(
            1e3 * Seconds(Clock::now() - call->start).count()));
        break;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        ++num_refused_;
        break;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        ++num_expired_;
        break;
      default:
        ++result_.failed;
    }
    return true;
  }

  OpenLoopResult Run() {
    RandomSequence random(SeedKey(options_.seed));
    const Clock::time_point start = Clock::now();
    counted_from_ = start + Duration(options_.warmup_seconds);
    const Clock::time_point end = counted_from_ + Duration(options_.seconds);
    Clock::time_point next = start;
    while (next < end) {
      while (Clock::now() >= next && next < end) {
        Send(next);
        next += Duration(-std::log1p(-random.Uniform()) /
                         options_.requests_per_second);
      }
      Take(next);
    }
    while (under_way_ > 0) Take(Clock::now() + Duration(1));
    const auto rate = [this](size_t count) {
      return static_cast<double>(count) / options_.seconds;
    };
    result_.goodput = rate(latencies_.size());
    result_.refused = rate(num_refused_);
    result_.expired = rate(num_expired_);
    result_.p50_milliseconds = Quantile(&latencies_, 0.5);
    result_.p99_milliseconds = Quantile(&latencies_, 0.99);
    result_.milliseconds.assign(latencies_.begin(), latencies_.end());
    result_.lag_milliseconds = Quantile(&lags_, 0.99);
    return result_;
  }

  double Capacity(int outstanding) {
    const auto turn = [&](double seconds) {
      const Clock::time_point end = Clock::now() + Duration(seconds);
      while (Clock::now() < end) {
        if (Take(end)) Send(Clock::now());
      }
    };
    for (int i = 0; i < outstanding; ++i) Send(Clock::now());
    turn(0.3);
    latencies_.clear();
    turn(options_.seconds);
    const auto answered = static_cast<double>(latencies_.size());
    while (under_way_ > 0) Take(Clock::now() + Duration(1));
    return answered / options_.seconds;
  }

 private:
  static double Quantile(std::vector<float>* values, double level) {
    if (values->empty()) return std::nan("");
    std::sort(values->begin(), values->end());
    return (*values)[static_cast<size_t>(
        level * static_cast<double>(values->size() - 1))];
  }

  const OpenLoopOptions& options_;
  const grpc::Slice slice_;
  const grpc::ByteBuffer request_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  Clock::time_point counted_from_;
  size_t num_sent_ = 0;
  size_t under_way_ = 0;
  size_t num_refused_ = 0;
  size_t num_expired_ = 0;
  std::vector<float> latencies_;  // Milliseconds; so are the next.
  std::vector<float> lags_;
  OpenLoopResult result_;
};

}  // namespace

absl::StatusOr<OpenLoopResult> RunOpenLoop(int port,
                                           const OpenLoopOptions& options) {
  const OpenLoopResult result = Generator(port, options).Run();
  if (result.goodput > 0) return result;
  return absl::UnavailableError(absl::StrCat(
      "no request was answered: ", result.refused, " refused, ", result.expired,
      " expired per second, ", result.failed, " failed"));
}

absl::StatusOr<double> MeasureCapacity(int port, const OpenLoopOptions& options,
                                       int outstanding) {
  const double capacity = Generator(port, options).Capacity(outstanding);
  if (capacity > 0) return capacity;
  return absl::UnavailableError("no request was answered");
}

}  // namespace sortition
