#pragma once
// A real Prometheus that scrapes programs under test several times a second.
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/testing/child_process.h"

namespace sortition {

inline constexpr char kPrometheus[] = "/usr/bin/prometheus";

// Skips a test where the package prometheus is not installed.
#define SKIP_WITHOUT_PROMETHEUS()                            \
  if (access(::sortition::kPrometheus, X_OK) != 0)           \
  GTEST_SKIP() << "skipped: no " << ::sortition::kPrometheus \
               << "; ./dev setup test"

// What it scrapes: /metrics of this port, under these labels.
struct ScrapeTarget {
  std::string job;
  std::string instance;
  int port = 0;
};

struct Sample {
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct AlertRule {
  std::string name;
  std::string expression;
  std::string error;  // Of its last evaluation; empty: there was none.
};

// Percent-encodes all but letters and digits.
std::string UrlEncode(absl::string_view text);

// Returns deploy/prometheus/alerts.yml with all durations made short: what
// holds for minutes must hold for 0.4 seconds, and ranges have two to eight.
absl::StatusOr<std::string> ShortAlerts();

class PrometheusServer {
 public:
  // Starts it in `dir`, which must not exist, and waits until it answers.
  static absl::StatusOr<std::unique_ptr<PrometheusServer>> Start(
      const std::string& dir, const std::vector<ScrapeTarget>& targets,
      const std::string& alerts);

  // Evaluates an expression now. Unavailable with its answer where Prometheus
  // refuses it.
  absl::StatusOr<std::vector<Sample>> Query(absl::string_view expression) const;
  // Returns the rules once each was evaluated.
  absl::StatusOr<std::vector<AlertRule>> Rules() const;
  // Returns the names of the alerts that fire.
  absl::StatusOr<std::set<std::string>> Firing() const;

 private:
  explicit PrometheusServer(int port) : port_(port) {}

  const int port_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace sortition
