#include "tests/deploy/monitoring/expressions.h"

#include <rapidjson/document.h>

#include <regex>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

std::string WithoutVariables(const std::string& expression) {
  return absl::StrReplaceAll(expression, {{"$instance", ".*"},
                                          {"$model", ".*"},
                                          {"$__rate_interval", "3s"},
                                          {"$window", "6s"}});
}

void AddPanel(const std::string& dashboard, const rapidjson::Value& panel,
              std::vector<DashboardExpression>* expressions) {
  if (panel.HasMember("targets")) {
    for (const auto& target : panel["targets"].GetArray()) {
      expressions->push_back({dashboard, panel["title"].GetString(),
                              WithoutVariables(target["expr"].GetString())});
    }
  }
  if (panel.HasMember("panels")) {
    for (const auto& inner : panel["panels"].GetArray()) {
      AddPanel(dashboard, inner, expressions);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<DashboardExpression>> DashboardExpressions() {
  std::vector<DashboardExpression> expressions;
  for (const std::string name : {"serving", "log", "learning"}) {
    ASSIGN_OR_RETURN(
        const std::string text,
        ReadFile(absl::StrCat(SORTITION_SOURCES, "/deploy/grafana/dashboards/",
                              name, ".json")));
    rapidjson::Document dashboard;
    dashboard.Parse(text.c_str());
    if (!dashboard.IsObject()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ".json: no JSON"));
    }
    for (const auto& panel : dashboard["panels"].GetArray()) {
      AddPanel(name, panel, &expressions);
    }
    for (const auto& note : dashboard["annotations"]["list"].GetArray()) {
      expressions.push_back({name, note["name"].GetString(),
                             WithoutVariables(note["expr"].GetString())});
    }
  }
  return expressions;
}

std::vector<std::string> MetricsIn(const std::string& expression) {
  const std::regex metric(
      "\\b(sortition_[a-z_]+|grpc_server_[a-z_]+|process_[a-z_]+|up)\\b");
  std::set<std::string> names;
  for (std::sregex_iterator it(expression.begin(), expression.end(), metric),
       end;
       it != end; ++it) {
    names.insert((*it)[1]);
  }
  return {names.begin(), names.end()};
}

}  // namespace sortition
