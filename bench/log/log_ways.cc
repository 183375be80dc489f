// What a tuple costs on its way from the spool: by a directory, or by streams.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/log/log_bench.h"
#include "bench/log/way_trial.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "tests/testing/nats_server.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr uint32_t kFewCandidates = 10;
constexpr uint32_t kManyCandidates = 100;

struct Way {
  const char* name;
  int replicas;  // 0: a directory.
  std::vector<WayTrial> trials = {};

  template <typename Figure>
  double Median(const Figure& figure) const {
    std::vector<double> values;
    for (const WayTrial& trial : trials) values.push_back(figure(trial));
    return MedianOf(std::move(values));
  }
  double Cpu() const {
    return Median([](const WayTrial& trial) {
      return trial.publisher.cpu_microseconds + trial.brokers.cpu_microseconds +
             trial.consumer.cpu_microseconds;
    });
  }
  double Disk() const {
    return Median([](const WayTrial& trial) {
      return trial.publisher.disk_bytes + trial.brokers.disk_bytes +
             trial.consumer.disk_bytes;
    });
  }
  double Network() const {
    return Median([](const WayTrial& trial) { return trial.network_bytes; });
  }
  double Rate() const {
    return Median(
        [](const WayTrial& trial) { return trial.tuples_per_second; });
  }
};

void Print(const Way& way) {
  const auto cpu = [&](Costs WayTrial::*process) {
    return way.Median([&](const WayTrial& trial) {
      return (trial.*process).cpu_microseconds;
    });
  };
  const auto disk = [&](Costs WayTrial::*process) {
    return way.Median(
        [&](const WayTrial& trial) { return (trial.*process).disk_bytes; });
  };
  absl::PrintF("  %-22s %9.0f  %7.2f %7.2f %7.2f  %8.0f  %8.0f %8.0f %8.0f\n",
               way.name, way.Rate(), cpu(&WayTrial::publisher),
               cpu(&WayTrial::brokers), cpu(&WayTrial::consumer), way.Network(),
               disk(&WayTrial::publisher), disk(&WayTrial::brokers),
               disk(&WayTrial::consumer));
}

// Nothing is removed from a stream that is less than three quarters full.
constexpr uint64_t kStreamSpace = 2;

absl::Status RunTrials(const WayBenchOptions& options, int num_decisions,
                       const std::string& spool, uint64_t spool_bytes,
                       std::vector<Way>* ways) {
  // The first round warms up and is not counted.
  for (int round = -1; round < options.rounds; ++round) {
    for (Way& way : *ways) {
      const TempDir work(options.dir);
      const WayOptions trial{.bin = options.bin,
                             .spool = spool,
                             .work = work.path(),
                             .num_decisions = num_decisions,
                             .max_stream_bytes = kStreamSpace * spool_bytes};
      ASSIGN_OR_RETURN(const WayTrial result,
                       way.replicas == 0 ? TryDirectory(trial)
                                         : TryStream(trial, way.replicas));
      if (round >= 0) way.trials.push_back(result);
    }
  }
  return absl::OkStatus();
}

// Bytes follow from how often each is copied: to the mirror and the tuples, and
// to each broker, twice if it has to agree with others; to the stream, from it,
// and between brokers, where clients may meet the wrong one. Other limits are a
// third above what was measured.
std::vector<Target> TargetsOf(const std::vector<Way>& ways, double bytes) {
  const std::string of = absl::StrFormat(", %.1f kB", bytes / 1000);
  const Way& directory = ways[0];
  std::vector<Target> targets = {
      {"directory: written / read" + of, directory.Disk() / bytes, 1.1}};
  for (size_t i = 1; i < ways.size(); ++i) {
    const Way& stream = ways[i];
    const bool is_one = stream.replicas == 1;
    const std::string name = stream.name;
    AppendTargets(
        {{name + ": written / read" + of, stream.Disk() / bytes,
          1.1 * (2 + (is_one ? 1 : 2 * stream.replicas))},
         {name + ": sent / read" + of, stream.Network() / bytes,
          is_one ? 2.1 : 6.1},
         {name + ": CPU / directory" + of, stream.Cpu() / directory.Cpu(),
          is_one ? 8.5 : 21.0},
         {name + ": tuples per s / directory" + of,
          stream.Rate() / directory.Rate(), is_one ? 0.2 : 0.08, true}},
        &targets);
  }
  return targets;
}

absl::StatusOr<std::vector<Target>> MeasureSize(const WayBenchOptions& options,
                                                uint32_t num_candidates,
                                                int num_decisions,
                                                bool has_streams) {
  const TempDir home(options.dir);
  const Record record = MakeRecord(num_candidates);
  ASSIGN_OR_RETURN(const uint64_t spool_bytes,
                   WriteSpool(home / "spool", record.decision, record.features,
                              num_decisions));
  std::vector<Way> ways = {{"directory", 0}};
  if (has_streams) {
    ways.push_back({"stream of 1 replica", 1});
    ways.push_back({"stream of 3 replicas", 3});
  }
  RETURN_IF_ERROR(
      RunTrials(options, num_decisions, home / "spool", spool_bytes, &ways));
  const double bytes = static_cast<double>(spool_bytes) / num_decisions;
  absl::PrintF(
      "%d decisions of %.1f kB from the spool to tuples; medians\n"
      "  %-22s %9s  %23s  %8s  %26s\n"
      "  %-22s %9s  %7s %7s %7s  %8s  %8s %8s %8s\n",
      num_decisions, bytes / 1000, "", "tuples", "CPU of a tuple, us",
      "network", "written to disk, bytes", "", "/ s", "publish", "brokers",
      "join", "bytes", "publish", "brokers", "join");
  for (const Way& way : ways) Print(way);
  return TargetsOf(ways, bytes);
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureWays(
    const WayBenchOptions& options) {
  const std::string why_not = WhyNoStreams(options.bin + "/sortition-sidecar");
  if (!why_not.empty()) absl::PrintF("streams are skipped: %s\n", why_not);
  std::vector<Target> targets;
  const std::pair<uint32_t, int> sizes[] = {
      {kFewCandidates, options.decisions},
      {kManyCandidates, options.decisions / 10}};
  for (const auto& [num_candidates, num_decisions] : sizes) {
    ASSIGN_OR_RETURN(
        std::vector<Target> more,
        MeasureSize(options, num_candidates, num_decisions, why_not.empty()));
    AppendTargets(std::move(more), &targets);
  }
  return targets;
}

}  // namespace sortition
