#pragma once
// What the validation of requests permits (server/decisions), by field.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sortition/config/v1/server.pb.h"

namespace sortition {

struct FieldLimits {
  std::optional<double> min = {};
  std::optional<double> max = {};
  bool is_above_min = false;  // The minimum itself is not allowed.
  std::optional<uint64_t> max_bytes = {};
  std::optional<uint64_t> max_items = {};
};

// Returns them by the full name of the field.
std::map<std::string, FieldLimits> RequestFieldLimits(
    const config::v1::RequestLimits& limits);

}  // namespace sortition
