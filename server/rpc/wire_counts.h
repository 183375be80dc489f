#pragma once
// Counts the entries of a request before it is parsed: an empty entry takes 2
// bytes on the wire and a hundred in memory.
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// InvalidArgument, with field, count and range, if `payload`, a message of this
// type, has more messages or texts in a repeated field, its own or of a message
// inside, than `limits` permit, or more than 1,000 fields that are not known.
// Says nothing of what cannot be read. Linear in the number of fields.
absl::Status CheckWireCounts(const google::protobuf::Descriptor* type,
                             const config::v1::RequestLimits& limits,
                             grpc::ByteBuffer* payload);

}  // namespace sortition
