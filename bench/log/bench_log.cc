// Times appends to the spool, syncs, reading and validating; the way to tuples.
//
// Every figure stands beside a baseline that was measured in the same run on
// the same disk, in alternating rounds.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/log/log_bench.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "io/spool/spool_writer.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 7, "rounds of each comparison, in [1, 1000]");
ABSL_FLAG(int, records, 10000,
          "records of a round of appends, in [100, 10000000]");
ABSL_FLAG(double, seconds, 1, "length of a round of syncs, in [0.1, 600]");
ABSL_FLAG(int, waiting, 64, "appends that wait for a sync, in [1, 100000]");
ABSL_FLAG(int, trips, 3,
          "rounds of the ways from the spool to tuples, in [1, 1000]");
ABSL_FLAG(int, decisions, 200000,
          "decisions of 2 kB on the way to tuples, and ten times as many as of "
          "18.6 kB, in [1000, 10000000]");
ABSL_FLAG(std::string, bin, "",
          "directory of the programs; empty: that of this one");
ABSL_FLAG(std::string, dir, "",
          "directory of the log, for whose disk the figures hold; empty: "
          "TMPDIR, or /tmp");

namespace sortition {
namespace {

// Compares an append with one write of its bytes.
absl::StatusOr<std::vector<Target>> MeasureAppends(const std::string& dir) {
  const Record record = MakeRecord();
  const std::string frame = FrameOf(record);
  const int n = absl::GetFlag(FLAGS_records);
  ASSIGN_OR_RETURN(const auto spool,
                   OpenSpool(dir, config::v1::SpoolOptions::PROCESS));
  PlainFiles files(dir);
  const auto microseconds = [n](const auto& append) {
    const double seconds = ThreadCpuSecondsOf([&] {
      for (int i = 0; i < n; ++i) append();
    });
    return 1e6 * seconds / n;
  };
  // Of the spool's own threads.
  const auto other_cpu = [] {
    return ProcessCpuSeconds() - ThreadCpuSeconds();
  };
  Rounds appends;
  Rounds with_threads;
  std::vector<double> writes;
  // The first round warms up and is not counted.
  for (int round = -1; round < absl::GetFlag(FLAGS_rounds); ++round) {
    files.Begin(static_cast<uint64_t>(n) * frame.size());
    const double plain = microseconds([&] { files.Write(frame); });
    files.Sync();
    const double start = other_cpu();
    const double append = microseconds([&] {
      CHECK(spool->AppendDecision(record.decision, record.features).ok());
    });
    const double others = 1e6 * (other_cpu() - start) / n;
    RemoveClosedSegments(dir);
    if (round < 0) continue;
    writes.push_back(plain);
    appends.Add(append, plain);
    with_threads.Add(append + others, plain);
  }
  RETURN_IF_ERROR(spool->Close());
  RemoveClosedSegments(dir);
  absl::PrintF(
      "thread CPU of a record of %d bytes, us; ratio: median (lowest - "
      "highest)\n  %-38s %10.2f\n  %-38s %s\n  %-38s %s\n",
      frame.size(), "pwrite into a preallocated file", MedianOf(writes),
      "append to the spool", appends.Text(), "the same and the spool's threads",
      with_threads.Text());
  return std::vector<Target>{
      {"append of 18.6 kB, thread CPU, / pwrite", appends.Ratio(), 1},
      {"the same with the spool's threads", with_threads.Ratio(), 2}};
}

// Measures the rate at which one core reads and checks segments.
absl::StatusOr<std::vector<Target>> MeasureReader(const std::string& dir) {
  const Record record = MakeRecord();
  const int n = absl::GetFlag(FLAGS_records);
  ASSIGN_OR_RETURN(const auto spool,
                   OpenSpool(dir, config::v1::SpoolOptions::PROCESS));
  for (int i = 0; i < n; ++i) {
    RETURN_IF_ERROR(spool->AppendDecision(record.decision, record.features));
  }
  RETURN_IF_ERROR(spool->Close());
  ASSIGN_OR_RETURN(const auto names, ListSegments(dir));
  std::vector<double> rates;
  for (int round = -1; round < absl::GetFlag(FLAGS_rounds); ++round) {
    uint64_t bytes = 0;
    const double start = ThreadCpuSeconds();
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(const auto reader,
                       SegmentReader::Open(absl::StrCat(dir, "/", name)));
      absl::string_view payload;
      uint64_t offset = 0;
      while (true) {
        ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
        if (outcome != SegmentReader::Outcome::kRecord) break;
        bytes += payload.size();
      }
    }
    const double seconds = ThreadCpuSeconds() - start;
    if (round >= 0)
      rates.push_back(1e-9 * static_cast<double>(bytes) / seconds);
  }
  RemoveClosedSegments(dir);
  const Spread rate = SpreadOf(rates);
  absl::PrintF(
      "reading segments, GB per second of CPU\n  %-38s %10.2f (%.2f - %.2f)\n",
      "segment reader", rate.median, rate.lowest, rate.highest);
  return std::vector<Target>{
      {"segment reader, GB/s of CPU", rate.median, 1, true}};
}

absl::Status CheckFlags() {
  const auto check = [](absl::string_view name, double value, double low,
                        double high) {
    if (value >= low && value <= high) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, " is ", value, ", must be in [", low, ", ", high, "]"));
  };
  RETURN_IF_ERROR(check("rounds", absl::GetFlag(FLAGS_rounds), 1, 1000));
  RETURN_IF_ERROR(
      check("records", absl::GetFlag(FLAGS_records), 100, 10000000));
  RETURN_IF_ERROR(check("seconds", absl::GetFlag(FLAGS_seconds), 0.1, 600));
  RETURN_IF_ERROR(check("waiting", absl::GetFlag(FLAGS_waiting), 1, 100000));
  RETURN_IF_ERROR(check("trips", absl::GetFlag(FLAGS_trips), 1, 1000));
  return check("decisions", absl::GetFlag(FLAGS_decisions), 1000, 10000000);
}

absl::StatusOr<Report> Run() {
  RETURN_IF_ERROR(CheckFlags());
  const TempDir directory(absl::GetFlag(FLAGS_dir));
  Report report;
  const SyncBenchOptions syncs = {.dir = directory.path(),
                                  .rounds = absl::GetFlag(FLAGS_rounds),
                                  .waiting = absl::GetFlag(FLAGS_waiting),
                                  .seconds = absl::GetFlag(FLAGS_seconds)};
  const WayBenchOptions ways = {
      .dir = directory.path(),
      .bin = ProgramDirectory(absl::GetFlag(FLAGS_bin)),
      .rounds = absl::GetFlag(FLAGS_trips),
      .decisions = absl::GetFlag(FLAGS_decisions)};
  const std::function<absl::StatusOr<std::vector<Target>>()> parts[] = {
      [&] { return MeasureAppends(directory.path()); },
      [&] { return MeasureSyncs(syncs); },
      [&] { return MeasureReader(directory.path()); },
      [&] {
        return MeasureValidation(directory.path(), absl::GetFlag(FLAGS_rounds),
                                 absl::GetFlag(FLAGS_records));
      },
      [&] { return MeasureWays(ways); }};
  for (const auto& measure : parts) {
    ASSIGN_OR_RETURN(std::vector<Target> targets, measure());
    AppendTargets(std::move(targets), &report.targets);
  }
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Times appends to the spool, syncs that they share, reading and "
      "validating it, and the way to tuples by a directory and by streams.",
      sortition::Run);
}
