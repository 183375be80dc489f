#pragma once
// A stream of NATS JetStream. Built with SORTITION_NATS; without, opening one
// fails.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sidecar/stream/message_stream.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

struct NatsStreamOptions {
  std::string url;
  std::string stream;
  std::string durable;  // Of the reader.
  config::v1::NatsOptions nats;
  // The stream is made with these if it is missing.
  bool make_stream = false;
  uint32_t replicas = 1;
  uint64_t max_bytes = 0;
  double duplicate_window_seconds = 0;
};

// Does not connect yet: that is part of every call, as long as it is needed.
absl::StatusOr<std::unique_ptr<MessageStream>> OpenNatsStream(
    NatsStreamOptions options);

// Returns whether NATS is part of this program.
bool HasNats();

}  // namespace sortition
