#include "sidecar/join/incomplete_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/micros.h"
#include "core/base/tagged_uuid.h"

namespace sortition {
namespace {

// The fewest unknown decisions that make a log incomplete.
constexpr size_t kMinDecisions = 10;

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
  const bool is_foreign = uuid.has_value() && uuid->writer_tag.has_value() &&
                          !writer_tags_.contains(*uuid->writer_tag);
  if (is_foreign) {
    ++foreign_feedback_;
    WindowOf(time_us).foreign.Add(decision_id);
  } else if (!may_be_lost) {
    ++unknown_feedback_;
    WindowOf(time_us).unknown.Add(decision_id);
  }
}

void IncompleteWatch::Unknown::Add(absl::string_view decision_id) {
  ++feedback;
  if (decisions.size() < kMinDecisions) {
    decisions.insert(HashBytes(decision_id));
  }
}

void IncompleteWatch::Unknown::Add(const Unknown& other) {
  feedback += other.feedback;
  for (const Hash128& decision : other.decisions) {
    if (decisions.size() < kMinDecisions) decisions.insert(decision);
  }
}

void IncompleteWatch::Window::Add(const Window& other) {
  const bool is_empty = feedback == 0 && num_unknown() == 0;
  first_us = is_empty ? other.first_us : std::min(first_us, other.first_us);
  last_us = is_empty ? other.last_us : std::max(last_us, other.last_us);
  feedback += other.feedback;
  foreign.Add(other.foreign);
  unknown.Add(other.unknown);
}

bool IncompleteWatch::IsIncomplete(const Window& window) const {
  return window.foreign.decisions.size() + window.unknown.decisions.size() >=
             kMinDecisions &&
         static_cast<double>(window.num_unknown()) >
             max_unknown_share_ * static_cast<double>(window.feedback);
}

// Returns true if the fewest decisions that make a log incomplete would be
// within the permitted share.
bool IncompleteWatch::IsSound(const Window& window) const {
  return !IsIncomplete(window) &&
         max_unknown_share_ * static_cast<double>(window.feedback) >=
             static_cast<double>(kMinDecisions);
}

log::v1::Incomplete IncompleteWatch::Describe(const Window& window) {
  log::v1::Incomplete incomplete;
  incomplete.set_first_time_us(window.first_us);
  incomplete.set_last_time_us(window.last_us);
  incomplete.set_foreign_feedback(window.foreign.feedback);
  incomplete.set_unknown_feedback(window.unknown.feedback);
  incomplete.set_feedback(std::max(window.feedback, window.num_unknown()));
  incomplete.set_reason(absl::StrCat(
      "of ", incomplete.feedback(), " feedback, ", window.foreign.feedback,
      " is for decisions of servers whose spools are not read here, and ",
      window.unknown.feedback, " for decisions that no spool has"));
  return incomplete;
}

std::optional<log::v1::Incomplete> IncompleteWatch::TakeTolerated() {
  return std::exchange(tolerated_, std::nullopt);
}

std::optional<log::v1::Incomplete> IncompleteWatch::Next(int64_t watermark_us) {
  while (!windows_.empty()) {
    const auto oldest = windows_.begin();
    // Feedback is held for a window and a slack.
    const int64_t end_us = (oldest->first + 1) * window_us_;
    if (watermark_us <= end_us + window_us_ + 2 * slack_us_) break;
    const bool may_be_older =
        begins_in_the_middle_ && oldest->first <= *first_number_ + 1;
    if (may_be_older) oldest->second.unknown = {};
    unjudged_.Add(oldest->second);
    windows_.erase(oldest);
    const bool is_incomplete = IsIncomplete(unjudged_);
    if (!is_incomplete && !IsSound(unjudged_)) continue;
    const Window judged = std::exchange(unjudged_, {});
    if (is_incomplete) return Describe(judged);
    if (judged.num_unknown() > 0) tolerated_ = Describe(judged);
  }
  return std::nullopt;
}

}  // namespace sortition
