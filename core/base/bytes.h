#pragma once
#include "absl/strings/string_view.h"

namespace sortition {

// Views the bytes of a vector, array or span of numbers.
absl::string_view BytesOf(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(values[0])};
}

}  // namespace sortition
