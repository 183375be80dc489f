#include "server/rpc/rank_stream_call.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/wire_counts.h"

namespace sortition {
namespace {

// Requests of more bytes go to the pool, as unary calls do.
constexpr size_t kLargeBytes = 1 << 20;

absl::Status DrainingError() {
  return absl::UnavailableError(
      "server is draining before it shuts down; ask another one");
}

absl::Status ParseRequest(grpc::ByteBuffer* payload,
                          v1::RankStreamRequest* request) {
  grpc::ProtoBufferReader reader(payload);
  if (reader.status().ok() && request->ParseFromZeroCopyStream(&reader)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "request of ", payload->Length(), " bytes is not a readable ",
      v1::RankStreamRequest::descriptor()->full_name(),
      " (text fields must be UTF-8)"));
}

grpc::ByteBuffer Serialize(const v1::RankStreamResponse& response) {
  grpc::ByteBuffer bytes;
  bool own = false;
  grpc::GenericSerialize<grpc::ProtoBufferWriter, v1::RankStreamResponse>(
      response, &bytes, &own);
  return bytes;
}

grpc::ByteBuffer ErrorAnswer(const absl::Status& status) {
  v1::RankStreamResponse response;
  response.mutable_error()->set_code(status.raw_code());
  response.mutable_error()->set_message(std::string(status.message()));
  return Serialize(response);
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

void RankStreamCall::Item::Proceed(bool) {
  if (is_syncing) {
    is_syncing = false;
    --call->method_->drain->syncing;
    if (status.ok() && !synced.ok()) {
      status = absl::UnavailableError(
          absl::StrCat("perhaps logged, but not answered: ", synced.message()));
    }
  } else {
    call->is_pooled_ = false;
  }
  is_done = true;
  call->Advance();
}

// The spool's thread goes on with the next sync, the queue's with the answer.
void RankStreamCall::Item::OnSynced(const absl::Status& its_status) {
  synced = its_status;
  call->queue_->returned.Add(this);
}

// Also waits for the disk.
void RankStreamCall::Item::Run(DecisionScratch* scratch) {
  scratch->waiter = nullptr;
  call->Decide(scratch, this);
  // A huge request must not hold its memory for ever.
  call->request_ = v1::RankStreamRequest();
  call->queue_->returned.Add(this);
}

RankStreamCall::RankStreamCall(RankStreams* streams)
    : streams_(streams),
      method_(streams->method_),
      queue_(streams->queue_),
      started_(this, &RankStreamCall::OnStarted),
      read_(this, &RankStreamCall::OnRead),
      written_(this, &RankStreamCall::OnWritten),
      finished_(this, &RankStreamCall::OnFinished),
      stream_(&context_) {}

void RankStreamCall::Listen() {
  InQueue([this] {
    method_->ask(&context_, &stream_, queue_->queue.get(), &started_);
  });
}

void RankStreamCall::OnStarted(bool ok) {
  if (!ok) {  // The server is shut down.
    streams_->calls_.erase(this);
    return;
  }
  is_started_ = true;
  streams_->Listen();
  if (absl::Status status = Admit(); !status.ok()) {
    End(status);
  } else {
    Advance();
  }
}

absl::Status RankStreamCall::Admit() const {
  RETURN_IF_ERROR(AuthorizeCall(method_->authorizer, Role::kDecide,
                                method_->metrics->method(), context_));
  if (method_->drain->draining.load(std::memory_order_relaxed)) {
    ++method_->drain->refused;
    return DrainingError();
  }
  return absl::OkStatus();
}

void RankStreamCall::End(const absl::Status& status) {
  if (is_ending_ || !is_started_) return;
  is_ending_ = true;
  end_ = status;
  Advance();
}

void RankStreamCall::OnRead(bool ok) {
  is_reading_ = false;
  if (!ok) {  // The caller has sent everything, or is gone.
    is_ending_ = true;
  } else if (!is_ending_) {
    TakeUp();
  } else {
    ++method_->drain->refused;
  }
  Advance();
}

void RankStreamCall::OnWritten(bool ok) {
  is_writing_ = false;
  if (!ok) is_broken_ = is_ending_ = true;
  Advance();
}

void RankStreamCall::OnFinished(bool) {
  is_finished_ = true;
  Advance();
}

void RankStreamCall::TakeUp() {
  if (spare_.empty()) spare_.push_back(std::make_unique<Item>(this));
  Item* const item = in_flight_.emplace_back(std::move(spare_.back())).get();
  spare_.pop_back();
  item->start = absl::GetCurrentTimeNanos();
  item->is_done = false;
  DecisionScratch& scratch = queue_->scratch;
  if (payload_.Length() > kLargeBytes) {
    // Once given away, the item belongs to a thread of the pool.
    absl::Status status = GiveToPool(&scratch, item);
    if (status.ok()) return;
    payload_.Clear();
    item->status = std::move(status);
    item->is_done = true;
    return;
  }
  scratch.waiter = item;
  scratch.is_waiting = false;
  Decide(&scratch, item);
  item->is_syncing = scratch.is_waiting;
  item->is_done = !item->is_syncing;
  if (item->is_syncing) ++method_->drain->syncing;
}

absl::Status RankStreamCall::GiveToPool(DecisionScratch* scratch, Item* item) {
  RETURN_IF_ERROR(CheckDeadline(scratch));
  is_pooled_ = true;
  const auto refusal = method_->pool->Add(item, scratch->seconds_left);
  if (!refusal.has_value()) return absl::OkStatus();
  is_pooled_ = false;
  return method_->admission->Refuse(*refusal);
}

void RankStreamCall::Decide(DecisionScratch* scratch, Item* item) {
  item->status = Handle(scratch);
  if (item->status.ok()) item->answer = Serialize(response_);
  payload_.Clear();
}

absl::Status RankStreamCall::Handle(DecisionScratch* scratch) {
  RETURN_IF_ERROR(CheckDeadline(scratch));
  if (payload_.Length() > kLargeBytes) {
    RETURN_IF_ERROR(CheckWireCounts(v1::RankStreamRequest::descriptor(),
                                    *method_->limits, &payload_));
  }
  RETURN_IF_ERROR(ParseRequest(&payload_, &request_));
  RankingService& ranking = *method_->ranking;
  switch (request_.request_case()) {
    case v1::RankStreamRequest::kRank:
      return ranking.Rank(request_.rank(), scratch, response_.mutable_rank());
    case v1::RankStreamRequest::kSelect:
      return ranking.Select(request_.select(), scratch,
                            response_.mutable_select());
    case v1::RankStreamRequest::kLabel:
      return ranking.Label(request_.label(), scratch,
                           response_.mutable_label());
    case v1::RankStreamRequest::REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "request is unset: must be rank, select or label");
}

absl::Status RankStreamCall::CheckDeadline(DecisionScratch* scratch) const {
  scratch->seconds_left = std::numeric_limits<double>::infinity();
  const gpr_timespec deadline = context_.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return absl::OkStatus();
  }
  const auto left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec < 0) {
    return absl::DeadlineExceededError(
        "deadline passed before the request was taken up; not decided");
  }
  scratch->seconds_left = 1e-6 * gpr_timespec_to_micros(left);
  return absl::OkStatus();
}

void RankStreamCall::Advance() {
  while (!is_writing_ && !in_flight_.empty() && in_flight_.front()->is_done) {
    Write();
  }
  if (!is_reading_ && !is_pooled_ && !is_ending_ &&
      in_flight_.size() < kMaxInFlight) {
    is_reading_ = InQueue([this] { stream_.Read(&payload_, &read_); });
  }
  if (is_ending_ && !is_finishing_ && in_flight_.empty() && !is_writing_) {
    is_finishing_ =
        InQueue([this] { stream_.Finish(ToGrpcStatus(end_), &finished_); });
  }
  if (is_finished_ && !is_reading_) streams_->calls_.erase(this);
}

void RankStreamCall::Write() {
  std::unique_ptr<Item> item = std::move(in_flight_.front());
  in_flight_.pop_front();
  const double seconds =
      static_cast<double>(absl::GetCurrentTimeNanos() - item->start) * 1e-9;
  method_->metrics->Record(item->status.code(), seconds);
  method_->log->Note(method_->metrics->method(), context_, item->status,
                     seconds);
  if (!is_broken_) {
    if (!item->status.ok()) item->answer = ErrorAnswer(item->status);
    // The answer behind this one takes it along.
    grpc::WriteOptions options;
    if (!in_flight_.empty() && in_flight_.front()->is_done) {
      options.set_buffer_hint();
    }
    is_writing_ =
        InQueue([&] { stream_.Write(item->answer, options, &written_); });
  }
  item->answer.Clear();
  spare_.push_back(std::move(item));
}

template <typename Operation>
bool RankStreamCall::InQueue(const Operation& operation) {
  if (queue_->closed) return false;
  operation();
  return true;
}

}  // namespace sortition
