#pragma once
// The text of /metrics for threads of low priority.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "process/metrics.h"

namespace sortition {

// Makes the text in a thread of its own, which has the priority of whoever
// makes the object: a scrape holds locks that requests take, and a thread of
// low priority could stand still with them. Thread-safe.
class MetricsPage {
 public:
  // `metrics` must outlive it.
  explicit MetricsPage(const Metrics* metrics);
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  // Waits for a text that is made from now on. Those who wait share it.
  std::string Text();

 private:
  void Run();

  const Metrics* const metrics_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable made_;
  uint64_t num_asked_ = 0;
  uint64_t num_served_ = 0;
  std::string text_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace sortition
