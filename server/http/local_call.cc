#include "server/http/local_call.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "process/http/http_errors.h"
#include "server/http/unpolled_queue.h"
#include "server/identity/authorizer.h"

namespace sortition {
namespace {

absl::StatusOr<std::chrono::milliseconds> Timeout(const HttpRequest& request,
                                                  double default_seconds) {
  const std::string text = request.header("X-Timeout-Ms");
  int milliseconds = static_cast<int>(1000 * default_seconds);
  if (!text.empty() &&
      (!absl::SimpleAtoi(text, &milliseconds) || milliseconds < 1 ||
       milliseconds > kMaxTimeoutMilliseconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("header \"X-Timeout-Ms\" is \"", text,
                     "\": must be in [1, ", kMaxTimeoutMilliseconds, "]"));
  }
  return std::chrono::milliseconds(milliseconds);
}

// Hands on who calls, and what for. InvalidArgument: gRPC takes no such bytes.
absl::Status SetMetadata(const HttpRequest& request,
                         grpc::ClientContext* context) {
  for (const char* const name :
       {"authorization", "x-request-id", "traceparent"}) {
    const std::string value = request.header(name);
    if (value.empty()) continue;
    if (!std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
      return absl::InvalidArgumentError(
          absl::StrCat("header \"", name, "\": must be printable ASCII"));
    }
    context->AddMetadata(name, value);
  }
  context->AddMetadata(kHttpPeerKey, HttpPeerValue(request.peer));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalCall>> LocalCall::Start(
    const HttpRequest& request, const std::string& path, double default_seconds,
    const std::string& wire, grpc::GenericStub* stub) {
  std::unique_ptr<LocalCall> call(new LocalCall);
  ASSIGN_OR_RETURN(const auto timeout, Timeout(request, default_seconds));
  call->context_.set_deadline(std::chrono::system_clock::now() + timeout);
  RETURN_IF_ERROR(SetMetadata(request, &call->context_));
  call->queue_ = NewUnpolledQueue();
  const grpc::Slice slice(wire);
  call->reader_ = stub->PrepareUnaryCall(
      &call->context_, path, grpc::ByteBuffer(&slice, 1), call->queue_.get());
  call->reader_->StartCall();
  return call;
}

grpc::Status LocalCall::Finish() {
  grpc::Status status;
  reader_->Finish(&response_, &status, nullptr);
  WaitForOne(queue_.get());
  return status;
}

std::string LocalCall::Response() const {
  std::vector<grpc::Slice> slices;
  CHECK(response_.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

HttpAnswer LocalCall::Failure(const grpc::Status& status) const {
  HttpAnswer answer = ErrorAnswer(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                   status.error_message()));
  if (answer.code == 401) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (answer.code != 429 && answer.code != 503) return answer;
  const auto& trailers = context_.GetServerTrailingMetadata();
  const auto hint = trailers.find("grpc-retry-pushback-ms");
  int64_t milliseconds = 0;
  if (hint != trailers.end() &&
      !absl::SimpleAtoi(
          absl::string_view(hint->second.data(), hint->second.size()),
          &milliseconds)) {
    milliseconds = 0;
  }
  // HTTP knows whole seconds only.
  answer.headers.emplace_back(
      "Retry-After",
      absl::StrCat(std::max<int64_t>((milliseconds + 999) / 1000, 1)));
  return answer;
}

HttpAnswer AnswerWithoutBody(const HttpRequest& request,
                             const std::string& path, absl::string_view such_as,
                             grpc::GenericStub* stub) {
  const auto call = LocalCall::Start(request, path, 1, "", stub);
  if (!call.ok()) return ErrorAnswer(call.status());
  const grpc::Status status = (*call)->Finish();
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
      status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
    return (*call)->Failure(status);
  }
  return ErrorAnswer(absl::InvalidArgumentError(
      absl::StrCat("the body is empty: must be a JSON object", such_as)));
}

}  // namespace sortition
