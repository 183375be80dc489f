// Compares Rank by sortition-server with an echo of the same messages, and with
// itself under other options.
//
// Both run in alternating pairs.
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/serving/closed_loop.h"
#include "bench/serving/echo_server.h"
#include "bench/serving/rank_servers.h"
#include "bench/serving/rpc_latency.h"
#include "bench/serving/stream_loop.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "process/http/http_server.h"
#include "process/json_writer.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, pairs, 7, "pairs of trials per comparison, in [1, 1000]");
ABSL_FLAG(double, seconds, 2, "length of a trial, in [0.1, 600]");
ABSL_FLAG(int, channels, 4, "connections of the load generator, in [1, 256]");
ABSL_FLAG(int, outstanding, 64, "requests under way, in [1, 4096]");
ABSL_FLAG(std::string, figure, "",
          "file for percentiles of latencies, as SVG; empty: none");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(
    std::string, dir, "",
    "parent directory of the spool; empty: TMPDIR, or beside the programs");
ABSL_FLAG(uint64_t, spool_max_bytes, uint64_t{4} << 30,
          "limit of the spool; closed segments are removed all the time");
ABSL_FLAG(std::string, echo, "", "internal: serve an echo, queue or callback");
ABSL_FLAG(std::string, response, "", "internal: what the echo answers");
ABSL_FLAG(std::string, port_file, "", "internal: where the echo says its port");

namespace sortition {
namespace {

constexpr uint32_t kCandidates = 100;
constexpr uint32_t kFeatures = 46;
constexpr uint32_t kTopK = 10;
// Without its flags.
constexpr char kTraceparent[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";

struct Comparison {
  std::string name;
  std::string base_name;
  const RunningProgram* subject;
  const RunningProgram* base;
  bool subject_streams = false;  // The subject is asked over RankStream.
  std::string traceparent = {};  // Sent to both.
  std::vector<ClosedLoopResult> subject_trials = {};
  std::vector<ClosedLoopResult> base_trials = {};

  Spread RatioOf(double ClosedLoopResult::*figure) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < subject_trials.size(); ++i) {
      ratios.push_back(subject_trials[i].*figure / (base_trials[i].*figure));
    }
    return SpreadOf(std::move(ratios));
  }
  uint64_t failed() const {
    uint64_t sum = 0;
    for (const auto& trial : subject_trials) sum += trial.failed;
    for (const auto& trial : base_trials) sum += trial.failed;
    return sum;
  }
};

absl::Status Measure(const v1::RankRequest& request, ClosedLoopOptions options,
                     int pairs, const std::string& spool,
                     Comparison* comparison) {
  const SpoolCleaner cleaner(spool);
  options.traceparent = comparison->traceparent;
  // The first trial warms both up and is not counted.
  for (int trial = -1; trial < pairs; ++trial) {
    // The order changes with every pair, so that drift of the machine cancels
    // out.
    for (const bool subject : {trial % 2 == 0, trial % 2 != 0}) {
      const RunningProgram& server =
          subject ? *comparison->subject : *comparison->base;
      const auto run = subject && comparison->subject_streams ? RunStreamLoop
                                                              : RunClosedLoop;
      ASSIGN_OR_RETURN(ClosedLoopResult result,
                       run(request, server.port, *server.process, options));
      if (trial < 0) continue;
      (subject ? comparison->subject_trials : comparison->base_trials)
          .push_back(std::move(result));
    }
  }
  return absl::OkStatus();
}

double Median(const std::vector<ClosedLoopResult>& trials,
              double ClosedLoopResult::*figure) {
  std::vector<double> values;
  for (const ClosedLoopResult& trial : trials) values.push_back(trial.*figure);
  return MedianOf(std::move(values));
}

void PrintTrials(const std::string& name, const std::string& base,
                 const std::vector<ClosedLoopResult>& trials) {
  using R = ClosedLoopResult;
  absl::PrintF("%-22s %-12s %9.0f %9.2f %8.2f %8.2f", name, base,
               Median(trials, &R::requests_per_second),
               Median(trials, &R::server_microseconds),
               Median(trials, &R::p50_milliseconds),
               Median(trials, &R::p99_milliseconds));
}

void PrintTable(const std::vector<Comparison>& comparisons) {
  absl::PrintF(
      "Rank, %d candidates x %d features, top %d; median (lowest - highest)\n"
      "%-22s %-12s %9s %9s %8s %8s  %-22s %-22s\n",
      kCandidates, kFeatures, kTopK, "subject", "base", "req/s", "CPU us",
      "p50 ms", "p99 ms", "throughput ratio", "CPU/request ratio");
  for (const Comparison& c : comparisons) {
    const Spread throughput = c.RatioOf(&ClosedLoopResult::requests_per_second);
    const Spread cpu = c.RatioOf(&ClosedLoopResult::server_microseconds);
    PrintTrials(c.name, c.base_name, c.subject_trials);
    absl::PrintF("  %.3f (%.3f - %.3f)  %.3f (%.3f - %.3f)\n",
                 throughput.median, throughput.lowest, throughput.highest,
                 cpu.median, cpu.lowest, cpu.highest);
    PrintTrials("  its base", "", c.base_trials);
    absl::PrintF("\n");
  }
}

void WriteSpread(const std::string& key, const Spread& spread,
                 JsonWriter* json) {
  json->Key(key).BeginObject();
  json->Key("median").Number(spread.median);
  json->Key("lowest").Number(spread.lowest);
  json->Key("highest").Number(spread.highest).EndObject();
}

void WriteTrials(const std::string& key,
                 const std::vector<ClosedLoopResult>& trials,
                 JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const ClosedLoopResult& trial : trials) {
    json->BeginObject();
    json->Key("requests_per_second").Number(trial.requests_per_second);
    json->Key("server_microseconds").Number(trial.server_microseconds);
    json->Key("p50_milliseconds").Number(trial.p50_milliseconds);
    json->Key("p99_milliseconds").Number(trial.p99_milliseconds);
    json->Key("failed").Count(trial.failed).EndObject();
  }
  json->EndArray();
}

// Returns an array with every trial of every comparison.
std::string ComparisonsJson(const std::vector<Comparison>& comparisons) {
  JsonWriter json;
  json.BeginArray();
  for (const Comparison& c : comparisons) {
    json.BeginObject();
    json.Key("subject").String(c.name).Key("base").String(c.base_name);
    WriteSpread("throughput_ratio",
                c.RatioOf(&ClosedLoopResult::requests_per_second), &json);
    WriteSpread("cpu_ratio", c.RatioOf(&ClosedLoopResult::server_microseconds),
                &json);
    WriteTrials("subject_trials", c.subject_trials, &json);
    WriteTrials("base_trials", c.base_trials, &json);
    json.EndObject();
  }
  json.EndArray();
  return json.text();
}

// All servers run from the start; those that get no requests are idle.
struct Servers {
  RunningProgram plain;
  RunningProgram two_threads;
  RunningProgram four_threads;
  RunningProgram logged;
  RunningProgram traced;
  RunningProgram queue_echo;
  RunningProgram callback_echo;
};

// Starts the servers with their files below `base`. The echoes answer what the
// real server answers to `request`. Spans go to `collector`.
absl::StatusOr<Servers> StartServers(const std::string& self,
                                     const std::string& bin,
                                     const std::string& base,
                                     const std::string& collector,
                                     const v1::RankRequest& request) {
  RETURN_IF_ERROR(PublishRankModel(base + "models", kFeatures));
  std::vector<std::string> arguments =
      RankServerArguments(bin, base + "models");
  // A stall of the disk is to show in the latencies: with its own limits the
  // server would refuse, and the run would end.
  arguments.insert(arguments.end(), {"--admission.max_wait_seconds=10",
                                     "--admission.target_wait_seconds=10"});
  Servers servers;
  ASSIGN_OR_RETURN(servers.plain,
                   StartAndWait(arguments, base + "plain", "rpc"));
  arguments.push_back("--tracing.endpoint=" + collector);
  ASSIGN_OR_RETURN(servers.traced,
                   StartAndWait(arguments, base + "traced", "rpc"));
  arguments.back() = "--threads=2";
  ASSIGN_OR_RETURN(servers.two_threads,
                   StartAndWait(arguments, base + "two_threads", "rpc"));
  arguments.back() = "--threads=4";
  ASSIGN_OR_RETURN(servers.four_threads,
                   StartAndWait(arguments, base + "four_threads", "rpc"));
  arguments.pop_back();
  arguments.push_back(absl::StrCat("--spool.dir=", base, "spool"));
  arguments.push_back(
      absl::StrCat("--spool.max_bytes=", absl::GetFlag(FLAGS_spool_max_bytes)));
  ASSIGN_OR_RETURN(servers.logged,
                   StartAndWait(arguments, base + "logged", "rpc"));
  ASSIGN_OR_RETURN(const v1::RankResponse response,
                   RankOnce(request, servers.plain.port));
  if (response.result().model().version() != 1) {
    return absl::FailedPreconditionError(
        "the server does not serve the published model");
  }
  RETURN_IF_ERROR(WriteFile(base + "response", response.SerializeAsString()));
  const auto start_echo = [&](const std::string& api) {
    return StartAndWait(
        {self, "--echo=" + api, absl::StrCat("--response=", base, "response")},
        base + api, "rpc");
  };
  ASSIGN_OR_RETURN(servers.queue_echo, start_echo("queue"));
  ASSIGN_OR_RETURN(servers.callback_echo, start_echo("callback"));
  return servers;
}

std::vector<Target> MakeTargets(const std::vector<Comparison>& comparisons) {
  const auto cpu = [&](size_t index) {
    return comparisons[index]
        .RatioOf(&ClosedLoopResult::server_microseconds)
        .median;
  };
  uint64_t failed = 0;
  for (const Comparison& comparison : comparisons) {
    failed += comparison.failed();
  }
  return {{"server CPU per request, no log, / echo", cpu(0), 1.15},
          {"server CPU per request, logged, / echo", cpu(1), 1.4},
          {"server CPU per request, RankStream / Rank", cpu(3), 0.75},
          {"server CPU per request, 2 threads / 1 thread", cpu(5), 1.1},
          {"server CPU per request, 4 threads / 1 thread", cpu(6), 1.1},
          {"server CPU per request, tracing, not sampled / off", cpu(7), 1.03},
          {"failed requests", static_cast<double>(failed), 0}};
}

// The load is a share of what the server did in the closed loop.
absl::StatusOr<std::vector<LatencyComparison>> CompareLatencies(
    const v1::RankRequest& request, const std::vector<Comparison>& comparisons,
    const std::string& spool) {
  const SpoolCleaner cleaner(spool);
  const LatencyOptions options{.channels = absl::GetFlag(FLAGS_channels),
                               .seconds = absl::GetFlag(FLAGS_seconds),
                               .pairs = absl::GetFlag(FLAGS_pairs)};
  std::vector<LatencyComparison> latencies;
  for (const size_t i : {0, 1}) {
    const Comparison& c = comparisons[i];
    for (const double share : {0.25, 0.5}) {
      const double saturation =
          Median(c.subject_trials, &ClosedLoopResult::requests_per_second);
      latencies.push_back({.name = c.name,
                           .share = share,
                           .requests_per_second = share * saturation,
                           .port = c.subject->port,
                           .echo_port = c.base->port});
      const absl::Status status =
          MeasureLatencies(request, options, &latencies.back());
      if (status.ok()) continue;
      // A machine that others share may have become slower since.
      absl::PrintF("%s at %.0f %% load: %s\n", c.name, 100 * share,
                   status.message());
      latencies.back().latencies.clear();
      latencies.back().p99_ratio = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return latencies;
}

absl::StatusOr<Report> Compare(const std::string& self) {
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  const v1::RankRequest request =
      MakeRankRequest(kCandidates, kFeatures, kTopK);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<HttpServer> collector,
      HttpServer::Open("collector", "127.0.0.1:0", {},
                       {{"POST /v1/traces", [](const HttpRequest&) {
                           return HttpAnswer{.code = 200, .body = "{}"};
                         }}}));
  ASSIGN_OR_RETURN(
      const Servers servers,
      StartServers(self, bin, directory.path() + "/",
                   absl::StrCat("http://127.0.0.1:", collector->port()),
                   request));

  std::vector<Comparison> comparisons = {
      {"rank, no log", "echo", &servers.plain, &servers.queue_echo},
      {"rank, logged", "echo", &servers.logged, &servers.queue_echo},
      {"echo, callback API", "echo", &servers.callback_echo,
       &servers.queue_echo},
      {"stream, no log", "rank", &servers.plain, &servers.plain, true},
      {"stream, logged", "rank, logged", &servers.logged, &servers.logged,
       true},
      {"rank, 2 threads", "rank", &servers.two_threads, &servers.plain},
      {"rank, 4 threads", "rank", &servers.four_threads, &servers.plain},
      {"tracing, not sampled", "rank", &servers.traced, &servers.plain, false,
       std::string(kTraceparent) + "00"},
      {"tracing, all sampled", "rank", &servers.traced, &servers.plain, false,
       std::string(kTraceparent) + "01"}};
  const ClosedLoopOptions options{
      .channels = absl::GetFlag(FLAGS_channels),
      .outstanding = absl::GetFlag(FLAGS_outstanding),
      .seconds = absl::GetFlag(FLAGS_seconds)};
  for (Comparison& comparison : comparisons) {
    RETURN_IF_ERROR(Measure(request, options, absl::GetFlag(FLAGS_pairs),
                            directory.path() + "/spool", &comparison));
  }
  PrintTable(comparisons);
  ASSIGN_OR_RETURN(
      const auto latencies,
      CompareLatencies(request, comparisons, directory.path() + "/spool"));
  PrintLatencies(latencies);
  Report report(MakeTargets(comparisons));
  AppendTargets(LatencyTargets(latencies), &report.targets);
  report.details["latencies"] = LatenciesJson(latencies);
  if (const std::string path = absl::GetFlag(FLAGS_figure); !path.empty()) {
    RETURN_IF_ERROR(WriteFile(path, DrawLatencies(latencies)));
  }
  report.details["comparisons"] = ComparisonsJson(comparisons);
  return report;
}

absl::Status CheckFlags() {
  const auto check = [](absl::string_view name, double value, double low,
                        double high) {
    if (value >= low && value <= high) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, " is ", value, ", must be in [", low, ", ", high, "]"));
  };
  RETURN_IF_ERROR(check("pairs", absl::GetFlag(FLAGS_pairs), 1, 1000));
  RETURN_IF_ERROR(check("seconds", absl::GetFlag(FLAGS_seconds), 0.1, 600));
  RETURN_IF_ERROR(check("channels", absl::GetFlag(FLAGS_channels), 1, 256));
  return check("outstanding", absl::GetFlag(FLAGS_outstanding), 1, 4096);
}

absl::StatusOr<Report> Run() {
  if (!absl::GetFlag(FLAGS_echo).empty()) {
    RETURN_IF_ERROR(
        RunEchoServer({absl::GetFlag(FLAGS_echo), absl::GetFlag(FLAGS_response),
                       absl::GetFlag(FLAGS_port_file)}));
    return Report();
  }
  RETURN_IF_ERROR(CheckFlags());
  return Compare(std::filesystem::read_symlink("/proc/self/exe"));
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Compares Rank of sortition-server with an echo of the same messages.",
      sortition::Run);
}
