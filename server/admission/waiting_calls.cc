#include "server/admission/waiting_calls.h"

#include <algorithm>
#include <utility>

namespace sortition {
namespace {

// Few enough that calls which come meanwhile, health checks among them, are
// seen soon; more than one, because looking for calls is a system call.
constexpr int kTurn = 8;
constexpr int64_t kTurnNanos = 1'000'000;
// What may be spent on refusing, as a share of the time spent on deciding.
constexpr double kRefusingShare = 0.1;
// What can be saved up for a burst.
constexpr double kMaxCredit = 2e6;

}  // namespace

WaitingCalls::WaitingCalls(Admission* admission)
    : admission_(admission),
      limit_(admission->limits().max_wait_seconds(),
             admission->limits().max_wait_seconds()) {}

std::optional<Refusal> WaitingCalls::Check(double seconds_left) {
  const config::v1::AdmissionLimits& limits = admission_->limits();
  const double wait = EstimateSeconds();
  ++num_checked_;
  std::optional<Refusal> refusal(std::in_place);
  if (calls_.size() >= limits.max_waiting()) {
    *refusal = {RefusalReason::kWaiting, wait};
  } else if (!CannotWait(wait, seconds_left, LongestSeconds(), &*refusal)) {
    return std::nullopt;
  }
  ++num_refused_;
  return refusal;
}

void WaitingCalls::Add(QueuedCall* call) {
  calls_.push_back(call);
  ++admission_->waiting;
}

void WaitingCalls::NoteAllRead() {
  const double calm = admission_->limits().target_wait_seconds() / 2;
  if (num_refused_ == 0 && EstimateSeconds() <= calm) {
    limit_.NoteCalm(MonotonicNanos());
  }
}

double WaitingCalls::LongestSeconds() const {
  return limit_.Seconds(MonotonicNanos(),
                        admission_->limits().target_wait_seconds());
}

void WaitingCalls::Serve(int64_t start) {
  const int64_t begin = MonotonicNanos();
  if (num_refused_ > 0) {
    credit_ -= static_cast<double>(begin - start) *
               static_cast<double>(num_refused_) /
               static_cast<double>(num_checked_);
  }
  const int64_t num_read = std::exchange(num_checked_, 0);
  num_refused_ = 0;
  int count = 0;
  int64_t end = begin;
  for (; count < kTurn && end - begin < kTurnNanos && !calls_.empty();
       ++count) {
    QueuedCall* const call = calls_.front();
    calls_.pop_front();
    --admission_->waiting;
    call->TakeUp();
    end = MonotonicNanos();
  }
  turn_nanos_ = end - begin;
  if (count == 0) return;
  // Of a burst many are read before a few are decided.
  const double reading =
      static_cast<double>(begin - start) /
      static_cast<double>(std::max<int64_t>(num_read, count));
  const double deciding = static_cast<double>(end - begin) / count;
  seconds_per_call_.Add(1e-9 * (reading + deciding));
  credit_ = std::min(
      credit_ + kRefusingShare * static_cast<double>(end - begin), kMaxCredit);
}

UnsentAnswers::UnsentAnswers(Admission* admission)
    : admission_(admission),
      most_nanos_(
          static_cast<int64_t>(1e9 * admission->limits().answer_seconds())) {}

void UnsentAnswers::Add(UnsentAnswer* answer, int64_t now) {
  answer->since_ = now;
  answer->is_listed_ = true;
  answer->place_ = answers_.insert(answers_.end(), answer);
  // Half of the calls, so that there is always room for others.
  while (answers_.size() > admission_->limits().max_calls() / 2) DropFirst();
}

void UnsentAnswers::Remove(UnsentAnswer* answer) {
  if (!answer->is_listed_) return;
  answer->is_listed_ = false;
  answers_.erase(answer->place_);
}

void UnsentAnswers::DropStale(int64_t now) {
  while (!answers_.empty() && NextStale() <= now) DropFirst();
}

void UnsentAnswers::Hurry(double seconds) {
  most_nanos_ = std::min(most_nanos_, static_cast<int64_t>(1e9 * seconds));
}

void UnsentAnswers::DropFirst() {
  UnsentAnswer* const answer = answers_.front();
  Remove(answer);
  admission_->CountDroppedAnswer();
  answer->Drop();
}

}  // namespace sortition
