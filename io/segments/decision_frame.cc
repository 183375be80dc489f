#include "io/segments/decision_frame.h"

#include "core/base/bytes.h"

namespace sortition {
namespace {

// Field numbers of log.proto that are encoded by hand; SpoolWriterTest compares
// the result with that of the protobuf library.
constexpr uint32_t kLengthDelimited = 2;
constexpr uint64_t kDecisionKey =
    (log::v1::LogRecord::kDecisionFieldNumber << 3) | kLengthDelimited;
constexpr uint64_t kDenseValuesKey =
    (log::v1::Decision::kDenseValuesFieldNumber << 3) | kLengthDelimited;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) {
    out->push_back(static_cast<char>(value | 0x80));
  }
  out->push_back(static_cast<char>(value));
}

}  // namespace

DecisionFrame::DecisionFrame(const log::v1::Decision& decision,
                             std::span<const float> dense_values) {
  const absl::string_view values = BytesOf(dense_values);
  static thread_local std::string small;
  static thread_local std::string key;
  small.clear();
  key.clear();
  decision.AppendToString(&small);
  if (!values.empty()) {
    AppendVarint(kDenseValuesKey, &small);
    AppendVarint(values.size(), &small);
  }
  AppendVarint(kDecisionKey, &key);
  AppendVarint(small.size() + values.size(), &key);
  const uint64_t payload_bytes = key.size() + small.size() + values.size();
  const absl::string_view payload[] = {key, small, values};
  head_ = MakeFrameHead(payload_bytes);
  tail_ = MakeFrameTail(payload);
  pieces_ = {absl::string_view(head_.data(), head_.size()), key, small, values,
             absl::string_view(tail_.data(), tail_.size())};
  bytes_ = FrameBytes(payload_bytes);
}

}  // namespace sortition
