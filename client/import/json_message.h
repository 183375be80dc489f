#pragma once
// Protobuf messages from their JSON form.
#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "io/text/json_line.h"

namespace sortition {

// Fills `message`, which must be empty, from an object whose members have the
// proto's field names, as they are or in protobuf's camelCase; numbers may also
// be strings, as protobuf writes those of 64 bits. InvalidArgument naming the
// field that is unknown or malformed.
absl::Status ReadMessage(const JsonValue& object,
                         google::protobuf::Message* message);

}  // namespace sortition
