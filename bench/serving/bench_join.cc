// Shows that the sidecar joins faster than the server logs, per core.
//
// The server logs at full speed in a closed loop; then the pipeline of the
// sidecar joins a spool of the same decisions that was written ahead.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/serving/closed_loop.h"
#include "bench/serving/rank_servers.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "process/metrics.h"
#include "sidecar/pipeline.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, pairs, 3, "pairs of trials, in [1, 1000]");
ABSL_FLAG(double, seconds, 3, "length of a server's trial, in [0.1, 600]");
ABSL_FLAG(int, decisions, 30000, "decisions in a spool, in [1000, 100000000]");
ABSL_FLAG(int, candidates, 100, "candidates of a request, in [10, 100000]");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(
    std::string, dir, "",
    "parent directory of the spools; empty: TMPDIR, or beside the programs");

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 46;
constexpr uint32_t kTopK = 10;

struct JoinTrial {
  double tuples_per_cpu_second = 0;
  double tuples_per_second = 0;
  double megabytes_per_second = 0;
};

log::v1::Decision MakeDecision(const v1::RankResponse& response,
                               uint32_t num_candidates) {
  log::v1::Decision decision;
  decision.set_model("default");
  decision.set_version(1);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(num_candidates);
  decision.set_num_features(kFeatures);
  decision.set_top_k(kTopK);
  for (uint32_t i = 0; i < kTopK; ++i) {
    decision.add_action(static_cast<int32_t>(i));
    decision.add_conditional_log_propensities(-1.0 - i);
  }
  decision.set_log_propensity(response.result().log_propensity());
  return decision;
}

absl::StatusOr<JoinTrial> Join(const std::string& base, uint64_t spool_bytes) {
  config::v1::SidecarOptions options;
  options.add_spool(base + "spool");
  options.set_tuples(base + "tuples");
  options.mutable_join()->set_reward_wait_time_seconds(1);
  Metrics metrics;
  const double wall = WallSeconds();
  const double cpu = ThreadCpuSeconds();
  ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                   Pipeline::Open(options, &metrics, NowUs));
  bool is_busy = true;
  while (is_busy) {
    ASSIGN_OR_RETURN(is_busy, pipeline->Poll(4096));
  }
  RETURN_IF_ERROR(pipeline->Close());
  const double cpu_seconds = ThreadCpuSeconds() - cpu;
  const double wall_seconds = WallSeconds() - wall;
  const auto tuples = static_cast<double>(pipeline->counts().tuples);
  if (pipeline->counts().tuples !=
      static_cast<uint64_t>(absl::GetFlag(FLAGS_decisions))) {
    return absl::InternalError(absl::StrCat(
        pipeline->counts().tuples, " tuples, must be one per decision"));
  }
  return JoinTrial{tuples / cpu_seconds, tuples / wall_seconds,
                   1e-6 * static_cast<double>(spool_bytes) / wall_seconds};
}

double MedianOfTrials(const std::vector<JoinTrial>& trials,
                      double JoinTrial::*figure) {
  std::vector<double> values;
  for (const JoinTrial& trial : trials) values.push_back(trial.*figure);
  return MedianOf(std::move(values));
}

absl::StatusOr<RunningProgram> StartLoggingServer(const std::string& bin,
                                                  const std::string& base) {
  RETURN_IF_ERROR(PublishRankModel(base + "models", kFeatures));
  std::vector<std::string> arguments =
      RankServerArguments(bin, base + "models");
  arguments.push_back(absl::StrCat("--spool.dir=", base, "server_spool"));
  return StartAndWait(arguments, base + "server", "rpc");
}

// Returns how many decisions the server logs per CPU second.
absl::StatusOr<double> LogRate(const v1::RankRequest& request,
                               const RunningProgram& server,
                               const std::string& base) {
  const SpoolCleaner cleaner(base + "server_spool");
  ClosedLoopOptions load;
  load.seconds = absl::GetFlag(FLAGS_seconds);
  ASSIGN_OR_RETURN(const ClosedLoopResult logged,
                   RunClosedLoop(request, server.port, *server.process, load));
  return 1e6 / logged.server_microseconds;
}

absl::StatusOr<Report> Compare(const std::string& bin,
                               const std::string& base) {
  const auto num_candidates =
      static_cast<uint32_t>(absl::GetFlag(FLAGS_candidates));
  const v1::RankRequest request =
      MakeRankRequest(num_candidates, kFeatures, kTopK);
  const auto& values = request.context().candidates().dense().values();
  ASSIGN_OR_RETURN(const RunningProgram server, StartLoggingServer(bin, base));
  ASSIGN_OR_RETURN(const v1::RankResponse response,
                   RankOnce(request, server.port));
  std::vector<JoinTrial> joins;
  std::vector<double> rates;   // Of the server, per CPU second.
  std::vector<double> ratios;  // Of both rates.
  // The first pair warms both up and is not counted.
  for (int pair = -1; pair < absl::GetFlag(FLAGS_pairs); ++pair) {
    ASSIGN_OR_RETURN(const double rate, LogRate(request, server, base));
    ASSIGN_OR_RETURN(
        const uint64_t bytes,
        WriteSpool(base + "spool", MakeDecision(response, num_candidates),
                   {values.data(), static_cast<size_t>(values.size())},
                   absl::GetFlag(FLAGS_decisions)));
    ASSIGN_OR_RETURN(const JoinTrial join, Join(base, bytes));
    std::filesystem::remove_all(base + "spool");
    std::filesystem::remove_all(base + "tuples");
    if (pair < 0) continue;
    joins.push_back(join);
    rates.push_back(rate);
    ratios.push_back(join.tuples_per_cpu_second / rate);
  }
  absl::PrintF(
      "%d candidates x %d features; medians\n"
      "the server logs  %9.0f decisions per CPU second\n"
      "the sidecar joins %8.0f per CPU second, %.0f per second, %.0f MB/s\n",
      num_candidates, kFeatures, MedianOf(rates),
      MedianOfTrials(joins, &JoinTrial::tuples_per_cpu_second),
      MedianOfTrials(joins, &JoinTrial::tuples_per_second),
      MedianOfTrials(joins, &JoinTrial::megabytes_per_second));
  return Report({{"tuples joined / decisions logged, per CPU second",
                  MedianOf(ratios), 1, true}});
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
  RETURN_IF_ERROR(
      check("decisions", absl::GetFlag(FLAGS_decisions), 1000, 1e8));
  return check("candidates", absl::GetFlag(FLAGS_candidates), 10, 100000);
}

absl::StatusOr<Report> Run() {
  RETURN_IF_ERROR(CheckFlags());
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  return Compare(bin, directory.path() + "/");
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Shows that the sidecar joins faster than the server logs, per core.",
      sortition::Run);
}
