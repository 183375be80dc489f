// Shows that neither a stopped sidecar nor rotation and sync stall requests.
//
// Rank of the real server, closed loop. First the sidecar is stopped by SIGSTOP
// and continued, in turns. Then a server that rotates and syncs all the time is
// compared with one that does not log, in alternating pairs.
#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/serving/closed_loop.h"
#include "bench/serving/rank_servers.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, pairs, 3, "turns and pairs of trials, in [1, 1000]");
ABSL_FLAG(double, seconds, 10,
          "how long the sidecar is stopped, and how long it runs before, in "
          "[0.1, 600]");
ABSL_FLAG(double, pair_seconds, 5, "length of the other trials, in [0.1, 600]");
ABSL_FLAG(int, candidates, 20, "candidates of a request, in [10, 100000]");
ABSL_FLAG(int, outstanding, 16, "requests under way, in [1, 4096]");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(
    std::string, dir, "",
    "parent directory of the spool; empty: TMPDIR, or beside the programs");

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 46;
constexpr uint32_t kTopK = 10;
constexpr double kCatchUpSeconds = 300;

using Trials = std::vector<ClosedLoopResult>;

double MedianRatio(const Trials& subject, const Trials& base,
                   double ClosedLoopResult::*figure) {
  std::vector<double> ratios;
  for (size_t i = 0; i < subject.size(); ++i) {
    ratios.push_back(subject[i].*figure / (base[i].*figure));
  }
  return MedianOf(std::move(ratios));
}

double Failed(const Trials& trials) {
  double failed = 0;
  for (const ClosedLoopResult& trial : trials) {
    failed += static_cast<double>(trial.failed);
  }
  return failed;
}

void Print(const std::string& name, const ClosedLoopResult& trial) {
  absl::PrintF("%-28s %9.0f %8.2f %8.2f %8.2f\n", name,
               trial.requests_per_second, trial.p50_milliseconds,
               trial.p99_milliseconds, trial.p999_milliseconds);
}

class StallBenchmark {
 public:
  StallBenchmark(std::string bin, std::string base)
      : bin_(std::move(bin)),
        base_(std::move(base)),
        request_(MakeRankRequest(
            static_cast<uint32_t>(absl::GetFlag(FLAGS_candidates)), kFeatures,
            kTopK)) {}

  absl::StatusOr<Report> Run() {
    RETURN_IF_ERROR(PublishRankModel(base_ + "models", kFeatures));
    absl::PrintF("%-28s %9s %8s %8s %8s\n", "", "req/s", "p50 ms", "p99 ms",
                 "p99.9 ms");
    Report report;
    ASSIGN_OR_RETURN(report.targets, StopSidecar());
    ASSIGN_OR_RETURN(std::vector<Target> more, RotateAndSync());
    AppendTargets(std::move(more), &report.targets);
    return report;
  }

 private:
  absl::StatusOr<ClosedLoopResult> Trial(const RunningProgram& server,
                                         double seconds) {
    ClosedLoopOptions options;
    options.outstanding = absl::GetFlag(FLAGS_outstanding);
    options.seconds = seconds;
    return RunClosedLoop(request_, server.port, *server.process, options);
  }

  absl::StatusOr<RunningProgram> StartLogged(
      const std::string& name, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments =
        RankServerArguments(bin_, base_ + "models");
    arguments.push_back(absl::StrCat("--spool.dir=", base_, name, "_spool"));
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return StartAndWait(arguments, base_ + name, "rpc");
  }

  // The sidecar removes what it has joined; the newest segment stays, and the
  // server has another one.
  absl::Status WaitForSidecar(const std::string& spool) const {
    const auto has_caught_up = [&] {
      const auto names = ListSegments(spool);
      return names.ok() && names->size() <= 2;
    };
    return PollUntil(kCatchUpSeconds, has_caught_up)
               ? absl::OkStatus()
               : absl::DeadlineExceededError("the sidecar does not catch up");
  }

  absl::StatusOr<std::vector<Target>> StopSidecar() {
    const std::string spool = base_ + "joined_spool";
    const std::string tuples = base_ + "tuples";
    ASSIGN_OR_RETURN(const RunningProgram server,
                     StartLogged("joined", {"--spool.segment_seconds=1"}));
    ASSIGN_OR_RETURN(
        const RunningProgram sidecar,
        StartAndWait({bin_ + "/sortition-sidecar", "--spool=" + spool,
                      "--tuples=" + tuples, "--metrics_listen=127.0.0.1:0",
                      "--http_listen=", "--join.reward_wait_time_seconds=0.5"},
                     base_ + "sidecar", "metrics"));
    const SpoolCleaner cleaner(tuples);
    const double seconds = absl::GetFlag(FLAGS_seconds);
    Trials running;
    Trials stopped;
    // The first turn warms both up and is not counted.
    for (int turn = -1; turn < absl::GetFlag(FLAGS_pairs); ++turn) {
      ASSIGN_OR_RETURN(const ClosedLoopResult before, Trial(server, seconds));
      sidecar.process->Signal(SIGSTOP);
      const absl::StatusOr<ClosedLoopResult> during = Trial(server, seconds);
      sidecar.process->Signal(SIGCONT);
      RETURN_IF_ERROR(during.status());
      RETURN_IF_ERROR(WaitForSidecar(spool));
      if (turn < 0) continue;
      Print("sidecar runs", before);
      Print("sidecar is stopped", *during);
      running.push_back(before);
      stopped.push_back(*during);
    }
    return std::vector<Target>{
        {"p99 with the sidecar stopped / running",
         MedianRatio(stopped, running, &ClosedLoopResult::p99_milliseconds),
         1.2},
        {"failed requests, sidecar", Failed(running) + Failed(stopped), 0}};
  }

  absl::StatusOr<std::vector<Target>> RotateAndSync() {
    ASSIGN_OR_RETURN(const RunningProgram plain,
                     StartAndWait(RankServerArguments(bin_, base_ + "models"),
                                  base_ + "plain", "rpc"));
    // A few MB are written in a tenth of a second: it rotates several times
    // between two syncs.
    ASSIGN_OR_RETURN(
        const RunningProgram logged,
        StartLogged("rotated", {"--spool.segment_bytes=1048576",
                                "--spool.sync_interval_seconds=0.1"}));
    const SpoolCleaner cleaner(base_ + "rotated_spool");
    const double seconds = absl::GetFlag(FLAGS_pair_seconds);
    Trials with_log;
    Trials without_log;
    for (int pair = -1; pair < absl::GetFlag(FLAGS_pairs); ++pair) {
      // The order changes with every pair, so that drift cancels out.
      for (const bool is_logged : {pair % 2 == 0, pair % 2 != 0}) {
        ASSIGN_OR_RETURN(const ClosedLoopResult trial,
                         Trial(is_logged ? logged : plain, seconds));
        if (pair < 0) continue;
        Print(is_logged ? "rotates and syncs" : "without a log", trial);
        (is_logged ? with_log : without_log).push_back(trial);
      }
    }
    return std::vector<Target>{
        {"p99.9 with rotation and sync / without a log",
         MedianRatio(with_log, without_log,
                     &ClosedLoopResult::p999_milliseconds),
         2},
        {"failed requests, rotation", Failed(with_log) + Failed(without_log),
         0}};
  }

  const std::string bin_;
  const std::string base_;
  const v1::RankRequest request_;
};

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
      check("pair_seconds", absl::GetFlag(FLAGS_pair_seconds), 0.1, 600));
  RETURN_IF_ERROR(
      check("candidates", absl::GetFlag(FLAGS_candidates), 10, 100000));
  return check("outstanding", absl::GetFlag(FLAGS_outstanding), 1, 4096);
}

absl::StatusOr<Report> Run() {
  RETURN_IF_ERROR(CheckFlags());
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  return StallBenchmark(bin, directory.path() + "/").Run();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Shows that neither a stopped sidecar nor rotation and sync stall "
      "requests.",
      sortition::Run);
}
