#include "tests/deploy/monitoring/prometheus_server.h"

#include <rapidjson/document.h>

#include <filesystem>
#include <regex>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/testing/http_page.h"
#include "tests/testing/nats_server.h"

namespace sortition {
namespace {

std::string TextOf(const rapidjson::Value& object, const char* name) {
  return object.HasMember(name) && object[name].IsString()
             ? object[name].GetString()
             : "";
}

// Returns the member "data" of an answer of the API.
absl::StatusOr<rapidjson::Document> FetchData(int port,
                                              const std::string& path) {
  ASSIGN_OR_RETURN(const std::string page, FetchPage(port, path));
  rapidjson::Document answer;
  answer.Parse(page.c_str());
  if (!answer.IsObject() || TextOf(answer, "status") != "success") {
    return absl::UnavailableError(absl::StrCat(path, " answered ", page));
  }
  rapidjson::Document data;
  data.CopyFrom(answer["data"], data.GetAllocator());
  return data;
}

// Seconds of a duration such as "15m".
double SecondsOf(const std::string& duration) {
  const std::map<char, double> units = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
  return std::stod(duration) * units.at(duration.back());
}

// Returns a duration that spans several scrapes and is short enough for a test.
// A week stays out of reach. Several restarts of a process must fit into half
// an hour.
std::string Shorten(const std::string& duration) {
  if (duration.back() == 'w') return "1h";
  if (duration == "30m") return "8s";
  return SecondsOf(duration) <= 300 ? "2400ms" : "4s";
}

std::string ConfigText(const std::vector<ScrapeTarget>& targets) {
  std::string text =
      "global: {scrape_interval: 400ms, scrape_timeout: 400ms, "
      "evaluation_interval: 400ms}\nrule_files: "
      "[alerts.yml]\nscrape_configs:\n";
  std::map<std::string, std::string> targets_of_jobs;
  for (const ScrapeTarget& target : targets) {
    absl::StrAppend(&targets_of_jobs[target.job],
                    "      - targets: [127.0.0.1:", target.port,
                    "]\n        labels: {instance: ", target.instance, "}\n");
  }
  for (const auto& [job, its_targets] : targets_of_jobs) {
    absl::StrAppend(&text, "  - job_name: ", job, "\n    static_configs:\n",
                    its_targets);
  }
  return text;
}

}  // namespace

std::string UrlEncode(absl::string_view text) {
  std::string encoded;
  for (const char byte : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(byte))) {
      encoded += byte;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X",
                            static_cast<unsigned char>(byte));
    }
  }
  return encoded;
}

absl::StatusOr<std::string> ShortAlerts() {
  ASSIGN_OR_RETURN(std::string rest,
                   ReadFile(absl::StrCat(SORTITION_SOURCES,
                                         "/deploy/prometheus/alerts.yml")));
  rest =
      std::regex_replace(rest, std::regex("for: [0-9]+[smhd]"), "for: 400ms");
  rest = std::regex_replace(
      rest, std::regex("(process_start_time_seconds < )[0-9]+"), "$015");
  const std::regex duration("(\\[|offset )([0-9]+[smhdw])");
  std::string text;
  for (std::smatch match; std::regex_search(rest, match, duration);
       rest = match.suffix()) {
    absl::StrAppend(&text, match.prefix().str(), match[1].str(),
                    Shorten(match[2].str()));
  }
  return text + rest;
}

absl::StatusOr<std::unique_ptr<PrometheusServer>> PrometheusServer::Start(
    const std::string& dir, const std::vector<ScrapeTarget>& targets,
    const std::string& alerts) {
  std::filesystem::create_directory(dir);
  RETURN_IF_ERROR(WriteFile(dir + "/prometheus.yml", ConfigText(targets)));
  RETURN_IF_ERROR(WriteFile(dir + "/alerts.yml", alerts));
  std::unique_ptr<PrometheusServer> server(new PrometheusServer(FreePort()));
  ASSIGN_OR_RETURN(
      server->process_,
      ChildProcess::Start(
          {kPrometheus, "--config.file=" + dir + "/prometheus.yml",
           "--storage.tsdb.path=" + dir + "/data",
           absl::StrCat("--web.listen-address=127.0.0.1:", server->port_)},
          dir + "/output"));
  const bool is_ready = PollUntil(kPatienceSeconds, [&] {
    return FetchPage(server->port_, "/-/ready").ok() ||
           server->process_->Wait(0).has_value();
  });
  if (is_ready && !server->process_->Wait(0).has_value()) return server;
  return absl::UnavailableError("Prometheus does not start: " +
                                server->process_->StderrText());
}

absl::StatusOr<std::vector<Sample>> PrometheusServer::Query(
    absl::string_view expression) const {
  ASSIGN_OR_RETURN(
      const rapidjson::Document data,
      FetchData(port_, "/api/v1/query?query=" + UrlEncode(expression)));
  std::vector<Sample> samples;
  for (const auto& series : data["result"].GetArray()) {
    Sample sample;
    for (const auto& label : series["metric"].GetObject()) {
      sample.labels[label.name.GetString()] = label.value.GetString();
    }
    if (!absl::SimpleAtod(series["value"][1].GetString(), &sample.value)) {
      return absl::InternalError("a value is no number");
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

absl::StatusOr<std::vector<AlertRule>> PrometheusServer::Rules() const {
  ASSIGN_OR_RETURN(const rapidjson::Document data,
                   FetchData(port_, "/api/v1/rules"));
  std::vector<AlertRule> rules;
  for (const auto& group : data["groups"].GetArray()) {
    for (const auto& rule : group["rules"].GetArray()) {
      if (TextOf(rule, "health") == "unknown") {
        return absl::UnavailableError("not evaluated yet");
      }
      rules.push_back({TextOf(rule, "name"), TextOf(rule, "query"),
                       TextOf(rule, "lastError")});
    }
  }
  return rules;
}

absl::StatusOr<std::set<std::string>> PrometheusServer::Firing() const {
  ASSIGN_OR_RETURN(const rapidjson::Document data,
                   FetchData(port_, "/api/v1/alerts"));
  std::set<std::string> names;
  for (const auto& alert : data["alerts"].GetArray()) {
    if (TextOf(alert, "state") != "firing") continue;
    names.insert(TextOf(alert["labels"], "alertname"));
  }
  return names;
}

}  // namespace sortition
