#include "io/spool/waiting_appends.h"

#include <algorithm>
#include <utility>

namespace sortition {

void WaitingAppends::Add(SpoolWaiter* waiter,
                         std::shared_ptr<const SegmentWriter> segment,
                         uint64_t first_record) {
  const uint64_t end = segment->num_records();
  appends_.push_back(
      {waiter, std::move(segment), first_record, end, Clock::now()});
}

template <typename IsDue>
void WaitingAppends::AnswerIf(const IsDue& is_due, const absl::Status& status) {
  std::erase_if(appends_, [&](const Append& append) {
    if (!is_due(append)) return false;
    answers_.push_back({append.waiter, status});
    return true;
  });
}

void WaitingAppends::AnswerDurable() {
  AnswerIf(
      [](const Append& append) {
        return append.segment->num_durable_records() >= append.end;
      },
      absl::OkStatus());
}

void WaitingAppends::Move(const SegmentWriter& from,
                          const UnsyncedFrames& unsynced,
                          const std::shared_ptr<const SegmentWriter>& to,
                          uint64_t first_record, const absl::Status& if_lost) {
  AnswerIf(
      [&](const Append& append) {
        if (append.segment.get() != &from) return false;
        // Records before `first_record` are on the disk.
        const uint64_t first = std::max(append.first, unsynced.first_record);
        for (uint64_t record = first; record < append.end; ++record) {
          if (!unsynced.intact[record - unsynced.first_record]) return true;
        }
        return false;
      },
      if_lost);
  for (Append& append : appends_) {
    if (append.segment.get() != &from) continue;
    append.segment = to;
    append.first = first_record;
    append.end = to->num_records();
  }
}

void WaitingAppends::AnswerIn(
    std::span<const std::shared_ptr<SegmentWriter>> segments,
    const absl::Status& status) {
  AnswerIf(
      [&](const Append& append) {
        return std::find(segments.begin(), segments.end(), append.segment) !=
               segments.end();
      },
      status);
}

void WaitingAppends::AnswerAll(const absl::Status& status) {
  AnswerIf([](const Append&) { return true; }, status);
}

std::vector<WaitingAppends::Answer> WaitingAppends::TakeAnswers() {
  return std::exchange(answers_, {});
}

double WaitingAppends::LongestSeconds(Clock::time_point now) const {
  if (appends_.empty()) return 0;
  return std::chrono::duration<double>(now - appends_.front().since).count();
}

}  // namespace sortition
