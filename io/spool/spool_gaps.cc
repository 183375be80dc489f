// What a spool tells about records that it does not have.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/spool/spool_log.h"

namespace sortition {
namespace {

bool IsWaiting(const log::v1::Gap& gap) { return gap.first_time_us() != 0; }

// Makes `gap` contain the time of a waiting one.
void Contain(int64_t first_us, int64_t last_us, log::v1::Gap* gap) {
  gap->set_first_time_us(
      IsWaiting(*gap) ? std::min(gap->first_time_us(), first_us) : first_us);
  gap->set_last_time_us(std::max(gap->last_time_us(), last_us));
}

}  // namespace

void AddGapsBefore(const WriterState& before, log::v1::SegmentHeader* header) {
  const auto add = [header](log::v1::CensorReason kind, int64_t first_us,
                            const char* reason) {
    log::v1::Gap* gap = header->add_gaps_before();
    gap->set_kind(kind);
    gap->set_first_time_us(first_us);
    gap->set_last_time_us(std::max(first_us, NowUs()));
    gap->set_reason(reason);
  };
  if (before.alive_us == 0) return;
  constexpr int64_t kSecondUs = 1000000;
  if (NowUs() + kSecondUs < before.alive_us) {
    add(log::v1::CLOCK_STEP, NowUs(), "the clock was set back");
    header->mutable_gaps_before(0)->set_last_time_us(before.alive_us);
  }
  add(log::v1::WRITER_AWAY, before.alive_us, "no writer");
  if (before.trouble_since_us != 0) {
    add(log::v1::LOST, before.trouble_since_us,
        "the writer before ended in trouble");
  }
  if (!before.is_closed && before.boot_id != BootId()) {
    add(log::v1::LOST, before.durable_us,
        "the machine stopped before the writer was closed");
  }
}

void SpoolWriter::Rep::Fail(SpoolState kind, const absl::Status& why,
                            int64_t since_us) {
  state.Fail(kind, why);
  if (trouble_since_us != 0 && trouble_since_us <= since_us) return;
  trouble_since_us = since_us;
  directory->SayTrouble(trouble_since_us, UnsyncedSince());
}

void SpoolWriter::Rep::EndTrouble() {
  const SpoolState now = state.state();
  const bool takes_records =
      now == SpoolState::kOk || now == SpoolState::kStalled;
  if (trouble_since_us == 0 || !takes_records || IsWaiting(gap)) return;
  trouble_since_us = 0;
  directory->SayTrouble(0, UnsyncedSince());
}

void SpoolWriter::Rep::BeginGap() {
  if (!IsWaiting(gap)) {
    Contain(trouble_since_us != 0 ? trouble_since_us : UnsyncedSince(), NowUs(),
            &gap);
  }
}

void SpoolWriter::Rep::CountLost(uint64_t count, absl::string_view reason) {
  if (count == 0) return;
  BeginGap();
  gap.set_lost_records(gap.lost_records() + count);
  gap.set_reason(std::string(reason));
  stats.lost += count;
}

void SpoolWriter::Rep::KeepGap(const log::v1::Gap& unsynced) {
  log::v1::Gap* kept = unsynced.kind() == log::v1::CLOCK_STEP    ? &clock_gap
                       : unsynced.kind() == log::v1::WRITER_AWAY ? &away_gap
                                                                 : &gap;
  Contain(unsynced.first_time_us(), unsynced.last_time_us(), kept);
  kept->set_lost_records(kept->lost_records() + unsynced.lost_records());
  kept->set_refused_calls(kept->refused_calls() + unsynced.refused_calls());
  kept->set_reason(unsynced.reason());
  kept->set_kind(unsynced.kind());
}

void SpoolWriter::Rep::LookAtClock() {
  const std::optional<ClockStep> step = clock_steps.Look(NowUs(), SteadyUs());
  if (!step.has_value()) return;
  Contain(step->first_us, step->last_us, &clock_gap);
  clock_gap.set_reason("the clock was set");
  // Else the reader would take the step for an absence.
  directory->SayAlive(NowUs(), UnsyncedSince());
  state.Warn(absl::UnavailableError(
      absl::StrCat("the clock was set: times from ", step->first_us, " to ",
                   step->last_us, " us are not to be trusted")));
}

void SpoolWriter::Rep::NoteAbsence(SpoolClock::time_point now) {
  constexpr std::chrono::seconds kLongest{3};
  const SpoolClock::time_point sign = std::max(said_alive_at, appended_at);
  if (now - sign <= kLongest) return;
  // This process was stopped, or could not run.
  const int64_t since_us =
      NowUs() -
      std::chrono::duration_cast<std::chrono::microseconds>(now - sign).count();
  Contain(since_us, NowUs(), &away_gap);
  away_gap.set_kind(log::v1::WRITER_AWAY);
  away_gap.set_reason("the writer did not run");
}

absl::Status SpoolWriter::Rep::WriteGaps() {
  if (IsWaiting(away_gap)) RETURN_IF_ERROR(WriteGap(&away_gap));
  if (IsWaiting(clock_gap)) {
    clock_gap.set_kind(log::v1::CLOCK_STEP);
    RETURN_IF_ERROR(WriteGap(&clock_gap));
  }
  if (!IsWaiting(gap)) return absl::OkStatus();
  gap.set_kind(gap.lost_records() > 0 ? log::v1::LOST : log::v1::REFUSED);
  Contain(gap.first_time_us(), NowUs(), &gap);
  return WriteGap(&gap);
}

absl::Status SpoolWriter::Rep::WriteGap(log::v1::Gap* untold) {
  log::v1::LogRecord record;
  *record.mutable_gap() = *untold;
  RETURN_IF_ERROR(current->Append(record));
  ++next_sequence;
  ++num_gaps;
  oldest_gap_us = std::min(oldest_gap_us, untold->first_time_us());
  untold->Clear();
  return absl::OkStatus();
}

}  // namespace sortition
