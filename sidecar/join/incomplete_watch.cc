#include "sidecar/join/incomplete_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/micros.h"
#include "core/base/tagged_uuid.h"

namespace sortition {
namespace {

// By chance one in 4,096 unknown ids looks foreign.
constexpr uint64_t kFewestForeign = 2;
constexpr uint64_t kUnknownPerForeign = 256;
constexpr uint64_t kFewestUnknown = 10;

}  // namespace

IncompleteWatch::IncompleteWatch(const config::v1::JoinOptions& options)
    : max_unknown_share_(options.max_unknown_share()),
      window_us_(Micros(options.reward_wait_time_seconds())),
      slack_us_(Micros(options.slack_seconds())) {}

void IncompleteWatch::AddWriter(absl::string_view writer_id) {
  writer_tags_.insert(WriterTag(writer_id));
}

IncompleteWatch::Window& IncompleteWatch::WindowOf(int64_t time_us) {
  const int64_t number = time_us / window_us_;
  if (!first_number_.has_value()) first_number_ = number;
  const auto [it, is_new] = windows_.try_emplace(number);
  Window& window = it->second;
  window.first_us = is_new ? time_us : std::min(window.first_us, time_us);
  window.last_us = std::max(window.last_us, time_us);
  return window;
}

void IncompleteWatch::TakeFeedback(int64_t time_us) {
  ++WindowOf(time_us).feedback;
}

void IncompleteWatch::TakeUnknown(absl::string_view decision_id,
                                  int64_t time_us, bool may_be_lost) {
  const std::optional<UuidV7> uuid = ParseUuidV7(decision_id);
  // An old decision is forgotten, and its feedback late, wherever it was made.
  if (uuid.has_value() && uuid->time_us < time_us - window_us_) return;
  const bool is_tagged = uuid.has_value() && uuid->writer_tag.has_value();
  if (is_tagged && writer_tags_.contains(*uuid->writer_tag)) return;
  if (is_tagged) {
    ++foreign_feedback_;
    ++WindowOf(time_us).foreign;
  } else if (!may_be_lost) {
    ++unknown_feedback_;
    ++WindowOf(time_us).unknown;
  }
}

bool IncompleteWatch::IsIncomplete(const Window& window, bool is_whole) const {
  if (window.foreign >= kFewestForeign &&
      window.foreign * kUnknownPerForeign > window.unknown) {
    return true;
  }
  const uint64_t unknown = window.foreign + window.unknown;
  return is_whole && unknown >= kFewestUnknown &&
         static_cast<double>(unknown) >
             max_unknown_share_ * static_cast<double>(window.feedback);
}

std::optional<log::v1::Incomplete> IncompleteWatch::Next(int64_t watermark_us) {
  while (!windows_.empty()) {
    const auto oldest = windows_.begin();
    // Feedback is held for a window and a slack.
    const int64_t end_us = (oldest->first + 1) * window_us_;
    if (watermark_us <= end_us + window_us_ + 2 * slack_us_) break;
    const Window window = oldest->second;
    const bool is_whole =
        !begins_in_the_middle_ || oldest->first > *first_number_;
    windows_.erase(oldest);
    if (!IsIncomplete(window, is_whole)) continue;
    log::v1::Incomplete incomplete;
    incomplete.set_first_time_us(window.first_us);
    incomplete.set_last_time_us(window.last_us);
    incomplete.set_foreign_feedback(window.foreign);
    incomplete.set_unknown_feedback(window.unknown);
    incomplete.set_feedback(
        std::max(window.feedback, window.foreign + window.unknown));
    incomplete.set_reason(
        absl::StrCat(window.foreign,
                     " feedback for decisions of servers whose spools are "
                     "not read here, and ",
                     window.unknown, " for unknown decisions"));
    return incomplete;
  }
  return std::nullopt;
}

}  // namespace sortition
