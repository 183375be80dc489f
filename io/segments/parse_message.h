#pragma once
#include <limits>

#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"

namespace sortition {

// Messages have at most so many bytes; frames may have more.
inline constexpr size_t kMostMessageBytes = std::numeric_limits<int>::max();

// Returns false if `bytes` are malformed or more than a message can have.
inline bool ParseMessage(absl::string_view bytes,
                         google::protobuf::MessageLite* message) {
  return bytes.size() <= kMostMessageBytes &&
         message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace sortition
