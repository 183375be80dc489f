#include "bench/log/way_trial.h"

#include <rapidjson/document.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support/clocks.h"
#include "core/base/status_macros.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/nats_server.h"

namespace sortition {
namespace {

constexpr double kStartSeconds = 60;
constexpr double kLongestSeconds = 180;
constexpr std::chrono::milliseconds kBetweenLooks(20);

struct Sidecar {
  std::unique_ptr<ChildProcess> process;
  int port = 0;
};

absl::StatusOr<Sidecar> StartSidecar(const WayOptions& options,
                                     const std::string& name,
                                     std::vector<std::string> flags) {
  const std::string prefix = absl::StrCat(options.work, "/", name);
  flags.insert(flags.begin(), options.bin + "/sortition-sidecar");
  flags.insert(flags.end(), {"--metrics_listen=127.0.0.1:0", "--http_listen=",
                             absl::StrCat("--port_file=", prefix, ".port")});
  Sidecar sidecar;
  ASSIGN_OR_RETURN(sidecar.process, ChildProcess::Start(flags, prefix));
  ASSIGN_OR_RETURN(
      sidecar.port,
      sidecar.process->WaitForPort(prefix + ".port", "metrics", kStartSeconds));
  return sidecar;
}

std::vector<std::string> JoinFlags(const WayOptions& options,
                                   const std::string& spool) {
  return {"--spool=" + spool,
          absl::StrCat("--tuples=", options.work, "/tuples"),
          "--join.reward_wait_time_seconds=1"};
}

// Waits until a metric of the sidecar is at least `least`, and returns it.
absl::StatusOr<double> WaitForMetric(const Sidecar& sidecar,
                                     const std::string& metric, double least) {
  const double end = WallSeconds() + kLongestSeconds;
  while (WallSeconds() < end) {
    if (sidecar.process->Wait(0).has_value()) break;
    const auto text = FetchMetrics(sidecar.port);
    const double value = text.ok() ? MetricSum(*text, metric) : 0;
    if (value >= least) return value;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(metric, " has not reached ", least,
                   "; stderr: ", sidecar.process->StderrText()));
}

absl::Status WaitForTuples(const WayOptions& options, const Sidecar& sidecar) {
  ASSIGN_OR_RETURN(const double tuples,
                   WaitForMetric(sidecar, "sortition_join_tuples_total",
                                 options.num_decisions));
  if (tuples == options.num_decisions) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      tuples, " tuples, must be one for each of ", options.num_decisions));
}

// Returns what a process has used so far.
absl::StatusOr<Costs> UsageOf(const ChildProcess& process) {
  ASSIGN_OR_RETURN(const double seconds, process.CpuSeconds());
  std::ifstream io(absl::StrCat("/proc/", process.pid(), "/io"));
  std::string key;
  double value = 0;
  while (io >> key >> value) {
    if (key == "write_bytes:") return Costs{1e6 * seconds, value};
  }
  return absl::UnavailableError(
      absl::StrCat("/proc/", process.pid(), "/io has no write_bytes"));
}

Costs Sum(const Costs& a, const Costs& b) {
  return {a.cpu_microseconds + b.cpu_microseconds, a.disk_bytes + b.disk_bytes};
}

// What was used from `start` to `end`, for each tuple.
Costs PerTuple(const Costs& start, const Costs& end, int num_tuples) {
  return {(end.cpu_microseconds - start.cpu_microseconds) / num_tuples,
          (end.disk_bytes - start.disk_bytes) / num_tuples};
}

absl::StatusOr<Costs> UsageOf(NatsCluster* brokers) {
  Costs sum;
  for (size_t i = 0; i < brokers->size(); ++i) {
    ASSIGN_OR_RETURN(const Costs one, UsageOf(brokers->server(i).process()));
    sum = Sum(sum, one);
  }
  return sum;
}

// Returns the sum of a field over the connections in a page of a broker.
absl::StatusOr<double> SumOf(const NatsServer& broker, const std::string& page,
                             const char* list, const char* field) {
  ASSIGN_OR_RETURN(const std::string text, broker.Page(page));
  rapidjson::Document json;
  json.Parse(text.c_str());
  if (!json.IsObject() || !json.HasMember(list) || !json[list].IsArray()) {
    return absl::InternalError(absl::StrCat(page, " has no list ", list));
  }
  double sum = 0;
  for (const auto& connection : json[list].GetArray()) {
    sum += connection[field].GetDouble();
  }
  return sum;
}

// What clients sent and got, and what the brokers sent each other.
absl::StatusOr<double> NetworkBytes(NatsCluster* brokers) {
  double bytes = 0;
  for (size_t i = 0; i < brokers->size(); ++i) {
    const NatsServer& broker = brokers->server(i);
    for (const char* field : {"in_bytes", "out_bytes"}) {
      ASSIGN_OR_RETURN(const double clients,
                       SumOf(broker, "/connz", "connections", field));
      bytes += clients;
    }
    if (brokers->size() == 1) continue;
    ASSIGN_OR_RETURN(const double between,
                     SumOf(broker, "/routez", "routes", "in_bytes"));
    bytes += between;
  }
  return bytes;
}

std::vector<std::string> PublishFlags(const WayOptions& options,
                                      const NatsCluster& brokers,
                                      const std::string& spool) {
  return {"--spool=" + spool,
          "--publish.url=" + brokers.urls(),
          absl::StrCat("--publish.replicas=", brokers.size()),
          absl::StrCat("--publish.max_bytes=", options.max_stream_bytes),
          "--delete_spool=false",
          "--poll_seconds=0.01"};
}

// A publisher makes the stream, which takes seconds where brokers must agree.
absl::Status MakeStream(const WayOptions& options, const NatsCluster& brokers) {
  ASSIGN_OR_RETURN(
      const Sidecar maker,
      StartSidecar(options, "maker",
                   PublishFlags(options, brokers, options.work + "/empty")));
  return WaitForMetric(maker, "sortition_stream_max_bytes", 1).status();
}

}  // namespace

absl::StatusOr<WayTrial> TryDirectory(const WayOptions& options) {
  std::vector<std::string> flags = JoinFlags(options, options.spool);
  flags.emplace_back("--delete_spool=false");
  const double start = WallSeconds();
  ASSIGN_OR_RETURN(const Sidecar sidecar,
                   StartSidecar(options, "sidecar", std::move(flags)));
  RETURN_IF_ERROR(WaitForTuples(options, sidecar));
  WayTrial trial;
  trial.tuples_per_second = options.num_decisions / (WallSeconds() - start);
  ASSIGN_OR_RETURN(const Costs used, UsageOf(*sidecar.process));
  trial.consumer = PerTuple({}, used, options.num_decisions);
  return trial;
}

absl::StatusOr<WayTrial> TryStream(const WayOptions& options, int replicas) {
  NatsCluster brokers(options.work, static_cast<size_t>(replicas));
  brokers.Start();
  RETURN_IF_ERROR(MakeStream(options, brokers));
  const std::string mirror = options.work + "/mirror";
  std::vector<std::string> flags = JoinFlags(options, mirror + "/*");
  flags.insert(flags.end(),
               {"--consume.url=" + brokers.urls(), "--mirror=" + mirror});
  ASSIGN_OR_RETURN(const Sidecar consumer,
                   StartSidecar(options, "consumer", std::move(flags)));
  ASSIGN_OR_RETURN(const Costs before, UsageOf(&brokers));
  const double start = WallSeconds();
  ASSIGN_OR_RETURN(const Sidecar publisher,
                   StartSidecar(options, "publisher",
                                PublishFlags(options, brokers, options.spool)));
  RETURN_IF_ERROR(WaitForTuples(options, consumer));
  WayTrial trial;
  const int n = options.num_decisions;
  trial.tuples_per_second = n / (WallSeconds() - start);
  ASSIGN_OR_RETURN(const Costs published, UsageOf(*publisher.process));
  trial.publisher = PerTuple({}, published, n);
  ASSIGN_OR_RETURN(const Costs after, UsageOf(&brokers));
  trial.brokers = PerTuple(before, after, n);
  ASSIGN_OR_RETURN(const Costs consumed, UsageOf(*consumer.process));
  trial.consumer = PerTuple({}, consumed, n);
  ASSIGN_OR_RETURN(const double bytes, NetworkBytes(&brokers));
  trial.network_bytes = bytes / n;
  return trial;
}

}  // namespace sortition
