#pragma once
// Events of a join as bytes, for the fuzzer.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sortition/config/v1/sidecar.pb.h"
#include "tests/sidecar/join_reference.h"

namespace sortition {

struct JoinInput {
  config::v1::JoinOptions options;
  std::vector<testing_sidecar::JoinEvent> events;
};

// Decodes any bytes, at most 200 events. The first byte holds the options; an
// event takes three, or eleven if its time is given in full.
JoinInput DecodeJoin(const uint8_t* data, size_t size);

}  // namespace sortition
