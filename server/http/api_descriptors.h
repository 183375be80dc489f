#pragma once
// The protos of the API with their comments, which the generated messages have
// no more.
#include <string>

namespace sortition {

// Returns a serialised google.protobuf.FileDescriptorSet: files after those
// that they import.
std::string ApiDescriptors();

}  // namespace sortition
