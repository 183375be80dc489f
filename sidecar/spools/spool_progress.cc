#include "sidecar/spools/spool_progress.h"

#include <algorithm>

#include "io/segments/segment_writer.h"

namespace sortition {

bool IsOfWriter(const log::v1::SpoolProgress& progress,
                absl::string_view writer_id) {
  return WriterIdOf(progress.done_segment()) == writer_id ||
         WriterIdOf(progress.next_segment()) == writer_id;
}

std::optional<MissingRecords> FindMissingRecords(
    const log::v1::SpoolProgress& progress, const std::string& name,
    const log::v1::SegmentHeader& header) {
  // A crash came between the record of the progress and a removal.
  if (name <= progress.done_segment()) return std::nullopt;
  const std::string& next = progress.next_segment();
  if (!next.empty() && name <= next) return std::nullopt;
  const bool is_same = header.incarnation() == progress.incarnation();
  const uint64_t expected = is_same ? progress.next_sequence() : 0;
  const bool is_missing =
      header.first_sequence() > expected ||
      (!is_same && (!next.empty() || progress.must_go_on()));
  if (!is_missing) return std::nullopt;
  // The number of records of a whole incarnation that is gone is not known.
  const uint64_t count = header.first_sequence() - expected;
  return MissingRecords{std::max<uint64_t>(1, count), is_same};
}

log::v1::SpoolProgress ProgressBefore(const std::string& name,
                                      const log::v1::SegmentHeader& header) {
  log::v1::SpoolProgress progress;
  progress.set_next_segment(name);
  progress.set_incarnation(header.incarnation());
  progress.set_next_sequence(header.first_sequence());
  return progress;
}

}  // namespace sortition
