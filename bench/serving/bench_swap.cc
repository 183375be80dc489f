// Shows that large versions are loaded and dropped beside requests that go on.
//
// Sparse Rank requests come at random times to the real server, which has a
// version of --megabytes. In turns nothing happens for a while, and then
// another version as large is loaded, warmed up and dropped every --period
// seconds: it gets a label and loses it again.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/serving/open_loop.h"
#include "bench/serving/rank_servers.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "client/rpc/client.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 3, "rounds, in [1, 1000]");
ABSL_FLAG(double, seconds, 20, "length of a turn, in [1, 600]");
ABSL_FLAG(double, period, 5, "seconds from one load to the next");
ABSL_FLAG(uint32_t, megabytes, 500, "size of a version, in [1, 700]");
ABSL_FLAG(double, share, 0.25, "load, as a share of what a closed loop gets");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(std::string, dir, "",
          "parent directory of files; empty: TMPDIR, or beside the programs");

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kCandidates = 100;
constexpr uint32_t kValuesPerCandidate = 46;
constexpr uint64_t kOther = 2;  // The version that comes and goes.

// Candidates with so many values in random columns each.
v1::RankRequest MakeSparseRequest(uint32_t num_features) {
  RandomSequence random(SeedKey(1));
  v1::RankRequest request;
  request.set_top_k(10);
  v1::Candidates& candidates = *request.mutable_context()->mutable_candidates();
  candidates.set_num_features(num_features);
  v1::SparseFeatures& sparse = *candidates.mutable_sparse();
  const double step = static_cast<double>(num_features) / kValuesPerCandidate;
  sparse.add_row_offsets(0);
  for (uint32_t i = 0; i < kCandidates; ++i) {
    for (uint32_t j = 0; j < kValuesPerCandidate; ++j) {
      sparse.add_columns(static_cast<uint32_t>((j + random.Uniform()) * step));
      sparse.add_values(static_cast<float>(random.Normal()));
    }
    sparse.add_row_offsets((i + 1) * kValuesPerCandidate);
  }
  return request;
}

absl::Status SetLabel(Client* client, uint64_t version) {
  v1::ChangeServingRequest request;
  request.set_reason(version > 0 ? "load it" : "drop it");
  request.mutable_set_label()->set_name("other");
  request.mutable_set_label()->set_version(version);
  return client->ChangeServing(request).status();
}

// Loads and drops a version, again and again, until it is stopped.
class Swapping {
 public:
  explicit Swapping(Client* client)
      : client_(client),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  // Returns how often the version was loaded.
  absl::StatusOr<int> Stop() {
    thread_.request_stop();
    thread_.join();
    RETURN_IF_ERROR(outcome_);
    return num_loads_;
  }
  double seconds_per_load() const { return load_seconds_ / num_loads_; }

 private:
  void Run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any woken;
    while (!stop.stop_requested() && outcome_.ok()) {
      const auto start = Clock::now();
      outcome_.Update(SetLabel(client_, kOther));
      load_seconds_ +=
          std::chrono::duration<double>(Clock::now() - start).count();
      ++num_loads_;
      outcome_.Update(SetLabel(client_, 0));
      std::unique_lock lock(mutex);
      woken.wait_until(lock, stop,
                       start + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(
                                       absl::GetFlag(FLAGS_period))),
                       [] { return false; });
    }
  }

  Client* const client_;
  absl::Status outcome_;
  int num_loads_ = 0;
  double load_seconds_ = 0;
  std::jthread thread_;  // Last: it uses the others.
};

struct Turn {
  OpenLoopResult result;
  int num_loads = 0;
  double seconds_per_load = 0;
  double megabytes = 0;  // Of the server, a little after.
};

// Returns the server's memory once it has fallen to `floor`, or after five
// seconds: what was dropped is freed within a second.
double MegabytesAfter(pid_t pid, double floor) {
  const auto end = Clock::now() + std::chrono::seconds(5);
  double megabytes = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    megabytes = static_cast<double>(AnonymousBytes(pid)) / (1 << 20);
  } while (megabytes > floor && Clock::now() < end);
  return megabytes;
}

void Print(const char* name, const Turn& turn) {
  absl::PrintF("%-8s %9.0f %9.2f %9.2f %7d %6d %9.2f %9.0f\n", name,
               turn.result.goodput, turn.result.p50_milliseconds,
               turn.result.p99_milliseconds, turn.result.failed, turn.num_loads,
               turn.seconds_per_load, turn.megabytes);
}

struct Figures {
  std::vector<double> ratios;    // Of p99.
  std::vector<double> memories;  // Of resident memory.
  double failed = 0;
};

absl::Status RunRounds(const RunningProgram& server, Client* client,
                       OpenLoopOptions options, Figures* figures) {
  const pid_t pid = server.process->pid();
  // The first round warms up: what the allocator keeps is not the versions'.
  for (int i = -1; i < absl::GetFlag(FLAGS_rounds); ++i) {
    options.seed = static_cast<uint64_t>(i + 2);
    Turn steady;
    ASSIGN_OR_RETURN(steady.result, RunOpenLoop(server.port, options));
    steady.megabytes = MegabytesAfter(pid, 0);
    Turn swapping;
    Swapping loads(client);
    ASSIGN_OR_RETURN(swapping.result, RunOpenLoop(server.port, options));
    ASSIGN_OR_RETURN(swapping.num_loads, loads.Stop());
    swapping.seconds_per_load = loads.seconds_per_load();
    swapping.megabytes = MegabytesAfter(pid, 1.02 * steady.megabytes);
    if (i < 0) continue;
    Print("steady", steady);
    Print("swapping", swapping);
    figures->ratios.push_back(swapping.result.p99_milliseconds /
                              steady.result.p99_milliseconds);
    figures->memories.push_back(swapping.megabytes / steady.megabytes);
    for (const Turn* turn : {&steady, &swapping}) {
      const OpenLoopResult& result = turn->result;
      figures->failed += static_cast<double>(result.failed) +
                         (result.refused + result.expired) * options.seconds;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Report> Run() {
  const std::string bin = ProgramDirectory(absl::GetFlag(FLAGS_bin));
  const TempDir directory(SpoolParent(absl::GetFlag(FLAGS_dir), bin));
  const std::string base = directory.path() + "/";
  const uint32_t num_features =
      absl::GetFlag(FLAGS_megabytes) * (1'000'000 / sizeof(double));
  for (uint64_t version = 1; version <= kOther; ++version) {
    RETURN_IF_ERROR(PublishRankModel(base + "models", num_features));
  }
  std::vector<std::string> arguments =
      RankServerArguments(bin, base + "models");
  arguments.emplace_back("--limits.max_features=100000000");
  ASSIGN_OR_RETURN(const RunningProgram server,
                   StartAndWait(arguments, base + "server", "rpc"));
  ASSIGN_OR_RETURN(const auto client,
                   Client::Connect(absl::StrCat("127.0.0.1:", server.port),
                                   {.deadline_seconds = 60}));
  v1::ChangeServingRequest pin;
  pin.set_reason("the other version comes and goes");
  pin.mutable_pin()->set_version(1);
  RETURN_IF_ERROR(client->ChangeServing(pin).status());
  OpenLoopOptions options;
  options.method = "/sortition.v1.Ranking/Rank";
  options.request = MakeSparseRequest(num_features).SerializeAsString();
  options.seconds = absl::GetFlag(FLAGS_seconds);
  ASSIGN_OR_RETURN(const double capacity,
                   MeasureCapacity(server.port, options, 64));
  options.requests_per_second = absl::GetFlag(FLAGS_share) * capacity;
  absl::PrintF("%-8s %9s %9s %9s %7s %6s %9s %9s\n", "turn", "OK/s", "p50 ms",
               "p99 ms", "failed", "loads", "s a load", "MiB");
  Figures figures;
  RETURN_IF_ERROR(RunRounds(server, client.get(), options, &figures));
  return Report(
      {{"p99 while versions come and go / before", MedianOf(figures.ratios),
        1.15},
       {"memory after they went / before", MedianOf(figures.memories), 1.05},
       {"requests that were not answered", figures.failed, 0}});
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Loads and drops large versions of a model while requests are answered.",
      sortition::Run);
}
