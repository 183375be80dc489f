// What a reader of a dashboard needs is there.
#include <rapidjson/document.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/deploy/monitoring/expressions.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

std::string ReadSource(const std::string& path) {
  return ReadFile(absl::StrCat(SORTITION_SOURCES, "/", path)).value();
}

class DashboardTest : public testing::TestWithParam<std::string> {
 protected:
  DashboardTest() {
    dashboard_.Parse(ReadSource(absl::StrCat("deploy/grafana/dashboards/",
                                             GetParam(), ".json"))
                         .c_str());
  }

  // Panels and rows, those inside of rows that are closed, too.
  std::vector<const rapidjson::Value*> Panels() const {
    std::vector<const rapidjson::Value*> panels;
    for (const auto& panel : dashboard_["panels"].GetArray()) {
      panels.push_back(&panel);
      if (!panel.HasMember("panels")) continue;
      for (const auto& inner : panel["panels"].GetArray()) {
        panels.push_back(&inner);
      }
    }
    return panels;
  }
  static int Place(const rapidjson::Value& panel, const char* name) {
    return panel["gridPos"][name].GetInt();
  }

  rapidjson::Document dashboard_;
};

INSTANTIATE_TEST_SUITE_P(All, DashboardTest,
                         testing::Values("serving", "log", "learning"),
                         [](const auto& name) { return name.param; });

TEST_P(DashboardTest, PanelsSayWhatTheyTellInWhichUnit) {
  std::set<std::string> titles;
  for (const rapidjson::Value* panel : Panels()) {
    const std::string title = (*panel)["title"].GetString();
    if (std::string((*panel)["type"].GetString()) == "row") continue;
    EXPECT_THAT(std::string((*panel)["description"].GetString()),
                testing::EndsWith("."))
        << title;
    EXPECT_STRNE((*panel)["fieldConfig"]["defaults"]["unit"].GetString(), "")
        << title;
    EXPECT_GT((*panel)["targets"].Size(), 0u) << title;
    EXPECT_STREQ((*panel)["datasource"]["uid"].GetString(), "${datasource}");
    titles.insert(title);
  }
  EXPECT_GT(titles.size(), 20u);
}

// Grafana moves panels that overlap, and takes one for the other by their ids.
TEST_P(DashboardTest, PanelsHavePlacesAndIdsOfTheirOwn) {
  std::map<std::pair<int, int>, std::string> taken;
  std::set<int> ids;
  for (const rapidjson::Value* panel : Panels()) {
    const std::string title = (*panel)["title"].GetString();
    EXPECT_TRUE(ids.insert((*panel)["id"].GetInt()).second) << title;
    const int left = Place(*panel, "x");
    const int top = Place(*panel, "y");
    EXPECT_LE(left + Place(*panel, "w"), 24) << title;
    for (int x = left; x < left + Place(*panel, "w"); ++x) {
      for (int y = top; y < top + Place(*panel, "h"); ++y) {
        const auto [other, is_free] = taken.try_emplace({x, y}, title);
        EXPECT_TRUE(is_free) << title << " lies on " << other->second;
      }
    }
  }
}

// Each variable that expressions use is one that a reader can choose, and each
// that can be chosen does something.
TEST_P(DashboardTest, VariablesAreUsed) {
  const std::string text = ReadSource(
      absl::StrCat("deploy/grafana/dashboards/", GetParam(), ".json"));
  std::set<std::string> names = {"__rate_interval"};
  for (const auto& variable : dashboard_["templating"]["list"].GetArray()) {
    names.insert(variable["name"].GetString());
    const std::string name = variable["name"].GetString();
    EXPECT_TRUE(absl::StrContains(text, "$" + name) ||
                absl::StrContains(text, "${" + name + "}"))
        << name;
  }
  for (size_t at = text.find('$'); at != text.npos;
       at = text.find('$', at + 1)) {
    size_t begin = at + 1;
    if (text[begin] == '{') ++begin;
    size_t end = begin;
    while (absl::ascii_islower(static_cast<unsigned char>(text[end])) ||
           text[end] == '_') {
      ++end;
    }
    const std::string name = text.substr(begin, end - begin);
    if (name == "__all") continue;  // A value.
    EXPECT_THAT(names, Contains(name));
  }
}

// Compose mounts the folders that its own files name.
TEST(GrafanaTest, IsProvisionedWithThem) {
  const std::string compose = ReadSource("deploy/compose.yaml");
  const std::string source =
      ReadSource("deploy/grafana/provisioning/datasources/prometheus.yaml");
  const std::string provider =
      ReadSource("deploy/grafana/provisioning/dashboards/sortition.yaml");
  EXPECT_THAT(compose,
              HasSubstr("./grafana/dashboards:/etc/sortition/dashboards:ro"));
  EXPECT_THAT(compose,
              HasSubstr("./grafana/provisioning:/etc/grafana/provisioning:ro"));
  EXPECT_THAT(compose, HasSubstr("/etc/sortition/dashboards/serving.json"));
  EXPECT_THAT(provider, HasSubstr("path: /etc/sortition/dashboards"));
  EXPECT_THAT(source, HasSubstr("uid: prometheus"));
  EXPECT_THAT(source, HasSubstr("url: http://prometheus:9090"));
  EXPECT_THAT(ReadSource("deploy/prometheus/prometheus.yml"),
              HasSubstr("scrape_interval: 10s"));
  EXPECT_THAT(source, HasSubstr("timeInterval: 10s"));
}

TEST(ExpressionsTest, AreReadFromAllDashboards) {
  const auto expressions = DashboardExpressions();
  ASSERT_OK(expressions);
  std::set<std::string> dashboards;
  for (const DashboardExpression& each : *expressions) {
    dashboards.insert(each.dashboard);
    EXPECT_FALSE(absl::StrContains(each.expression, "$")) << each.expression;
    EXPECT_FALSE(MetricsIn(each.expression).empty()) << each.expression;
  }
  EXPECT_THAT(dashboards, SizeIs(3));
  EXPECT_THAT(
      MetricsIn("sum(up{job=\"sortition-x\"}) / "
                "sortition_a_total or up or process_open_fds"),
      testing::ElementsAre("process_open_fds", "sortition_a_total", "up"));
}

}  // namespace
}  // namespace sortition
