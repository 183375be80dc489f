// Times appends to the spool, syncs that appends share, and reading a segment.
//
// Every figure stands beside a baseline that was measured in the same run on
// the same disk, in alternating rounds.
#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/speed/closed_segments.h"
#include "bench/support/clocks.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/segments/decision_frame.h"
#include "io/segments/segment.h"
#include "io/segments/spool_writer.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(int, rounds, 7, "rounds of each comparison, in [1, 1000]");
ABSL_FLAG(int, records, 10000,
          "records of a round of appends, in [100, 10000000]");
ABSL_FLAG(double, seconds, 1, "length of a round of syncs, in [0.1, 600]");
ABSL_FLAG(int, waiting, 64, "appends that wait for a sync, in [1, 100000]");
ABSL_FLAG(std::string, dir, "",
          "directory of the log, for whose disk the figures hold; empty: "
          "TMPDIR, or /tmp");

namespace sortition {
namespace {

constexpr uint32_t kCandidates = 100;
constexpr uint32_t kFeatures = 46;
constexpr uint64_t kSegmentBytes = uint64_t{64} << 20;

// A decision of 18.6 kB, as `Rank` logs it.
struct Record {
  log::v1::Decision decision;
  std::vector<float> features;
};

Record MakeRecord() {
  Record record;
  RandomSequence random(SeedKey(1));
  for (uint32_t i = 0; i < kCandidates * kFeatures; ++i) {
    record.features.push_back(static_cast<float>(random.Normal()));
  }
  log::v1::Decision& decision = record.decision;
  decision.set_decision_id("0190a8c4-5b1e-7000-8000-000000000000");
  decision.set_time_us(1700000000000000);
  decision.set_model("default");
  decision.set_version(3);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.mutable_policy()->set_inverse_temperature(1);
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(kCandidates);
  decision.set_num_features(kFeatures);
  decision.set_top_k(10);
  for (int rank = 0; rank < 10; ++rank) {
    decision.add_action(9 * rank);
    decision.add_conditional_log_propensities(-4.5 + 0.1 * rank);
  }
  decision.set_log_propensity(-40.5);
  return record;
}

std::string FrameOf(const Record& record) {
  std::string bytes;
  const DecisionFrame frame(record.decision, record.features);
  for (const absl::string_view piece : frame.pieces()) {
    bytes.append(piece.data(), piece.size());
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<SpoolWriter>> OpenSpool(
    const std::string& dir, config::v1::SpoolOptions::Durability durability) {
  config::v1::SpoolOptions options;
  options.set_dir(dir);
  options.set_segment_bytes(kSegmentBytes);
  options.set_max_bytes(uint64_t{64} << 30);
  options.set_durability(durability);
  return SpoolWriter::Open(options, "");
}

// Files that are preallocated and written from front to back, one after the
// other.
class PlainFiles {
 public:
  explicit PlainFiles(const std::string& dir) : path_(dir + "/plain") {}
  ~PlainFiles() { Remove(); }

  // Begins a file.
  void Begin(uint64_t bytes) {
    Remove();
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(file_ >= 0 && fallocate(file_, 0, 0, static_cast<off_t>(bytes)) == 0);
    bytes_ = bytes;
    written_ = 0;
  }
  void Write(const std::string& bytes) {
    if (written_ + bytes.size() > bytes_) Begin(kSegmentBytes);
    CHECK(pwrite(file_, bytes.data(), bytes.size(),
                 static_cast<off_t>(written_)) ==
          static_cast<ssize_t>(bytes.size()));
    written_ += bytes.size();
  }
  void Sync() { CHECK(fdatasync(file_) == 0); }

 private:
  void Remove() {
    if (file_ >= 0) close(std::exchange(file_, -1));
    unlink(path_.c_str());
  }

  const std::string path_;
  int file_ = -1;
  uint64_t bytes_ = 0;  // Preallocated.
  uint64_t written_ = 0;
};

struct Rounds {
  std::vector<double> figures;
  std::vector<double> ratios;  // To the baseline of the same round.

  void Add(double figure, double baseline) {
    figures.push_back(figure);
    ratios.push_back(figure / baseline);
  }
  std::string Text() const {
    const Spread ratio = SpreadOf(ratios);
    return absl::StrFormat("%10.2f  %.2f (%.2f - %.2f)", MedianOf(figures),
                           ratio.median, ratio.lowest, ratio.highest);
  }
  double Ratio() const { return MedianOf(ratios); }
};

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
      {"the same with the spool's threads", with_threads.Ratio(), 1.6}};
}

// Appends records so that always `waiting` of them wait for a sync, as the
// thread of a server does.
class WaitingLoad {
 public:
  WaitingLoad(SpoolWriter* spool, const Record& record, int waiting)
      : spool_(spool), record_(record), due_(waiting) {}

  // Returns the records per second that were answered.
  double Run(double seconds) {
    AppendDue();  // Those that were answered before the start do not count.
    const double start = WallSeconds();
    uint64_t answered = 0;
    while (WallSeconds() < start + seconds) {
      answered += static_cast<uint64_t>(AppendDue());
    }
    return static_cast<double>(answered) / (WallSeconds() - start);
  }

 private:
  class Slot final : public SpoolWaiter {
   public:
    explicit Slot(WaitingLoad* load) : load_(load) {}
    void OnSynced(const absl::Status& status) override {
      CHECK(status.ok());
      const std::lock_guard lock(load_->mutex_);
      ++load_->due_;
      load_->changed_.notify_one();
    }

   private:
    WaitingLoad* const load_;
  };

  int AppendDue() {
    int due = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return due_ > 0; });
      due = std::exchange(due_, 0);
    }
    for (int i = 0; i < due; ++i) {
      const auto waits =
          spool_->AppendDecision(record_.decision, record_.features, &slot_);
      CHECK(waits.ok() && *waits);
    }
    return due;
  }

  SpoolWriter* const spool_;
  const Record& record_;
  Slot slot_{this};
  std::mutex mutex_;
  std::condition_variable changed_;
  int due_;  // Guarded by `mutex_`.
};

// Returns the records per second of a loop that writes `batch` of them and
// syncs.
double PlainSyncRate(const std::string& frame, int batch, double seconds,
                     PlainFiles* files) {
  const double start = WallSeconds();
  uint64_t written = 0;
  while (WallSeconds() < start + seconds) {
    for (int i = 0; i < batch; ++i) files->Write(frame);
    files->Sync();
    written += static_cast<uint64_t>(batch);
  }
  return static_cast<double>(written) / (WallSeconds() - start);
}

// Compares the rate of appends under POWER with plain writes and fdatasync.
absl::StatusOr<std::vector<Target>> MeasureSyncs(const std::string& dir) {
  const Record record = MakeRecord();
  const std::string frame = FrameOf(record);
  const int waiting = absl::GetFlag(FLAGS_waiting);
  const double seconds = absl::GetFlag(FLAGS_seconds);
  ASSIGN_OR_RETURN(const auto spool,
                   OpenSpool(dir, config::v1::SpoolOptions::POWER));
  PlainFiles files(dir);
  WaitingLoad load(spool.get(), record, waiting);
  Rounds to_single;
  Rounds to_batch;
  std::vector<double> singles;
  std::vector<double> batches;
  for (int round = -1; round < absl::GetFlag(FLAGS_rounds); ++round) {
    const double single = PlainSyncRate(frame, 1, seconds, &files);
    const double batch = PlainSyncRate(frame, waiting, seconds, &files);
    const double shared = load.Run(seconds);
    RemoveClosedSegments(dir);
    if (round < 0) continue;
    singles.push_back(single);
    batches.push_back(batch);
    to_single.Add(shared, single);
    to_batch.Add(shared, batch);
  }
  RETURN_IF_ERROR(spool->Close());
  RemoveClosedSegments(dir);
  absl::PrintF(
      "records per second, each on the disk; ratio: median (lowest - highest)\n"
      "  %-38s %10.0f\n  %-38s %10.0f\n  %-38s %s\n  %-38s %s\n",
      "write and fdatasync, one by one", MedianOf(singles),
      absl::StrCat("write ", waiting, ", then fdatasync"), MedianOf(batches),
      absl::StrCat("POWER, ", waiting, " waiting, / one by one"),
      to_single.Text(), "the same / writes of as many", to_batch.Text());
  return std::vector<Target>{
      {"POWER, records per second, / write and fdatasync one by one",
       to_single.Ratio(), 0.8, true},
      {"POWER, records per second, / as many writes per fdatasync",
       // That loop knows when all have come; the spool syncs what is there.
       to_batch.Ratio(), 0.6, true}};
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
  return check("waiting", absl::GetFlag(FLAGS_waiting), 1, 100000);
}

absl::StatusOr<Report> Run() {
  RETURN_IF_ERROR(CheckFlags());
  const TempDir directory(absl::GetFlag(FLAGS_dir));
  Report report;
  for (const auto& measure : {MeasureAppends, MeasureSyncs, MeasureReader}) {
    ASSIGN_OR_RETURN(std::vector<Target> targets, measure(directory.path()));
    AppendTargets(std::move(targets), &report.targets);
  }
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Times appends to the spool, syncs that they share, and reading it.",
      sortition::Run);
}
