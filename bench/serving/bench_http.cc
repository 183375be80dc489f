// What the HTTP port costs the calls of gRPC.
//
// In every round the same arrivals at the RPC port: alone, beside calls over
// HTTP, and beside clients of the HTTP port that are idle or slow.
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "bench/serving/http_load.h"
#include "bench/serving/open_loop.h"
#include "bench/serving/rank_servers.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 5, "rounds, in [1, 1000]");
ABSL_FLAG(double, seconds, 4, "length of a trial, in [0.1, 600]");
ABSL_FLAG(double, share, 0.25,
          "requests over gRPC, as a share of the most that it can do");
ABSL_FLAG(double, http_share, 0.1,
          "requests over HTTP, as a share of those over gRPC");
ABSL_FLAG(int, loiterers, 18000, "clients that are idle or slow");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(std::string, dir, "",
          "parent directory of files; empty: TMPDIR, or beside the programs");

namespace sortition {
namespace {

constexpr uint32_t kCandidates = 100;
constexpr uint32_t kFeatures = 46;
constexpr uint32_t kTopK = 10;
constexpr double kStartSeconds = 60;

// The figures of all rounds.
struct Ratios {
  std::vector<double> beside_calls;
  std::vector<double> beside_loiterers;
  double failed = 0;       // Over gRPC.
  double http_failed = 0;  // Over HTTP.

  void Print(const char* load, const OpenLoopResult& result) {
    failed += static_cast<double>(result.failed);
    absl::PrintF("%-16s %9.0f %9.2f %9.2f %7d\n", load, result.goodput,
                 result.p50_milliseconds, result.p99_milliseconds,
                 result.failed);
  }
};

absl::Status RunRound(int port, int http_port, const OpenLoopOptions& options,
                      const std::string& json, Ratios* ratios) {
  ASSIGN_OR_RETURN(const OpenLoopResult alone, RunOpenLoop(port, options));
  ratios->Print("alone", alone);
  {
    const HttpCalls calls(
        http_port, {.path = "/v1/rank",
                    .json = json,
                    .requests_per_second = absl::GetFlag(FLAGS_http_share) *
                                           options.requests_per_second});
    ASSIGN_OR_RETURN(const OpenLoopResult beside, RunOpenLoop(port, options));
    ratios->Print("beside HTTP", beside);
    ratios->beside_calls.push_back(beside.p99_milliseconds /
                                   alone.p99_milliseconds);
    ratios->http_failed += static_cast<double>(calls.num_failed());
  }
  const HttpLoiterers loiterers(http_port, absl::GetFlag(FLAGS_loiterers));
  ASSIGN_OR_RETURN(const OpenLoopResult beside, RunOpenLoop(port, options));
  ratios->Print("beside loiterers", beside);
  ratios->beside_loiterers.push_back(beside.p99_milliseconds /
                                     alone.p99_milliseconds);
  return absl::OkStatus();
}

absl::StatusOr<Report> Run() {
  RETURN_IF_ERROR(HttpLoiterers::RaiseLimit(absl::GetFlag(FLAGS_loiterers)));
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  const std::string base = directory.path() + "/";
  RETURN_IF_ERROR(PublishRankModel(base + "models", kFeatures));
  std::vector<std::string> arguments =
      RankServerArguments(bin, base + "models");
  arguments.emplace_back("--http.listen=127.0.0.1:0");
  ASSIGN_OR_RETURN(const RunningProgram server,
                   StartAndWait(arguments, base + "server", "rpc"));
  ASSIGN_OR_RETURN(const int http_port,
                   server.process->WaitForPort(base + "server.ports", "http",
                                               kStartSeconds));
  const v1::RankRequest request =
      MakeRankRequest(kCandidates, kFeatures, kTopK);
  OpenLoopOptions options;
  options.method = "/sortition.v1.Ranking/Rank";
  options.request = request.SerializeAsString();
  options.seconds = absl::GetFlag(FLAGS_seconds);
  ASSIGN_OR_RETURN(const double capacity,
                   MeasureCapacity(server.port, options, 16));
  options.requests_per_second = absl::GetFlag(FLAGS_share) * capacity;
  absl::PrintF("%.0f requests/s over gRPC, %.0f over HTTP, %d loiterers\n",
               options.requests_per_second,
               absl::GetFlag(FLAGS_http_share) * options.requests_per_second,
               absl::GetFlag(FLAGS_loiterers));
  absl::PrintF("%-16s %9s %9s %9s %7s\n", "gRPC", "OK/s", "p50 ms", "p99 ms",
               "failed");
  Ratios ratios;
  for (int i = 0; i < absl::GetFlag(FLAGS_rounds); ++i) {
    options.seed = static_cast<uint64_t>(i + 1);
    RETURN_IF_ERROR(RunRound(server.port, http_port, options,
                             MessageJson(request), &ratios));
  }
  return Report({{"p99 of gRPC beside calls over HTTP / alone",
                  MedianOf(ratios.beside_calls), 1.1},
                 {"p99 of gRPC beside loiterers / alone",
                  MedianOf(ratios.beside_loiterers), 1.1},
                 {"calls over gRPC that failed", ratios.failed, 0},
                 {"calls over HTTP that failed", ratios.http_failed, 0}});
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv, "Compares calls over gRPC with and without HTTP beside them.",
      sortition::Run);
}
