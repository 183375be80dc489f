#pragma once
// The calls of json_calls.h and the pages as an OpenAPI document.
#include <string>

#include "sortition/config/v1/server.pb.h"

namespace sortition {

// Returns an OpenAPI 3.0 document, as JSON. What it says of a call, a message
// or a field is the comment of the proto; ranges are those of the protos, of
// the validation of requests, and `limits`.
std::string OpenApiDocument(const config::v1::RequestLimits& limits);

}  // namespace sortition
