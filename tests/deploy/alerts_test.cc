// Alerts name metrics that there are.
#include <filesystem>
#include <regex>
#include <set>
#include <string>

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
    // A histogram has series of its own for its buckets.
    name.resize(absl::StripSuffix(name, "_bucket").size());
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

}  // namespace
}  // namespace sortition
