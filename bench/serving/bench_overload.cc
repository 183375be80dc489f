// More requests than the server can answer: what it still answers, and when.
//
// In every round the most that a closed loop gets, then Poisson arrivals at 80
// % of that, then at three times as much.
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/serving/open_loop.h"
#include "bench/serving/rank_servers.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 3, "rounds, in [1, 1000]");
ABSL_FLAG(double, seconds, 2, "length of a trial, in [0.1, 600]");
ABSL_FLAG(double, deadline, 1, "deadline of every call, seconds");
ABSL_FLAG(uint32_t, candidates, 1000,
          "candidates of a request, half of which are chosen");
ABSL_FLAG(std::string, flags, "", "options of the server, separated by spaces");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(std::string, dir, "",
          "parent directory of files; empty: TMPDIR, or beside the programs");

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 1;

// Sets of a fixed size: much to do for few bytes, so that the load generator
// needs little of the machine.
absl::Status PublishSubsets(const std::string& root, uint32_t size) {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(kFeatures);
  for (uint32_t j = 0; j < kFeatures; ++j) model.add_weights(0.5);
  model.mutable_policy()->mutable_independent_subset()->set_k(size);
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(0.02);
  return ModelStore(root).Publish(model, nullptr, {}).status();
}

struct Round {
  double capacity = 0;
  OpenLoopResult busy;        // At 80 %.
  OpenLoopResult overloaded;  // At 300 %.
};

absl::StatusOr<Round> RunRound(int port, OpenLoopOptions options) {
  Round round;
  ASSIGN_OR_RETURN(round.capacity, MeasureCapacity(port, options, 16));
  options.requests_per_second = 0.8 * round.capacity;
  ASSIGN_OR_RETURN(round.busy, RunOpenLoop(port, options));
  options.requests_per_second = 3 * round.capacity;
  ASSIGN_OR_RETURN(round.overloaded, RunOpenLoop(port, options));
  return round;
}

void Print(const char* load, double capacity, const OpenLoopResult& r) {
  absl::PrintF("%-6s %9.0f %9.0f %9.0f %9.0f %7d %9.2f %9.2f %9.2f\n", load,
               capacity, r.goodput, r.refused, r.expired, r.failed,
               r.p50_milliseconds, r.p99_milliseconds, r.lag_milliseconds);
}

absl::StatusOr<Report> Run() {
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  const std::string base = directory.path() + "/";
  RETURN_IF_ERROR(
      PublishSubsets(base + "models", absl::GetFlag(FLAGS_candidates) / 2));
  std::vector<std::string> arguments =
      RankServerArguments(bin, base + "models");
  for (const absl::string_view flag :
       absl::StrSplit(absl::GetFlag(FLAGS_flags), ' ', absl::SkipEmpty())) {
    arguments.emplace_back(flag);
  }
  ASSIGN_OR_RETURN(const RunningProgram server,
                   StartAndWait(arguments, base + "server", "rpc"));
  v1::LabelRequest request;
  *request.mutable_context() =
      MakeRankRequest(absl::GetFlag(FLAGS_candidates), kFeatures, 0).context();
  OpenLoopOptions options;
  options.method = "/sortition.v1.Ranking/Label";
  options.request = request.SerializeAsString();
  options.seconds = absl::GetFlag(FLAGS_seconds);
  options.deadline_seconds = absl::GetFlag(FLAGS_deadline);

  absl::PrintF("%-6s %9s %9s %9s %9s %7s %9s %9s %9s\n", "load", "capacity",
               "OK/s", "refused/s", "expired/s", "failed", "p50 ms", "p99 ms",
               "lag ms");
  std::vector<double> goodputs;
  std::vector<double> latencies;
  double failed = 0;
  // The first round warms up.
  for (int i = -1; i < absl::GetFlag(FLAGS_rounds); ++i) {
    options.seed = static_cast<uint64_t>(i + 2);
    ASSIGN_OR_RETURN(const Round round, RunRound(server.port, options));
    if (i < 0) continue;
    Print("0.8", round.capacity, round.busy);
    Print("3", round.capacity, round.overloaded);
    goodputs.push_back(round.overloaded.goodput / round.capacity);
    latencies.push_back(round.overloaded.p99_milliseconds /
                        round.busy.p99_milliseconds);
    failed += static_cast<double>(round.busy.failed + round.overloaded.failed);
  }
  return Report({{"answers at 3 times the load / the most", MedianOf(goodputs),
                  0.9, true},
                 {"p99 of answers at 3 times the load / at 0.8 times",
                  MedianOf(latencies), 3},
                 {"calls that failed otherwise", failed, 0}});
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Sends three times the requests that sortition-server can answer.",
      sortition::Run);
}
