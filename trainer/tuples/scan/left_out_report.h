#pragma once
// Says which part of a log was not used, for people.
#include <cstdint>
#include <string>

#include "google/protobuf/map.h"

namespace sortition {

// The fields that several reports have.
struct LeftOut {
  double kept_fraction;  // Below 1: sub-sampled to fit memory_mb.
  uint64_t corrupt_records;
  const google::protobuf::Map<std::string, uint64_t>& excluded;  // By reason.
};

// Appends a line for each count that is not 0, with reasons in alphabetical
// order.
void AppendLeftOut(const LeftOut& left_out, std::string* text);

}  // namespace sortition
