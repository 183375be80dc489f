#include "io/segments/segment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/compressed_file.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"

namespace sortition {
namespace {

// Bytes read at once: few at first, so that following a live segment is cheap.
constexpr uint64_t kFirstChunkBytes = 1 << 14;
constexpr uint64_t kChunkBytes = 1 << 20;
// No file is larger, and sums of an offset and a length below this limit cannot
// overflow.
constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 48;
// The largest distance of the search for the next intact frame.
constexpr uint64_t kMaxScanBytes = uint64_t{1} << 28;

constexpr char kHeaderKey = log::v1::LogRecord::kHeaderFieldNumber << 3 | 2;

bool AllZero(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char byte) { return byte == 0; });
}

}  // namespace

absl::Status CheckLogFormat(const log::v1::SegmentHeader& header,
                            absl::string_view path) {
  if (header.format_version() <= kLogFormatVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": format_version ", header.format_version(), " is not in [1, ",
      kLogFormatVersion,
      "]; use a release of Sortition that is as new as the one that wrote it"));
}

struct SegmentReader::Rep {
  using Outcome = SegmentReader::Outcome;

  ~Rep() {
    if (fd >= 0) close(fd);
  }

  // Reads the bytes from `at` on into the buffer and returns their number.
  absl::StatusOr<uint64_t> Fill(uint64_t at) {
    if (compressed != nullptr) {
      return compressed->Read(at, buffer.data(), buffer.size());
    }
    uint64_t filled = 0;
    while (filled < buffer.size()) {
      const ssize_t count =
          pread(fd, buffer.data() + filled, buffer.size() - filled,
                static_cast<off_t>(at + filled));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return PosixStatus(errno, path, "cannot read");
      if (count == 0) break;
      filled += static_cast<uint64_t>(count);
    }
    return filled;
  }

  // Returns the bytes of the segment.
  absl::StatusOr<uint64_t> Size() {
    if (compressed != nullptr) return compressed->size();
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0) return PosixStatus(errno, path, "cannot seek in");
    return static_cast<uint64_t>(end);
  }

  // Returns the first place from `at` on that may hold something else than
  // zeros; nothing if there is none. Preallocated space that was never written
  // is passed over.
  std::optional<uint64_t> NextData(uint64_t at) {
    if (compressed != nullptr) return at;
    const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return std::nullopt;
    return data < 0 ? at : static_cast<uint64_t>(data);
  }

  // Returns the bytes [at, at + size) of the file, fewer at its end.
  absl::StatusOr<absl::string_view> Read(uint64_t at, uint64_t size) {
    if (at < buffer_start || at + size > buffer_start + buffer.size()) {
      buffer.resize(std::max(size, chunk_bytes));
      chunk_bytes = std::min(4 * chunk_bytes, kChunkBytes);
      buffer_start = at;
      absl::StatusOr<uint64_t> filled = Fill(at);
      if (!filled.ok()) return filled.status();
      buffer.resize(*filled);
    }
    const uint64_t begin = at - buffer_start;
    return absl::string_view(buffer).substr(
        begin, std::min<uint64_t>(size, buffer.size() - begin));
  }

  // Forgets the buffer, since the file may have changed.
  void Forget() {
    buffer.clear();
    buffer_start = 0;
    chunk_bytes = kFirstChunkBytes;
  }

  enum class Frame { kIntact, kZero, kBroken };

  // Parses the frame at `at`.
  absl::StatusOr<Frame> Parse(uint64_t at, absl::string_view* payload);
  // Returns the offset of the first intact frame after the broken one at `at`;
  // 0 if there is none.
  absl::StatusOr<uint64_t> FindFrameAfter(uint64_t at);
  // Skips the broken frame at `offset` if a later one is intact.
  absl::StatusOr<Outcome> Resynchronise(absl::string_view* payload);

  std::string path;
  int fd = -1;
  std::unique_ptr<CompressedFile> compressed;  // Instead of `fd`.
  uint64_t offset = 0;
  std::string buffer;
  uint64_t buffer_start = 0;
  uint64_t chunk_bytes = kFirstChunkBytes;
  // Counts the failed searches at this offset; only the searches whose number
  // is a power of two are made.
  uint64_t vain_offset = 0;
  uint64_t vain_tries = 0;
};

absl::StatusOr<SegmentReader::Rep::Frame> SegmentReader::Rep::Parse(
    uint64_t at, absl::string_view* payload) {
  auto head = Read(at, kFrameHeadBytes);
  if (!head.ok()) return head.status();
  uint64_t size = 0;
  if (AllZero(*head)) return Frame::kZero;
  if (!ParseFrameHead(*head, &size) || size > kMaxPayloadBytes) {
    return Frame::kBroken;
  }
  if (at + FrameBytes(size) > buffer_start + buffer.size()) {
    // Never allocate memory for more bytes than the file has.
    const absl::StatusOr<uint64_t> end = Size();
    if (!end.ok()) return end.status();
    if (size > *end || at + FrameBytes(size) > *end) return Frame::kBroken;
  }
  auto frame = Read(at, FrameBytes(size));
  if (!frame.ok()) return frame.status();
  if (frame->size() < FrameBytes(size)) return Frame::kBroken;
  *payload = frame->substr(kFrameHeadBytes, size);
  return FrameTailMatches(*payload, frame->substr(kFrameHeadBytes + size))
             ? Frame::kIntact
             : Frame::kBroken;
}

absl::StatusOr<uint64_t> SegmentReader::Rep::FindFrameAfter(uint64_t at) {
  // An intact head tells where the next frame starts. Never search inside the
  // payload: its bytes come from outside and could look like a frame, and a
  // payload that is still being written looks damaged.
  uint64_t begin = at;
  while (true) {
    auto head = Read(begin, kFrameHeadBytes);
    if (!head.ok()) return head.status();
    uint64_t payload_bytes = 0;
    if (!ParseFrameHead(*head, &payload_bytes)) break;
    if (payload_bytes > kMaxPayloadBytes) return 0;
    absl::string_view payload;
    auto frame = Parse(begin, &payload);
    if (!frame.ok()) return frame.status();
    if (begin > at && *frame == Frame::kIntact) return begin;
    begin += FrameBytes(payload_bytes);
  }
  if (begin == at) ++begin;
  for (uint64_t place = begin; place - begin < kMaxScanBytes;) {
    const std::optional<uint64_t> data = NextData(place);
    if (!data.has_value()) return 0;
    if (*data > place + kFrameHeadBytes) place = *data - kFrameHeadBytes;
    auto window = Read(place, kChunkBytes);
    if (!window.ok()) return window.status();
    if (window->size() < FrameBytes(0)) return 0;
    // A copy, because checking the payload of a candidate may change the
    // buffer.
    const std::string bytes(*window);
    const uint64_t last = bytes.size() - kFrameHeadBytes;
    for (uint64_t i = 0; i <= last; ++i) {
      uint64_t size = 0;
      const absl::string_view head =
          absl::string_view(bytes).substr(i, kFrameHeadBytes);
      if (AllZero(head) || !ParseFrameHead(head, &size)) continue;
      absl::string_view payload;
      auto frame = Parse(place + i, &payload);
      if (!frame.ok()) return frame.status();
      if (*frame == Frame::kIntact) return place + i;
    }
    place += last + 1;
  }
  return 0;
}

namespace {

// FailedPrecondition if `payload` is the header of a later format.
absl::Status CheckHeader(absl::string_view payload, const std::string& path) {
  log::v1::LogRecord record;
  if (payload.empty() || payload[0] != kHeaderKey ||
      !ParseMessage(payload, &record)) {
    return absl::OkStatus();
  }
  return CheckLogFormat(record.header(), path);
}

}  // namespace

SegmentReader::SegmentReader() : rep_(std::make_unique<Rep>()) {}
SegmentReader::~SegmentReader() = default;

absl::StatusOr<std::unique_ptr<SegmentReader>> SegmentReader::Open(
    const std::string& path) {
  std::unique_ptr<SegmentReader> reader(new SegmentReader);
  Rep& rep = *reader->rep_;
  rep.path = path;
  const bool is_compressed = absl::EndsWith(path, kCompressedSuffix);
  if (!is_compressed) {
    rep.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (rep.fd >= 0) return reader;
    if (errno != ENOENT) return PosixStatus(errno, path, "cannot open");
  }
  // It may have been compressed since it was listed.
  absl::StatusOr<std::unique_ptr<CompressedFile>> file =
      CompressedFile::Open(is_compressed ? path : CompressedSegmentPath(path));
  if (absl::IsNotFound(file.status())) {
    return PosixStatus(ENOENT, path, "cannot open");
  }
  if (!file.ok()) return file.status();
  rep.compressed = *std::move(file);
  return reader;
}

absl::StatusOr<SegmentReader::Outcome> SegmentReader::Rep::Resynchronise(
    absl::string_view* payload) {
  if (vain_offset != offset) vain_tries = 0;
  vain_offset = offset;
  const uint64_t tries = ++vain_tries;
  if ((tries & (tries - 1)) != 0) return Outcome::kIncomplete;
  auto next = FindFrameAfter(offset);
  if (!next.ok()) return next.status();
  if (*next == 0 && compressed == nullptr) return Outcome::kIncomplete;
  // Nobody writes to a compressed segment any more.
  if (*next == 0) next = compressed->size();
  // The writer completes each frame before it starts the next one, so this
  // frame may have become complete since it was read: read it again.
  Forget();
  auto frame = Parse(offset, payload);
  if (!frame.ok()) return frame.status();
  if (*frame == Frame::kIntact) {
    offset += FrameBytes(payload->size());
    return Outcome::kRecord;
  }
  auto skipped = Read(offset, *next - offset);
  if (!skipped.ok()) return skipped.status();
  *payload = *skipped;
  offset = *next;
  return Outcome::kCorrupt;
}

absl::StatusOr<SegmentReader::Outcome> SegmentReader::Next(
    absl::string_view* payload, uint64_t* offset) {
  Rep& rep = *rep_;
  *offset = rep.offset;
  const bool has_read_ahead = !rep.buffer.empty();
  auto frame = rep.Parse(rep.offset, payload);
  if (frame.ok() && *frame != Rep::Frame::kIntact && has_read_ahead) {
    // The buffer may be older than the contents of the file.
    rep.Forget();
    frame = rep.Parse(rep.offset, payload);
  }
  if (!frame.ok()) return frame.status();
  Outcome outcome = Outcome::kEnd;
  if (*frame == Rep::Frame::kIntact) {
    if (rep.offset == 0) RETURN_IF_ERROR(CheckHeader(*payload, rep.path));
    rep.offset += FrameBytes(payload->size());
    return Outcome::kRecord;
  }
  if (*frame == Rep::Frame::kBroken) {
    auto resynchronised = rep.Resynchronise(payload);
    if (!resynchronised.ok()) return resynchronised.status();
    outcome = *resynchronised;
  }
  if (outcome == Outcome::kEnd || outcome == Outcome::kIncomplete) {
    *payload = {};
    rep.Forget();
  }
  return outcome;
}

void SegmentReader::Seek(uint64_t offset) { rep_->offset = offset; }
uint64_t SegmentReader::offset() const { return rep_->offset; }

absl::StatusOr<std::vector<std::string>> ListSegments(const std::string& dir) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, ListDirectory(dir));
  const absl::flat_hash_set<std::string> all(names.begin(), names.end());
  std::erase_if(names, [&all](const std::string& name) {
    absl::string_view plain = name;
    return !absl::EndsWith(name, kSegmentSuffix) &&
           (!absl::ConsumeSuffix(&plain, kCompressedSuffix) ||
            !absl::EndsWith(plain, kSegmentSuffix) || all.contains(plain));
  });
  return names;
}

std::string CompressedSegmentPath(absl::string_view path) {
  return absl::StrCat(path, kCompressedSuffix);
}

}  // namespace sortition
