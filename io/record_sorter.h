#pragma once
// Sorts more records than fit into memory.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "io/scratch_file.h"

namespace sortition {

// Sorts records by their keys, byte by byte; records of one key stay in the
// order in which they were added. Not thread-safe.
class RecordSorter {
 public:
  using Take = absl::FunctionRef<absl::Status(absl::string_view key,
                                              absl::string_view payload)>;

  // Uses about `memory_bytes`, and for what exceeds it a scratch file in
  // `scratch_dir` as large as all records.
  RecordSorter(uint64_t memory_bytes, std::string scratch_dir)
      : memory_bytes_(memory_bytes), scratch_dir_(std::move(scratch_dir)) {}

  // An error has the code of the scratch file.
  absl::Status Add(std::string key, absl::string_view payload);

  // Calls `take` for all records, in order. Call it once, after all were added.
  // An error of `take` ends it.
  absl::Status Drain(Take take);

 private:
  struct Record {
    std::string key;
    std::string payload;
  };
  // Sorted records in the scratch file.
  struct Run {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  class RunReader;

  void SortHeld();
  absl::Status WriteRun();
  absl::Status Merge(Take take);

  const uint64_t memory_bytes_;
  const std::string scratch_dir_;
  std::vector<Record> held_;
  uint64_t held_bytes_ = 0;
  std::unique_ptr<ScratchFile> scratch_;  // Null as long as all are held.
  std::vector<Run> runs_;
};

}  // namespace sortition
