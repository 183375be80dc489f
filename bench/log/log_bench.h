#pragma once
// What the parts of bench_log share: a record, a spool, files to compare with.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/report.h"
#include "io/spool/spool_writer.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A decision as `Rank` logs it.
struct Record {
  log::v1::Decision decision;
  std::vector<float> features;
};

// Of 18.6 kB with 100 candidates; at least 10.
Record MakeRecord(uint32_t num_candidates = 100);
std::string FrameOf(const Record& record);

absl::StatusOr<std::unique_ptr<SpoolWriter>> OpenSpool(
    const std::string& dir, config::v1::SpoolOptions::Durability durability);

// Files that are preallocated and written from front to back, one after the
// other.
class PlainFiles {
 public:
  explicit PlainFiles(const std::string& dir) : path_(dir + "/plain") {}
  ~PlainFiles() { Remove(); }
  PlainFiles(const PlainFiles&) = delete;
  PlainFiles& operator=(const PlainFiles&) = delete;

  // Begins a file.
  void Begin(uint64_t bytes);
  void Write(const std::string& bytes);
  void Sync();

 private:
  void Remove();

  const std::string path_;
  int file_ = -1;
  uint64_t bytes_ = 0;  // Preallocated.
  uint64_t written_ = 0;
};

// Figures of several rounds.
struct Rounds {
  void Add(double figure, double baseline);
  // Returns the median figure, and the ratio to its baseline: median (lowest -
  // highest).
  std::string Text() const;
  double Ratio() const;

  std::vector<double> figures;
  std::vector<double> ratios;  // To the baseline of the same round.
};

struct SyncBenchOptions {
  std::string dir;
  int rounds = 0;
  int waiting = 0;     // Appends that wait for a sync.
  double seconds = 0;  // Length of a round.
};

// Compares the rate of appends under POWER with plain writes and fdatasync.
absl::StatusOr<std::vector<Target>> MeasureSyncs(
    const SyncBenchOptions& options);

// Measures the rate at which one core validates a log of so many records.
absl::StatusOr<std::vector<Target>> MeasureValidation(const std::string& dir,
                                                      int rounds, int records);

struct WayBenchOptions {
  std::string dir;    // Parent of all directories.
  std::string bin;    // Directory of the programs.
  int rounds = 0;     // Of all ways.
  int decisions = 0;  // Of 2 kB; a tenth of as many of 18.6 kB.
};

// Measures the way from the spool to tuples: by a directory, by streams.
absl::StatusOr<std::vector<Target>> MeasureWays(const WayBenchOptions& options);

}  // namespace sortition
