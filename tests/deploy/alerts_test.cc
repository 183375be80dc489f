// Alerts name metrics that there are, are explained, and are tested.
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr char kRoot[] = SORTITION_SOURCES;

// The sources in which metrics are named.
std::string Sources() {
  std::string all;
  for (const char* folder : {"/server", "/sidecar", "/process"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::string(kRoot) + folder)) {
      if (entry.path().extension() != ".cc") continue;
      all += ReadFile(entry.path().string()).value();
    }
  }
  return all;
}

TEST(AlertsTest, NameMetricsThatThereAre) {
  ASSERT_OK_AND_ASSIGN(
      const std::string alerts,
      ReadFile(std::string(kRoot) + "/deploy/prometheus/alerts.yml"));
  const std::string sources = Sources();
  const std::regex metric("sortition_([a-z_]+)");
  std::set<std::string> names;
  for (std::sregex_iterator it(alerts.begin(), alerts.end(), metric), end;
       it != end; ++it) {
    std::string name = (*it)[1];
    // A histogram has series of its own for its buckets and their sum.
    for (const char* suffix : {"_bucket", "_count"}) {
      name.resize(absl::StripSuffix(name, suffix).size());
    }
    names.insert(name);
  }
  EXPECT_GT(names.size(), 10u);
  for (const std::string& name : names) {
    // The sidecar adds the prefix in one place.
    EXPECT_TRUE(absl::StrContains(sources, "\"sortition_" + name + "\"") ||
                absl::StrContains(sources, "\"" + name + "\""))
        << name;
  }
}

// Each has a section in the runbook, to which its annotation leads, and a test
// of promtool says when it fires and when it does not.
TEST(AlertsTest, AreExplainedAndTested) {
  const std::string prometheus = std::string(kRoot) + "/deploy/prometheus/";
  ASSERT_OK_AND_ASSIGN(const std::string alerts,
                       ReadFile(prometheus + "alerts.yml"));
  ASSERT_OK_AND_ASSIGN(const std::string document,
                       ReadFile(std::string(kRoot) + "/docs/runbook.md"));
  std::string tests;
  for (const auto& entry :
       std::filesystem::directory_iterator(prometheus + "tests")) {
    tests += ReadFile(entry.path().string()).value();
  }
  const std::regex alert("alert: (\\w+)");
  int num_alerts = 0;
  for (std::sregex_iterator it(alerts.begin(), alerts.end(), alert), end;
       it != end; ++it, ++num_alerts) {
    const std::string name = (*it)[1];
    EXPECT_TRUE(absl::StrContains(document, "\n### " + name + "\n")) << name;
    EXPECT_TRUE(absl::StrContains(
        alerts, "\"docs/runbook.md#" + absl::AsciiStrToLower(name) + "\""))
        << name;
    EXPECT_TRUE(absl::StrContains(tests, "alertname: " + name + "\n")) << name;
    EXPECT_TRUE(absl::StrContains(tests, "alertname: " + name + "}")) << name;
  }
  EXPECT_GT(num_alerts, 50);
}

}  // namespace
}  // namespace sortition
