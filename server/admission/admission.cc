#include "server/admission/admission.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr std::array<const char*, 6> kNames = {"waiting",  "wait",  "waited",
                                               "deadline", "calls", "bytes"};

std::string Explain(RefusalReason reason,
                    const config::v1::AdmissionLimits& limits) {
  switch (reason) {
    case RefusalReason::kWaiting:
      return absl::StrCat("admission.max_waiting = ", limits.max_waiting(),
                          " (long calls: admission.max_long_waiting = ",
                          limits.max_long_waiting(), ") calls wait");
    case RefusalReason::kWait:
    case RefusalReason::kWaited:
      return absl::StrCat(
          "calls wait for more than admission.max_wait_seconds = ",
          limits.max_wait_seconds(),
          " (long calls: admission.max_long_wait_seconds = ",
          limits.max_long_wait_seconds(),
          ") or, while waits stay long, admission.target_wait_seconds = ",
          limits.target_wait_seconds());
    case RefusalReason::kDeadline:
      return "the deadline would pass while the call waits";
    case RefusalReason::kCalls:
      return absl::StrCat("admission.max_calls = ", limits.max_calls(),
                          " calls are in work");
    case RefusalReason::kBytes:
      return absl::StrCat("requests in work have admission.work_bytes = ",
                          limits.work_bytes(), " bytes");
  }
  return "";
}

}  // namespace

Admission::Admission(const config::v1::AdmissionLimits& limits,
                     Metrics* metrics)
    : limits_(limits),
      dropped_answers_(metrics->Counter(
          "sortition_answers_dropped_total",
          "Answers that their callers did not take, whose calls were ended")) {
  for (size_t i = 0; i < kReasons; ++i) {
    refused_[i] = metrics->Counter(
        "sortition_requests_refused_total",
        "Requests refused because of overload, by reason (admission.*)",
        {{"reason", kNames[i]}});
  }
  MetricGauge* const short_calls = metrics->Gauge(
      "sortition_calls_waiting", "Calls that wait for a thread, by class",
      {{"class", "short"}});
  MetricGauge* const long_calls = metrics->Gauge(
      "sortition_calls_waiting", "Calls that wait for a thread, by class",
      {{"class", "long"}});
  metrics->OnScrape([this, short_calls, long_calls] {
    short_calls->Set(static_cast<double>(waiting));
    long_calls->Set(static_cast<double>(long_waiting));
  });
}

bool Admission::TakeBytes(uint64_t bytes) {
  const uint64_t before = bytes_.fetch_add(bytes);
  if (before == 0 || before + bytes <= limits_.work_bytes()) return true;
  bytes_ -= bytes;
  return false;
}

absl::Status Admission::Refuse(const Refusal& refusal) {
  refused_[static_cast<size_t>(refusal.reason)]->Increment();
  return absl::ResourceExhaustedError(absl::StrCat(
      "overloaded: ", Explain(refusal.reason, limits_),
      "; not decided, try again in ", RetryMilliseconds(refusal.retry_seconds),
      " ms or ask another server"));
}

bool CannotWait(double wait_seconds, double seconds_left, double most_seconds,
                Refusal* refusal) {
  if (wait_seconds <= std::min(seconds_left, most_seconds)) return false;
  *refusal = {seconds_left < most_seconds ? RefusalReason::kDeadline
                                          : RefusalReason::kWait,
              wait_seconds};
  return true;
}

int64_t RetryMilliseconds(double seconds) {
  return std::clamp<int64_t>(std::llround(std::ceil(1e3 * seconds)), 1, 60'000);
}

}  // namespace sortition
