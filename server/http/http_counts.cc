#include "server/http/http_counts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {

std::shared_ptr<HttpCounts> HttpCounts::Create(
    const std::vector<std::string>& paths, Metrics* metrics) {
  std::shared_ptr<HttpCounts> counts(new HttpCounts);
  for (const std::string& path : paths) {
    counts->paths_.emplace(path, std::make_unique<Path>());
  }
  counts->paths_.emplace("other", std::make_unique<Path>());
  metrics->OnScrape([counts, metrics] { counts->Export(metrics); });
  return counts;
}

void HttpCounts::Count(absl::string_view path, int code) {
  Path& of = *paths_.at(std::string(path));
  ++of.counts[static_cast<size_t>(std::clamp(code, 0, kCodes - 1))];
}

void HttpCounts::Export(Metrics* metrics) {
  for (const auto& [name, path] : paths_) {
    for (size_t code = 0; code < kCodes; ++code) {
      const uint64_t count = path->counts[code];
      const uint64_t more = count - path->exported[code];
      if (more == 0) continue;
      metrics
          ->Counter("sortition_http_requests_total",
                    "Requests of the HTTP port by path, that of what has none "
                    "of its paths being other",
                    {{"path", name}, {"code", absl::StrCat(code)}})
          ->Increment(static_cast<double>(more));
      path->exported[code] = count;
    }
  }
}

}  // namespace sortition
