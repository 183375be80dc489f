// The ports of metrics among clients that say nothing, say half, or do not
// listen: Prometheus gets its page.
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <string>

#include "tests/integration/deployment.h"
#include "tests/integration/hostile/raw_connections.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Prometheus gives up then, by default.
constexpr double kScrapeSeconds = 10;

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Scrapes among the connections; prints and bounds time and memory.
void ExpectScrapes(const std::string& program, int port,
                   const ChildProcess& process,
                   const std::function<absl::StatusOr<std::string>()>& scrape) {
  const uint64_t before = ResidentBytes(process.pid());
  const RawConnections silent(port, 300, "");
  const RawConnections half(port, 300, "GET /metrics HTTP/1.1\r\n");
  const RawConnections deaf(port, 300, "GET /metrics HTTP/1.1\r\n\r\n");
  const RawConnections noise(port, 100, std::string(100'000, 'x'));
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    worst = std::max(worst, SecondsOf([&] {
                       const RawConnections more(port, 20, "");
                       EXPECT_OK(scrape());
                     }));
  }
  const uint64_t grown = PeakBytes(process.pid()) - before;
  std::cout << program << ": the slowest of 20 scrapes took " << 1000 * worst
            << " ms; " << grown / kMebibyte << " MiB more memory\n";
  EXPECT_LT(worst, Patience(kScrapeSeconds));
  EXPECT_LT(grown, 32 * kMebibyte);
  ASSERT_OK_AND_ASSIGN(const std::string text, scrape());
  EXPECT_LT(MetricSum(text, "process_open_fds"), 150);
}

TEST(MetricsPortTest, IdleAndSlowClientsHoldUpNobody) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  ASSERT_OK(deployment.StartSidecar());
  ExpectScrapes("server", deployment.metrics_port(), deployment.server(),
                [&] { return deployment.ServerMetrics(); });
  ExpectScrapes("sidecar", deployment.sidecar_metrics_port(),
                deployment.sidecar(),
                [&] { return deployment.SidecarMetrics(); });
}

}  // namespace
}  // namespace sortition
