// What a program built without NATS has in place of nats_stream.cc.
#include "sidecar/stream/nats_stream.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<MessageStream>> OpenNatsStream(
    NatsStreamOptions options) {
  return absl::UnimplementedError(
      "this program was built without NATS (SORTITION_NATS): cannot use " +
      options.url);
}

bool HasNats() { return false; }

}  // namespace sortition
