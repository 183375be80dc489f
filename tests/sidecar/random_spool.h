#pragma once
// Random spools that hold everything that a join may meet.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sortition/log/v1/log.pb.h"
#include "tests/sidecar/join_reference.h"

namespace sortition::testing_sidecar {

// How a spool came about.
enum class SpoolKind {
  kOneWriter,
  // Segments of two writers take turns.
  kTwoWriters,
  // The writer's clock is set back or forward for good, or is ahead for a
  // moment.
  kClockJumps,
};

struct RandomSpool {
  struct Segment {
    std::string writer_id;
    size_t begin = 0;  // Its events are [begin, end).
    size_t end = 0;
    bool is_closed = true;  // False: its writer died.
  };
  std::vector<JoinEvent> events;  // In the order of the spool.
  std::vector<Segment> segments;  // In the order of their names.
};

// Returns some 200 records over some 80 s of log time, with a window of 10 s
// and a slack of 1 s in mind: most times are multiples of half a second, so
// that they fall on the ends of windows. Decisions come twice, with the same
// answer or another; ids are used again; shown and feedback records come early,
// in time, late, twice, or for nobody; so do views of shadows. Shown records
// are pages, viewport reports, or say that nothing was shown. Without jumps, a
// record is in the spool within a second of its time. A decision "end" comes
// long after all others. A function of `seed`.
RandomSpool MakeRandomSpool(SpoolKind kind, uint32_t seed);

// The record of the spool that is `event`.
log::v1::LogRecord RecordOf(const JoinEvent& event);

}  // namespace sortition::testing_sidecar
