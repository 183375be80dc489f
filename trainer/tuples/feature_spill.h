#pragma once
// Keeps features of tuples in a scratch file: writes them while tuples are
// read, and reads them during training.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "io/scratch_file.h"

namespace sortition {

class FeatureSpill : public FeatureStore {
 public:
  // Errors as ScratchFile::Create().
  static absl::StatusOr<std::unique_ptr<FeatureSpill>> Create(
      const std::string& dir, uint64_t max_bytes);

  // Writes the features of a tuple that is in memory, and records their place
  // in the tuple. They also stay in memory until Release(). Errors as
  // ScratchFile::Append(); then nothing is written.
  absl::Status Write(BanditTuple* tuple);
  // Frees the tuple's features in memory.
  void Release(BanditTuple* tuple) const;

  // Closes the gaps of tuples that were dropped. `next` returns the remaining
  // tuples in the order of Write(), and then null.
  absl::Status Compact(const std::function<BanditTuple*()>& next);

  void WillRead(uint64_t offset, size_t size) const override;
  void Read(uint64_t offset, void* data, size_t size) const override;
  // Returns the error of the first Read() that failed. Nothing computed since
  // then may be used.
  absl::Status status() const;

  const ScratchFile& file() const { return *file_; }

 private:
  explicit FeatureSpill(std::unique_ptr<ScratchFile> file)
      : file_(std::move(file)) {}

  std::unique_ptr<ScratchFile> file_;
  // How many of the next reads are announced to the kernel.
  mutable std::atomic<int> announced_reads_ = 0;
  mutable std::mutex mutex_;
  mutable absl::Status read_status_;
};

}  // namespace sortition
