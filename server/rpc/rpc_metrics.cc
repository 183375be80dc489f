#include "server/rpc/rpc_metrics.h"

#include <utility>
#include <vector>

#include "core/base/check.h"

namespace sortition {
namespace {

// Status codes as gRPC's library for Go spells them.
constexpr std::array<const char*, 17> kGrpcCodes = {"OK",
                                                    "Canceled",
                                                    "Unknown",
                                                    "InvalidArgument",
                                                    "DeadlineExceeded",
                                                    "NotFound",
                                                    "AlreadyExists",
                                                    "PermissionDenied",
                                                    "ResourceExhausted",
                                                    "FailedPrecondition",
                                                    "Aborted",
                                                    "OutOfRange",
                                                    "Unimplemented",
                                                    "Internal",
                                                    "Unavailable",
                                                    "DataLoss",
                                                    "Unauthenticated"};

const google::protobuf::MethodDescriptor& MethodOf(
    const google::protobuf::Descriptor& request) {
  const google::protobuf::ServiceDescriptor& service =
      *request.file()->service(0);
  int i = 0;
  for (; i < service.method_count(); ++i) {
    if (service.method(i)->input_type() == &request) break;
  }
  CHECK(i < service.method_count());
  return *service.method(i);
}

MetricLabels LabelsOf(const google::protobuf::MethodDescriptor& method) {
  return {{"grpc_service", method.service()->full_name()},
          {"grpc_method", method.name()},
          {"grpc_type", method.client_streaming() ? "bidi_stream" : "unary"}};
}

CodeCounters::Make RequestCounter(const std::string& method, Metrics* metrics) {
  return [method, metrics](absl::StatusCode code) {
    return metrics->Counter(
        "sortition_requests_total",
        "Requests answered, by method and status code",
        {{"method", method}, {"code", absl::StatusCodeToString(code)}});
  };
}

CodeCounters::Make CallCounter(const MetricLabels& labels, Metrics* metrics) {
  return [labels, metrics](absl::StatusCode code) {
    MetricLabels all = labels;
    all["grpc_code"] = kGrpcCodes[static_cast<size_t>(code)];
    return metrics->Counter("grpc_server_handled_total",
                            "Calls that have ended, by status code", all);
  };
}

// Streams that stay open take hours.
std::vector<double> StreamSeconds() {
  return {1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 21600, 86400};
}

}  // namespace

void CodeCounters::Increment(absl::StatusCode code) {
  // A code that does not exist counts as UNKNOWN.
  if (static_cast<size_t>(code) >= kCodes) code = absl::StatusCode::kUnknown;
  auto& place = counters_[static_cast<size_t>(code)];
  MetricCounter* counter = place.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = make_(code);
    place.store(counter, std::memory_order_release);
  }
  counter->Increment();
}

RpcMetrics::RpcMetrics(std::string method,
                       const google::protobuf::Descriptor* request,
                       Metrics* metrics)
    : method_(std::move(method)),
      labels_(LabelsOf(MethodOf(*request))),
      seconds_(metrics->Histogram(
          "sortition_request_seconds",
          "Time from taking up a request to sending its answer, seconds",
          LatencyBuckets(), {{"method", method_}})),
      requests_(RequestCounter(method_, metrics)),
      started_(metrics->Counter("grpc_server_started_total",
                                "Calls that have begun", labels_)),
      received_(metrics->Counter("grpc_server_msg_received_total",
                                 "Messages of calls received", labels_)),
      sent_(metrics->Counter("grpc_server_msg_sent_total",
                             "Messages of calls sent", labels_)),
      handled_(CallCounter(labels_, metrics)) {
  constexpr char kSeconds[] = "grpc_server_handling_seconds";
  constexpr char kHelp[] = "Time from the beginning of a call to its end";
  if (MethodOf(*request).client_streaming()) {
    stream_seconds_ =
        metrics->Histogram(kSeconds, kHelp, StreamSeconds(), labels_);
  } else {
    metrics->AlsoServe(seconds_, kSeconds, kHelp, labels_);
  }
}

void RpcMetrics::Record(absl::StatusCode code, double seconds) {
  seconds_->Observe(seconds);
  requests_.Increment(code);
}

void RpcMetrics::RecordStream(absl::StatusCode code, double seconds) {
  stream_seconds_->Observe(seconds);
  handled_.Increment(code);
}

}  // namespace sortition
