#include "sidecar/spools/loss_watch.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sortition {

using log::v1::CensorReason;

LossWatch::LossWatch(const config::v1::SidecarOptions& options, uint32_t spool,
                     std::optional<int64_t> reroute_us, Joiner* joiner)
    : max_away_us_(Micros(options.join().max_away_seconds())),
      spool_(spool),
      reroute_us_(reroute_us),
      joiner_(joiner) {}

int64_t LossWatch::LastLoss(int64_t since_us, int64_t until_us) const {
  return reroute_us_.has_value() ? std::min(until_us, since_us + *reroute_us_)
                                 : until_us;
}

void LossWatch::TakeSegment(const log::v1::SegmentHeader& header,
                            bool is_after_missing) {
  // A server that was away loses no more than TakeState() said.
  int64_t last_loss_us = std::numeric_limits<int64_t>::max();
  for (const log::v1::Gap& gap : header.gaps_before()) {
    if (gap.kind() == log::v1::WRITER_AWAY) {
      last_loss_us = LastLoss(gap.first_time_us(), last_loss_us);
    }
  }
  for (log::v1::Gap gap : header.gaps_before()) {
    if (gap.kind() == log::v1::LOST) {
      gap.set_last_time_us(std::min(gap.last_time_us(), last_loss_us));
    }
    TakeGap(gap);
  }
  if (is_after_missing) {
    joiner_->Censor(log::v1::MISSING, last_time_us_,
                    std::max(last_time_us_, header.created_time_us()));
  }
  last_time_us_ = std::max(last_time_us_, header.created_time_us());
}

void LossWatch::TakeGap(const log::v1::Gap& gap) {
  const CensorReason kind =
      log::v1::CensorReason_IsValid(gap.kind()) &&
              gap.kind() != log::v1::CENSOR_REASON_UNSPECIFIED
          ? gap.kind()
          : log::v1::LOST;
  if (kind == log::v1::WRITER_AWAY &&
      gap.last_time_us() - gap.first_time_us() <= max_away_us_) {
    return;
  }
  if (gap.first_time_us() > gap.last_time_us()) return;
  const int64_t last_us =
      kind == log::v1::WRITER_AWAY
          ? LastLoss(gap.first_time_us(), gap.last_time_us())
          : gap.last_time_us();
  joiner_->Censor(kind, gap.first_time_us(), last_us);
}

void LossWatch::TakeDamage() {
  if (damaged_since_us_.has_value()) return;
  damaged_since_us_ = last_time_us_;
  joiner_->CensorFrom(log::v1::DAMAGED, damaged_since_us_,
                      std::numeric_limits<int64_t>::max(), spool_);
}

void LossWatch::TakeTime(int64_t time_us) {
  last_time_us_ = std::max(last_time_us_, time_us);
  EndDamage(last_time_us_);
}

void LossWatch::TakeEnd(int64_t until_us) {
  EndDamage(std::max(last_time_us_, until_us));
}

void LossWatch::EndDamage(int64_t until_us) {
  if (!damaged_since_us_.has_value()) return;
  joiner_->Censor(log::v1::DAMAGED, *damaged_since_us_, until_us);
  joiner_->CensorFrom(log::v1::DAMAGED, std::nullopt, 0, spool_);
  damaged_since_us_.reset();
}

int64_t LossWatch::TakeState(const WriterState& state, int64_t now_us) {
  // A copy of a spool knows nothing of later times.
  if (state.seen_us != 0) now_us = std::min(now_us, state.seen_us);
  if (state.alive_us == 0) return now_us;  // An older server.
  // Its preparing thread may be held up while others append.
  const int64_t alive_us = std::max(state.alive_us, last_time_us_);
  is_away_ = now_us - alive_us > max_away_us_;
  // When either ends, the spool tells of it, and has been read so far.
  std::optional<int64_t> trouble_us;
  if (state.trouble_since_us != 0) trouble_us = state.trouble_since_us;
  joiner_->CensorFrom(log::v1::REFUSED, trouble_us,
                      is_away_ ? LastLoss(alive_us, now_us) : now_us, spool_);
  std::optional<int64_t> away_since_us;
  if (is_away_) away_since_us = alive_us;
  joiner_->CensorFrom(log::v1::WRITER_AWAY, away_since_us,
                      LastLoss(alive_us, now_us), spool_);
  return is_away_ ? now_us : std::min(alive_us, now_us);
}

}  // namespace sortition
