#include "process/threads.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

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

void YieldToOtherThreads() {
  // Both are allowed to everybody; where one fails, the thread works all the
  // same. On Linux they apply to one thread, whatever POSIX says.
  // A tenth of an ordinary thread's share: little, but not nothing.
  constexpr int kNice = 10;
  const sched_param none = {};
  sched_setscheduler(0, SCHED_BATCH, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

void RunInBackground(absl::FunctionRef<void()> work) {
  std::jthread([&] {
    YieldToOtherThreads();
    work();
  });  // Joins.
}

}  // namespace sortition
