#include "process/threads.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace sortition {

ParallelFor OnThreads(uint32_t num_threads) {
  return [num_threads](size_t count,
                       const std::function<void(size_t index)>& body) {
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < count; i = next++) body(i);
    };
    std::vector<std::jthread> others;
    for (size_t t = 1; t < std::min<size_t>(num_threads, count); ++t) {
      others.emplace_back(work);
    }
    work();
  };  // Joins.
}

}  // namespace sortition
