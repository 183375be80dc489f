#pragma once
// The frame of a decision, made without copying its features.
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "io/segments/record_frame.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// One frame in pieces. The pieces view it and memory of the thread: a thread
// has one at a time.
class DecisionFrame {
 public:
  // Frames `decision`, whose dense_values must be empty, followed by
  // `dense_values` as its last field. The values must outlive the frame.
  DecisionFrame(const log::v1::Decision& decision,
                std::span<const float> dense_values);
  DecisionFrame(const DecisionFrame&) = delete;
  DecisionFrame& operator=(const DecisionFrame&) = delete;

  std::span<const absl::string_view> pieces() const { return pieces_; }
  uint64_t bytes() const { return bytes_; }

 private:
  FrameHead head_;
  FrameTail tail_;
  std::array<absl::string_view, 5> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace sortition
