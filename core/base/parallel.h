#pragma once
// Parallelism as an argument: core starts no threads.
#include <cstddef>
#include <functional>

namespace sortition {

// Calls body(0) … body(count - 1), in any order and perhaps concurrently, and
// returns when all have returned. Results must not depend on the order.
using ParallelFor = std::function<void(
    size_t count, const std::function<void(size_t index)>& body)>;

inline void SerialFor(size_t count,
                      const std::function<void(size_t index)>& body) {
  for (size_t index = 0; index < count; ++index) body(index);
}

}  // namespace sortition
