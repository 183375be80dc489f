#include "io/spool/writer_state.h"

#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "io/files.h"
#include "io/segments/crc32c.h"

namespace sortition {
namespace {

constexpr size_t kBootIdLength = 36;
constexpr size_t kCheckDigits = 8;

uint64_t ParseHex(absl::string_view digits) {
  uint64_t value = 0;
  return absl::SimpleHexAtoi(digits, &value) ? value : 0;
}

int64_t ParseTime(absl::string_view digits) {
  return static_cast<int64_t>(ParseHex(digits));
}

// Returns the time in the line behind the first `length` bytes; 0 if there is
// no such line, nothing if it is torn.
std::optional<int64_t> DecodeSeen(absl::string_view lines, size_t length) {
  if (lines.size() == length) return 0;
  constexpr size_t kSeenLength = kTimeDigits + 1 + kCheckDigits + 1;
  if (lines.size() != length + kSeenLength) return std::nullopt;
  const absl::string_view body =
      lines.substr(0, lines.size() - kCheckDigits - 1);
  if (ParseHex(lines.substr(body.size(), kCheckDigits)) != Crc32c(body)) {
    return std::nullopt;
  }
  return ParseTime(lines.substr(length, kTimeDigits));
}

}  // namespace

// "<newest> <alive> <trouble> <durable> <closed> <boot id> <CRC-32C>\n", and in
// a copy "<seen> <CRC-32C of all before>\n".
std::string EncodeWriterState(const WriterState& state) {
  std::string line = absl::StrFormat(
      "%016x %016x %016x %016x %d %-*.*s ", state.newest_segment_us,
      state.alive_us, state.trouble_since_us, state.durable_us,
      state.is_closed ? 1 : 0, static_cast<int>(kBootIdLength),
      static_cast<int>(kBootIdLength), state.boot_id);
  absl::StrAppendFormat(&line, "%08x\n", Crc32c(line));
  if (state.seen_us == 0) return line;
  absl::StrAppendFormat(&line, "%016x ", state.seen_us);
  absl::StrAppendFormat(&line, "%08x\n", Crc32c(line));
  return line;
}

WriterState DecodeWriterState(absl::string_view line) {
  WriterState state;
  if (line.size() >= kTimeDigits) {
    state.newest_segment_us = ParseTime(line.substr(0, kTimeDigits));
  }
  const size_t length = EncodeWriterState({}).size();
  if (line.size() < length) return state;
  const std::optional<int64_t> seen_us = DecodeSeen(line, length);
  if (!seen_us.has_value()) return state;
  line = line.substr(0, length - 1);
  const absl::string_view body = line.substr(0, line.size() - kCheckDigits);
  if (ParseHex(line.substr(body.size())) != Crc32c(body)) return state;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(body, absl::MaxSplits(' ', 5));
  state.seen_us = *seen_us;
  state.alive_us = ParseTime(fields[1]);
  state.trouble_since_us = ParseTime(fields[2]);
  state.durable_us = ParseTime(fields[3]);
  state.is_closed = fields[4] == "1";
  state.boot_id = std::string(absl::StripAsciiWhitespace(fields[5]));
  return state;
}

absl::StatusOr<WriterState> ReadWriterState(const std::string& dir) {
  WriterState state;
  for (int attempt = 0; attempt < 3 && state.alive_us == 0; ++attempt) {
    const absl::StatusOr<std::string> line =
        ReadFile(absl::StrCat(dir, "/", kWriterLockFile));
    if (absl::IsNotFound(line.status())) return WriterState{};
    if (!line.ok()) return line.status();
    state = DecodeWriterState(*line);
  }
  return state;
}

std::string BootId() {
  const absl::StatusOr<std::string> id =
      ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : "";
}

}  // namespace sortition
