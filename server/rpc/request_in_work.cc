#include "server/rpc/request_in_work.h"

#include <grpc/support/time.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/rpc/request_spans.h"
#include "server/rpc/wire_counts.h"

namespace sortition {
namespace {

// When to try again where nothing tells.
constexpr double kRetrySeconds = 0.1;

// What a request takes in the pool that nobody has looked at.
constexpr double kSecondsPerByte = 3e-9;
constexpr double kLeastSeconds = 1e-4;

double SecondsBetween(int64_t start, int64_t end) {
  return static_cast<double>(end - start) * 1e-9;
}

}  // namespace

void RequestInWork::Arrive(absl::Status status) {
  start_ = MonotonicNanos();
  is_in_pool_ = false;
  waits_for_disk_ = false;
  is_half_done_ = false;
  bytes_ = payload_.Length();
  ++queue_->num_calls;
  outcome_ = std::move(status);
  trace_.reset();
  if (outcome_.ok() && method_->tracer != nullptr) {
    trace_ = BeginTrace(*method_->tracer, context(), start_);
  }
  if (outcome_.ok()) outcome_ = Admit();
  if (!outcome_.ok()) {
    payload_.Clear();
    Answer();
  } else if (method_->is_never_refused) {
    TakeUp();
  } else {
    queue_->waiting.Add(this);
  }
}

absl::Status RequestInWork::Admit() {
  if (method_->is_never_refused) {
    if (!is_large()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("request has ", bytes_,
                                                   " bytes: must have at most ",
                                                   method_->large_bytes));
  }
  if (method_->drain->draining.load(std::memory_order_relaxed)) {
    ++method_->drain->refused;
    return DrainingError();
  }
  // There are few slots for control calls.
  if (is_patient() && bytes_ <= method_->large_bytes) return absl::OkStatus();
  if (queue_->num_calls > method_->admission->limits().max_calls()) {
    return Refuse({RefusalReason::kCalls, kRetrySeconds});
  }
  if (const auto refusal = queue_->waiting.Check(SecondsLeft())) {
    return Refuse(*refusal);
  }
  has_budget_ = method_->admission->TakeBytes(bytes_);
  if (has_budget_) return absl::OkStatus();
  return Refuse({RefusalReason::kBytes, kRetrySeconds});
}

void RequestInWork::TakeUp() {
  DecisionScratch& scratch = queue_->scratch;
  scratch.waiter = this;
  scratch.is_waiting = false;
  scratch.may_take_long = method_->is_never_refused;
  scratch.long_seconds = 0;
  outcome_ = CheckWanted(&scratch);
  if (outcome_.ok() && !method_->is_never_refused && !is_patient()) {
    outcome_ =
        CheckWaited(start_, method_->admission->limits().max_wait_seconds());
  }
  const bool is_wanted = outcome_.ok();
  if (is_wanted && !is_large()) {
    BeginDecision(&scratch);
    outcome_ = Decide(&scratch);
  }
  if (is_wanted && (is_large() || scratch.long_seconds > 0) &&
      GiveToPool(scratch.seconds_left, scratch.long_seconds)) {
    return;  // A thread of the pool has it now.
  }
  Release();
  if (!scratch.is_waiting) {
    Answer();
    return;
  }
  waits_for_disk_ = true;
  ++method_->drain->syncing;
  OnSyncing();
}

void RequestInWork::BeginDecision(DecisionScratch* scratch) {
  scratch->trace = trace_.get();
  if (trace_ != nullptr) trace_->decision_ns = TraceNanos();
}

bool RequestInWork::GiveToPool(double seconds_left, double long_seconds) {
  is_in_pool_ = true;
  pooled_ = MonotonicNanos();
  mark_.emplace(queue_->connections, context().peer());
  if (long_seconds <= 0) {
    long_seconds =
        kLeastSeconds + kSecondsPerByte * static_cast<double>(bytes_);
  }
  const auto refusal = method_->pool->Add(
      this, {.seconds = long_seconds, .pace = &method_->pace}, seconds_left);
  if (!refusal.has_value()) return true;
  mark_.reset();
  outcome_ = Refuse(*refusal);
  return false;
}

bool RequestInWork::Run(DecisionScratch* scratch) {
  scratch->waiter = this;
  scratch->is_waiting = false;
  outcome_ = CheckWanted(scratch);
  if (outcome_.ok() && !is_patient()) {
    outcome_ = CheckWaited(
        pooled_, method_->admission->limits().max_long_wait_seconds());
  }
  const bool is_wanted = outcome_.ok();
  if (is_wanted) {
    BeginDecision(scratch);
    outcome_ = Decide(scratch);
  }
  Release();
  const bool waits = scratch->is_waiting;
  if (waits) {
    waits_for_disk_ = true;
    ++method_->drain->syncing;
  }
  if (!waits || is_half_done_.exchange(true)) queue_->returned.Add(this);
  return is_wanted;
}

// The spool's thread goes on with the next sync, the queue's with the answer.
// In the pool this may come before Run() has ended.
void RequestInWork::OnSynced(const absl::Status& status) {
  synced_ = status;
  if (trace_ != nullptr) synced_ns_ = TraceNanos();
  if (is_in_pool_ && !is_half_done_.exchange(true)) return;
  queue_->returned.Add(this);
}

void RequestInWork::Proceed(bool) {
  if (waits_for_disk_) {
    --method_->drain->syncing;
    if (trace_ != nullptr) trace_->appended_ns = synced_ns_;
    if (outcome_.ok() && !synced_.ok()) {
      outcome_ = absl::UnavailableError(absl::StrCat(
          "perhaps logged, but not answered: ", synced_.message()));
      answer_.Clear();
    }
  }
  mark_.reset();
  Answer();
}

void RequestInWork::Release() {
  payload_.Clear();
  if (std::exchange(has_budget_, false)) {
    method_->admission->ReturnBytes(bytes_);
  }
}

void RequestInWork::Record(int64_t now) {
  const double seconds = SecondsBetween(start_, now);
  method_->metrics->Record(outcome_.code(), seconds);
  method_->log->Note(method_->metrics->method(), context(), outcome_, seconds);
  if (trace_ == nullptr) return;
  method_->tracer->Export(
      MakeSpans(*trace_, {method_->full_name, context(), outcome_, now}));
  trace_.reset();
}

absl::Status RequestInWork::Refuse(const Refusal& refusal) {
  HintRetry(RetryMilliseconds(refusal.retry_seconds));
  return method_->admission->Refuse(refusal);
}

double RequestInWork::SecondsLeft() const {
  const gpr_timespec deadline = context().raw_deadline();
  return 1e-6 * gpr_timespec_to_micros(
                    gpr_time_sub(deadline, gpr_now(deadline.clock_type)));
}

absl::Status RequestInWork::CheckWanted(DecisionScratch* scratch) const {
  scratch->seconds_left = SecondsLeft();
  if (scratch->seconds_left < 0) {
    return absl::DeadlineExceededError(
        "deadline passed before the request was taken up; not decided");
  }
  if (is_cancelled()) {
    return absl::CancelledError("cancelled by the caller; not decided");
  }
  return absl::OkStatus();
}

absl::Status RequestInWork::CheckWaited(int64_t start, double most_seconds) {
  if (SecondsBetween(start, MonotonicNanos()) <= most_seconds) {
    return absl::OkStatus();
  }
  return Refuse({RefusalReason::kWaited, kRetrySeconds});
}

absl::Status RequestInWork::Parse(google::protobuf::Message* request,
                                  DecisionScratch* scratch) {
  const bool is_large = bytes_ > method_->large_bytes;
  if (is_large) {
    RETURN_IF_ERROR(
        CheckWireCounts(request->GetDescriptor(), *method_->limits, &payload_));
  }
  grpc::ProtoBufferReader reader(&payload_);
  if (!reader.status().ok() || !request->ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request of ", bytes_, " bytes is not a readable ",
        request->GetDescriptor()->full_name(), " (text fields must be UTF-8)"));
  }
  if (is_large) scratch->seconds_left = SecondsLeft();
  return absl::OkStatus();
}

}  // namespace sortition
