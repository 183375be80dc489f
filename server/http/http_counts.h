#pragma once
// sortition_http_requests_total.
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/metrics.h"

namespace sortition {

// Counts answers by path and code. Those who count take no lock: their priority
// is low, and requests take the locks of the metrics. Thread-safe.
class HttpCounts {
 public:
  // Returns counts for these paths and "other". Each scrape of `metrics`, which
  // keep a reference, takes them over.
  static std::shared_ptr<HttpCounts> Create(
      const std::vector<std::string>& paths, Metrics* metrics);

  void Count(absl::string_view path, int code);

 private:
  static constexpr int kCodes = 600;
  struct Path {
    std::array<std::atomic<uint64_t>, kCodes> counts{};
    std::array<uint64_t, kCodes> exported{};  // Of scrapes, one at a time.
  };

  HttpCounts() = default;
  void Export(Metrics* metrics);

  std::map<std::string, std::unique_ptr<Path>> paths_;
};

}  // namespace sortition
