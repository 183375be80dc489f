// Bytes of a segment file: reading and recovery agree with docs/log_format.md.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "io/segments/decision_view.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "sortition/log/v1/log.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/segments/reading_reference.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// What readers do with a payload must not crash either.
void UsePayload(const std::string& payload) {
  log::v1::LogRecord record;
  if (!ParseMessage(payload, &record) || !record.has_decision()) return;
  const absl::StatusOr<DecisionView> view = ViewDecision(record.decision());
  if (view.ok()) CheckDecidable(*view).IgnoreError();
  NumEligible(record.decision());
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(segments) {
  using namespace sortition;  // NOLINT: the function must be outside.
  static const TempDir kDir(FastParent());
  const std::string path = kDir / "1.seg";
  const std::string segment(reinterpret_cast<const char*>(data), size);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << segment;
  const std::vector<ReadStep> steps = ReadSteps(path);
  CHECK(steps == ReferenceRead(segment));
  for (const ReadStep& step : steps) {
    if (step.kind == ReadStep::Kind::kRecord) UsePayload(step.bytes);
  }
  CheckRecovery(segment, path);
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size)
    __attribute__((weak));

// Chance hardly ever finds the CRC of a changed payload: half of the inputs get
// right ones, as long as their lengths fit.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned seed) {
  using namespace sortition;  // NOLINT: as above.
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) return size;
  for (size_t at = 0; size - at > FrameBytes(0);) {
    uint64_t length = 0;
    std::memcpy(&length, data + at, 8);
    const uint64_t room = size - at - FrameBytes(0);
    if (length > room) length = seed % 4 == 1 ? room : length % (room + 1);
    const absl::string_view payload(
        reinterpret_cast<const char*>(data + at + kFrameHeadBytes), length);
    const FrameHead head = MakeFrameHead(length);
    const FrameTail tail = MakeFrameTail({&payload, 1});
    std::memcpy(data + at, head.data(), head.size());
    std::memcpy(data + at + kFrameHeadBytes + length, tail.data(), tail.size());
    at += FrameBytes(length);
  }
  return size;
}
