#include "server/rpc/rank_stream_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace sortition {
namespace {

void Serialize(const v1::RankStreamResponse& response,
               grpc::ByteBuffer* bytes) {
  bool own = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, v1::RankStreamResponse>(
      response, bytes, &own);
}

void SerializeError(const absl::Status& status, grpc::ByteBuffer* bytes) {
  v1::RankStreamResponse response;
  response.mutable_error()->set_code(status.raw_code());
  response.mutable_error()->set_message(std::string(status.message()));
  bytes->Clear();  // An answer that must not be given.
  Serialize(response, bytes);
}

}  // namespace

RankStreams::RankStreams(const RankStreamMethod* method, CallQueue* queue)
    : method_(method), queue_(queue) {
  Listen();
}

RankStreams::~RankStreams() = default;

void RankStreams::Listen() {
  auto call = std::make_unique<RankStreamCall>(this);
  RankStreamCall* const waiting = call.get();
  calls_.emplace(waiting, std::move(call));
  waiting->Listen();
}

void RankStreams::Proceed(bool) {
  std::vector<RankStreamCall*> calls;
  for (const auto& [call, unused] : calls_) calls.push_back(call);
  for (RankStreamCall* call : calls) call->End(DrainingError());
}

RankStreamCall::Item::Item(RankStreamCall* call)
    : RequestInWork(call->method_, call->queue_), call_(call) {}

absl::Status RankStreamCall::Item::Decide(DecisionScratch* scratch) {
  if (is_in_pool()) {
    RankStreams::Messages messages;
    return DecideWith(&messages, scratch);
  }
  RankStreams::Messages& messages = call_->streams_->messages_;
  absl::Status status = DecideWith(&messages, scratch);
  if (bytes() > kKeptBytes) messages = RankStreams::Messages();
  return status;
}

absl::Status RankStreamCall::Item::DecideWith(RankStreams::Messages* messages,
                                              DecisionScratch* scratch) {
  RETURN_IF_ERROR(Parse(&messages->request, scratch));
  RETURN_IF_ERROR(Handle(messages, scratch));
  Serialize(messages->response, &answer_);
  return absl::OkStatus();
}

absl::Status RankStreamCall::Item::Handle(RankStreams::Messages* messages,
                                          DecisionScratch* scratch) {
  RankingService& ranking = *call_->method_->ranking;
  const v1::RankStreamRequest& request = messages->request;
  v1::RankStreamResponse& response = messages->response;
  switch (request.request_case()) {
    case v1::RankStreamRequest::kRank:
      return ranking.Rank(request.rank(), scratch, response.mutable_rank());
    case v1::RankStreamRequest::kSelect:
      return ranking.Select(request.select(), scratch,
                            response.mutable_select());
    case v1::RankStreamRequest::kLabel:
      return ranking.Label(request.label(), scratch, response.mutable_label());
    case v1::RankStreamRequest::REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "request is unset: must be rank, select or label");
}

void RankStreamCall::Item::Answer() {
  if (std::exchange(is_deciding_, false)) call_->is_deciding_ = false;
  is_done_ = true;
  call_->Advance();
}

void RankStreamCall::Item::OnSyncing() {
  is_deciding_ = call_->is_deciding_ = false;
  call_->Advance();
}

grpc::ByteBuffer& RankStreamCall::Item::Finish(int64_t now) {
  Record(now);
  if (!outcome_.ok()) SerializeError(outcome_, &answer_);
  return answer_;
}

void RankStreamCall::Item::Forget() {
  answer_.Clear();
  End();
}

RankStreamCall::RankStreamCall(RankStreams* streams)
    : streams_(streams),
      method_(streams->method_),
      queue_(streams->queue_),
      stream_(&context_) {}

void RankStreamCall::Listen() {
  if (queue_->closed) return;
  context_.AsyncNotifyWhenDone(&over_);
  method_->ask(&context_, &stream_, queue_->queue.get(), &started_);
}

void RankStreamCall::OnStarted(bool ok) {
  if (!ok) {  // The server is shut down.
    streams_->calls_.erase(this);
    return;
  }
  is_started_ = true;
  start_ = MonotonicNanos();
  method_->metrics->CountStarted();
  streams_->Listen();
  ++queue_->num_calls;
  mark_.emplace(queue_->connections, context_.peer());
  if (absl::Status status = Admit(); !status.ok()) {
    method_->metrics->Record(status.code(), 0);
    method_->log->Note(method_->metrics->method(), context_, status, 0);
    End(status);
  } else {
    Advance();
  }
}

absl::Status RankStreamCall::Admit() {
  RETURN_IF_ERROR(AuthorizeCall(method_->authorizer, method_->role,
                                method_->metrics->method(), context_));
  if (method_->drain->draining.load(std::memory_order_relaxed)) {
    ++method_->drain->refused;
    return DrainingError();
  }
  if (queue_->num_calls <= method_->admission->limits().max_calls()) {
    return absl::OkStatus();
  }
  constexpr double kRetrySeconds = 1;
  context_.AddTrailingMetadata("grpc-retry-pushback-ms",
                               absl::StrCat(RetryMilliseconds(kRetrySeconds)));
  return method_->admission->Refuse({RefusalReason::kCalls, kRetrySeconds});
}

void RankStreamCall::End(const absl::Status& status) {
  if (is_ending_ || !is_started_) return;
  is_ending_ = true;
  end_ = status;
  Advance();
}

void RankStreamCall::OnRead(bool ok) {
  is_reading_ = false;
  if (ok) method_->metrics->CountReceived();
  if (ok && !is_ending_) {
    is_deciding_ = true;
    in_flight_.push_back(std::move(next_));
    in_flight_.back()->Take();  // Perhaps destroys this.
    return;
  }
  next_->payload()->Clear();
  if (ok) {
    ++method_->drain->refused;
  } else {  // The caller has sent everything, or is gone.
    is_ending_ = true;
  }
  Advance();
}

void RankStreamCall::OnWritten(bool ok) {
  is_writing_ = false;
  queue_->unsent.Remove(this);
  if (!ok) is_broken_ = is_ending_ = true;
  Advance();
}

void RankStreamCall::OnFinished(bool) {
  queue_->unsent.Remove(this);
  is_finished_ = true;
  Advance();
}

// What waits is then refused when its turn comes.
void RankStreamCall::OnOver(bool) {
  is_over_ = true;
  if (context_.IsCancelled()) is_cancelled_ = is_broken_ = is_ending_ = true;
  Advance();
}

void RankStreamCall::Advance() {
  while (!is_writing_ && !in_flight_.empty() && in_flight_.front()->is_done()) {
    Write();
  }
  if (!is_reading_ && !is_deciding_ && !is_ending_ &&
      in_flight_.size() < kMaxInFlight) {
    Read();
  }
  if (is_ending_ && !is_finishing_ && in_flight_.empty() && !is_writing_) {
    Finish();
  }
  if (is_finished_ && is_over_ && !is_reading_) {
    --queue_->num_calls;
    method_->metrics->RecordStream(
        is_broken_ ? absl::StatusCode::kCancelled : end_.code(),
        1e-9 * static_cast<double>(MonotonicNanos() - start_));
    streams_->calls_.erase(this);
  }
}

void RankStreamCall::Read() {
  if (queue_->closed) return;
  if (next_ == nullptr && !spare_.empty()) {
    next_ = std::move(spare_.back());
    spare_.pop_back();
  } else if (next_ == nullptr) {
    next_ = std::make_unique<Item>(this);
  }
  is_reading_ = true;
  stream_.Read(next_->payload(), &read_);
}

void RankStreamCall::Write() {
  std::unique_ptr<Item> item = std::move(in_flight_.front());
  in_flight_.pop_front();
  const int64_t now = MonotonicNanos();
  const grpc::ByteBuffer& answer = item->Finish(now);
  if (!is_broken_ && !queue_->closed) {
    // The answer behind this one takes it along.
    grpc::WriteOptions options;
    if (!in_flight_.empty() && in_flight_.front()->is_done()) {
      options.set_buffer_hint();
    }
    is_writing_ = true;
    method_->metrics->CountSent();
    stream_.Write(answer, options, &written_);
    queue_->AddUnsent(this, now);
  }
  item->Forget();
  spare_.push_back(std::move(item));
}

void RankStreamCall::Finish() {
  if (queue_->closed) return;
  is_finishing_ = true;
  stream_.Finish(ToGrpcStatus(end_), &finished_);
  queue_->AddUnsent(this, MonotonicNanos());
}

}  // namespace sortition
