#include "tests/io/segments/reading_reference.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/check.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

using Kind = ReadStep::Kind;

constexpr uint64_t kHeadBytes = 12;

uint32_t Mask(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return text;
}

bool IsZero(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char byte) { return byte == 0; });
}

// The length of the frame at `at`, if it agrees with its CRC.
std::optional<uint64_t> Length(absl::string_view segment, uint64_t at) {
  if (segment.size() - at < kHeadBytes) return std::nullopt;
  const absl::string_view bytes = segment.substr(at, 8);
  if (segment.substr(at + 8, 4) !=
      LittleEndian(Mask(ReferenceCrc32c(bytes)), 4)) {
    return std::nullopt;
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) {
    length = length << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  }
  return length;
}

// The payload of the frame at `at`, if the whole frame is intact.
std::optional<std::string> Payload(absl::string_view segment, uint64_t at) {
  const std::optional<uint64_t> length = Length(segment, at);
  const uint64_t rest = segment.size() - at;
  if (!length.has_value() || *length > rest || *length + 16 > rest) {
    return std::nullopt;
  }
  const absl::string_view payload = segment.substr(at + kHeadBytes, *length);
  if (segment.substr(at + kHeadBytes + *length, 4) !=
      LittleEndian(Mask(ReferenceCrc32c(payload)), 4)) {
    return std::nullopt;
  }
  return std::string(payload);
}

// The place of the first intact frame that ends the damage at `at`. Payloads
// whose length is known are not searched.
std::optional<uint64_t> FrameBehind(absl::string_view segment, uint64_t at) {
  uint64_t place = at;
  while (const std::optional<uint64_t> length = Length(segment, place)) {
    if (place > at && Payload(segment, place).has_value()) return place;
    if (*length + 16 > segment.size() - place) return std::nullopt;
    place += *length + 16;
  }
  for (place = std::max(place, at + 1); place < segment.size(); ++place) {
    if (Payload(segment, place).has_value()) return place;
  }
  return std::nullopt;
}

bool IsFooter(const std::string& payload) {
  log::v1::LogRecord record;
  return record.ParseFromString(payload) && record.has_footer();
}

bool IsHeader(const std::string& payload) {
  log::v1::LogRecord record;
  return record.ParseFromString(payload) && record.has_header();
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string Read(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// What `steps` are once the segment ends behind the last record and a footer.
// Checks the footer, too.
void CheckClosed(std::vector<ReadStep> before, const Recovered& recovered,
                 const std::vector<ReadStep>& after) {
  before.pop_back();
  CHECK(after.size() == before.size() + 2);
  CHECK(std::equal(before.begin(), before.end(), after.begin()));
  const ReadStep& footer = after[after.size() - 2];
  CHECK(footer.kind == Kind::kRecord && footer.offset == recovered.end);
  log::v1::LogRecord record;
  CHECK(record.ParseFromString(footer.bytes));
  CHECK(record.footer().recovered());
  CHECK(record.footer().num_records() == recovered.num_records);
  CHECK(record.footer().torn_bytes() == recovered.torn_bytes);
  CHECK(after.back().kind == Kind::kEnd);
}

}  // namespace

uint32_t ReferenceCrc32c(absl::string_view bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> entries;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t entry = i;
      for (int bit = 0; bit < 8; ++bit) {
        entry = entry >> 1 ^ (entry & 1 ? 0x82f63b78u : 0);
      }
      entries[i] = entry;
    }
    return entries;
  }();
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  }
  return ~crc;
}

std::string ReferenceFrame(absl::string_view payload) {
  const std::string length = LittleEndian(payload.size(), 8);
  return length + LittleEndian(Mask(ReferenceCrc32c(length)), 4) +
         std::string(payload) + LittleEndian(Mask(ReferenceCrc32c(payload)), 4);
}

std::vector<ReadStep> ReferenceRead(absl::string_view segment) {
  std::vector<ReadStep> steps;
  for (uint64_t at = 0;;) {
    if (const std::optional<std::string> payload = Payload(segment, at)) {
      steps.push_back({Kind::kRecord, at, *payload});
      at += payload->size() + 16;
      continue;
    }
    if (IsZero(segment.substr(at, kHeadBytes))) {
      steps.push_back({Kind::kEnd, at, ""});
      return steps;
    }
    const std::optional<uint64_t> next = FrameBehind(segment, at);
    if (!next.has_value()) {
      steps.push_back({Kind::kIncomplete, at, ""});
      return steps;
    }
    steps.push_back(
        {Kind::kCorrupt, at, std::string(segment.substr(at, *next - at))});
    at = *next;
  }
}

std::vector<ReadStep> ReadSteps(const std::string& path) {
  auto reader = SegmentReader::Open(path);
  CHECK(reader.ok());
  std::vector<ReadStep> steps;
  do {
    absl::string_view bytes;
    ReadStep& step = steps.emplace_back();
    const auto outcome = (*reader)->Next(&bytes, &step.offset);
    CHECK(outcome.ok());
    step.bytes = std::string(bytes);
    switch (*outcome) {
      case SegmentReader::Outcome::kRecord:
        step.kind = Kind::kRecord;
        break;
      case SegmentReader::Outcome::kCorrupt:
        step.kind = Kind::kCorrupt;
        break;
      case SegmentReader::Outcome::kEnd:
        step.kind = Kind::kEnd;
        break;
      case SegmentReader::Outcome::kIncomplete:
        step.kind = Kind::kIncomplete;
        break;
    }
  } while (steps.back().kind == Kind::kRecord ||
           steps.back().kind == Kind::kCorrupt);
  return steps;
}

Recovered ReferenceRecovery(absl::string_view segment) {
  Recovered recovered;
  for (const ReadStep& step : ReferenceRead(segment)) {
    if (step.kind != Kind::kRecord) continue;
    recovered.end = step.offset + step.bytes.size() + 16;
    if (IsFooter(step.bytes)) {
      recovered.has_footer = true;
      return recovered;
    }
    if (!IsHeader(step.bytes)) ++recovered.num_records;
  }
  const size_t last = segment.find_last_not_of('\0');
  if (last != absl::string_view::npos && last + 1 > recovered.end) {
    recovered.torn_bytes = last + 1 - recovered.end;
  }
  return recovered;
}

void CheckRecovery(const std::string& segment, const std::string& path) {
  const std::vector<ReadStep> before = ReferenceRead(segment);
  const Recovered expected = ReferenceRecovery(segment);
  // A copy that is rewritten keeps the records, too, if nothing can be redone.
  for (const bool is_rewritten : {false, true}) {
    Write(path, segment);
    if (is_rewritten) {
      CHECK(RewriteSegment(path, [](absl::string_view) { return false; }).ok());
    } else {
      CHECK(RecoverSegment(path).ok());
    }
    const std::string after = Read(path);
    if (expected.has_footer) {
      CHECK(after == segment);
    } else {
      CheckClosed(before, expected, ReadSteps(path));
      CHECK(IsClosedSegment(path));
    }
    CHECK(RecoverSegment(path).ok());
    CHECK(Read(path) == after);
  }
  // If all can be redone, nothing damaged stays before the footer.
  Write(path, segment);
  CHECK(RewriteSegment(path, [](absl::string_view) { return true; }).ok());
  const std::vector<ReadStep> rewritten = ReadSteps(path);
  for (size_t i = 0; !IsFooter(rewritten[i].bytes); ++i) {
    CHECK(rewritten[i].kind == Kind::kRecord && rewritten[i] == before[i]);
  }
}

}  // namespace sortition
