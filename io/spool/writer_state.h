#pragma once
// What the writer of a spool says about itself in the file `.writer.lock`, for
// its successor and for the reader: one line, overwritten in place, so that a
// full disk does not matter. A copy of a spool elsewhere has a second line.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

inline constexpr char kWriterLockFile[] = ".writer.lock";
// Number of hexadecimal digits of a time in names of segments and in states.
inline constexpr size_t kTimeDigits = 16;

// Times in microseconds since the epoch; 0: not known, or never.
struct WriterState {
  int64_t newest_segment_us = 0;  // Time in the newest segment's name.
  int64_t alive_us = 0;           // Last sign of life.
  // Since when records may be missing of which no gap record speaks yet.
  int64_t trouble_since_us = 0;
  // Everything that was appended before this time is on the disk.
  int64_t durable_us = 0;
  bool is_closed = false;  // Nothing can be missing after durable_us.
  std::string boot_id =
      {};  // Of the machine's kernel; changes with every boot.
  // In a copy of a spool: what the writer logged before this time is in the
  // copy. 0: this is the spool itself.
  int64_t seen_us = 0;
  friend bool operator==(const WriterState&, const WriterState&) = default;
};

// Returns a line with a checksum, as long for every state; two lines if
// `seen_us` is set.
std::string EncodeWriterState(const WriterState& state);

// Returns the state in `line`. Of a line of an older server or a torn one,
// returns newest_segment_us alone, if that much can be read.
WriterState DecodeWriterState(absl::string_view line);

// Returns the state in the file of spool `dir`; all zeros if there is none. A
// line that is just being written is read again.
absl::StatusOr<WriterState> ReadWriterState(const std::string& dir);

// Returns the kernel's boot id; empty if there is none.
std::string BootId();

}  // namespace sortition
