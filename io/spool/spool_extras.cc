// Records that a spool takes only where they harm nobody. Their loss is no gap:
// feedback is not among them.
#include <mutex>
#include <string>

#include "io/segments/record_frame.h"
#include "io/spool/spool_log.h"

namespace sortition {

bool SpoolWriter::TryAppend(std::span<const log::v1::LogRecord> records) {
  std::string frames;
  for (const log::v1::LogRecord& record : records) {
    AppendFrame(record.SerializeAsString(), &frames);
  }
  Rep& rep = *rep_;
  const SpoolClock::time_point begin = SpoolClock::now();
  const std::lock_guard lock(rep.mutex);
  const bool is_in_trouble =
      rep.closed || !rep.unsaved.empty() || rep.trouble_since_us != 0;
  if (is_in_trouble ||
      rep.Size() + frames.size() > rep.options.max_bytes() / 2) {
    return false;
  }
  rep.LookAtClock();
  rep.NoteAbsence(begin);
  absl::Status status = rep.MakeRoom(frames.size());
  if (status.ok()) status = rep.WriteGaps();
  const absl::string_view piece(frames);
  if (status.ok()) status = rep.AppendFrames({&piece, 1}, records.size());
  // If it is the disk that fails, the next record that matters will tell.
  if (!status.ok()) return false;
  rep.appended_at = begin;
  if (rep.current->wants_pages()) rep.prepare_work.notify_one();
  return true;
}

}  // namespace sortition
