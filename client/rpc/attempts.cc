#include "client/rpc/attempts.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// A server that closes its port ends calls as CANCELLED; callers cannot: they
// never see the context of a call.
bool IsAway(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kCancelled;
}

bool IsLate(const absl::Status& status) {
  return status.code() == absl::StatusCode::kDeadlineExceeded;
}

}  // namespace

Attempts::Attempts(const AttemptLimits& limits, std::vector<size_t> route,
                   ServerChoice* choice)
    : limits_(limits),
      route_(std::move(route)),
      choice_(*choice),
      untried_(route_.rbegin(), route_.rend()),
      backoff_seconds_(limits.first_backoff_seconds) {
  TakeNext();
}

void Attempts::TakeNext() {
  server_ = untried_.back();
  untried_.pop_back();
}

Attempts::Clock::time_point Attempts::Begin(Clock::time_point now) {
  ++number_;
  choice_.Begin(server_, now);
  const bool is_shared = limits_.shares_time && !untried_.empty();
  attempt_time_ = (limits_.deadline - now) / (is_shared ? 2 : 1);
  return now + attempt_time_;
}

std::optional<Attempts::Clock::duration> Attempts::PauseAfter(
    const Failure& failure, double jitter, Clock::time_point now) {
  Note(failure.status);
  const bool gave_no_answer =
      IsLate(failure.status) && HasSeveral() && now < limits_.deadline;
  const bool is_overloaded =
      failure.retry_after_seconds.has_value() && HasSeveral();
  if (IsAway(failure.status) || gave_no_answer) {
    choice_.Failed(server_, now);
  } else if (!is_overloaded) {
    if (!IsLate(failure.status)) choice_.Answered(server_);
    return std::nullopt;
  }
  if (!first_.has_value()) first_ = last_;
  if (!untried_.empty()) {
    if (round_ > 1 && !choice_.TakeRetry()) return std::nullopt;
    TakeNext();
    return Clock::duration::zero();
  }
  if (round_ >= limits_.max_rounds) return std::nullopt;
  if (HasSeveral() && !choice_.TakeRetry()) return std::nullopt;
  // Callers that were refused together come back one after the other.
  const double pause_seconds = is_overloaded
                                   ? *failure.retry_after_seconds * (1 + jitter)
                                   : backoff_seconds_ * jitter;
  ++round_;
  backoff_seconds_ =
      std::min(2 * backoff_seconds_, limits_.max_backoff_seconds);
  const std::vector<size_t> next = choice_.ThoseAwayLast(route_, now);
  untried_.assign(next.rbegin(), next.rend());
  TakeNext();
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(pause_seconds));
}

void Attempts::Note(const absl::Status& status) {
  last_ = status;
  if (IsLate(status) && HasSeveral()) {
    last_ = absl::DeadlineExceededError(
        absl::StrFormat("no answer within %.3g s",
                        std::chrono::duration<double>(attempt_time_).count()));
  }
  const auto before =
      std::find_if(tried_.begin(), tried_.end(),
                   [&](const auto& tried) { return tried.first == server_; });
  absl::Status noted = last_;
  if (before != tried_.end()) {
    // Why the server was away says more than that the time was over.
    if (IsLate(noted)) noted = before->second;
    tried_.erase(before);
  }
  tried_.emplace_back(server_, noted);
}

absl::Status Attempts::Error() const {
  if (!HasSeveral()) return last_;
  const absl::Status& reason =
      IsLate(last_) && first_.has_value() ? *first_ : last_;
  std::string message;
  for (const auto& [server, status] : tried_) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", "server ",
                    choice_.addresses()[server], ": ",
                    absl::StatusCodeToString(status.code()), ": ",
                    status.message());
  }
  if (number_ > 1) absl::StrAppend(&message, " (", number_, " attempts)");
  return absl::Status(reason.code(), message);
}

}  // namespace sortition
