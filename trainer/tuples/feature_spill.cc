#include "trainer/tuples/feature_spill.h"

#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// A read that takes longer than this has waited for the disk: copies from the
// kernel's cache are faster. Then this many of the next reads are announced, so
// that the disk works on many at once. If everything is in the cache,
// announcing would only cost a system call per tuple.
constexpr std::chrono::microseconds kSlowRead{50};
constexpr int kAnnouncedReads = 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureSpill>> FeatureSpill::Create(
    const std::string& dir, uint64_t max_bytes) {
  ASSIGN_OR_RETURN(auto file, ScratchFile::Create(dir, max_bytes));
  return std::unique_ptr<FeatureSpill>(new FeatureSpill(std::move(file)));
}

absl::Status FeatureSpill::Write(BanditTuple* tuple) {
  CHECK(tuple->in_memory());
  const std::array<absl::string_view, 3> pieces = {BytesOf(tuple->values),
                                                   BytesOf(tuple->row_offsets),
                                                   BytesOf(tuple->columns)};
  ASSIGN_OR_RETURN(const uint64_t offset, file_->Append(pieces));
  tuple->stored = {
      .store = nullptr,
      .offset = offset,
      .num_values = static_cast<uint32_t>(tuple->values.size()),
      .num_row_offsets = static_cast<uint32_t>(tuple->row_offsets.size())};
  return absl::OkStatus();
}

void FeatureSpill::Release(BanditTuple* tuple) const {
  tuple->stored.store = this;
  // An assignment would keep the capacity.
  std::vector<float>().swap(tuple->values);
  std::vector<uint32_t>().swap(tuple->row_offsets);
  std::vector<uint32_t>().swap(tuple->columns);
}

absl::Status FeatureSpill::Compact(const std::function<BanditTuple*()>& next) {
  uint64_t end = 0;
  while (BanditTuple* tuple = next()) {
    StoredFeatures& stored = tuple->stored;
    RETURN_IF_ERROR(file_->MoveDown(stored.offset, end, stored.bytes()));
    stored.offset = end;
    end += stored.bytes();
  }
  return file_->Truncate(end);
}

void FeatureSpill::WillRead(uint64_t offset, size_t size) const {
  if (announced_reads_.load(std::memory_order_relaxed) <= 0) return;
  announced_reads_.fetch_sub(1, std::memory_order_relaxed);
  file_->WillRead(offset, size);
}

void FeatureSpill::Read(uint64_t offset, void* data, size_t size) const {
  const auto begin = std::chrono::steady_clock::now();
  absl::Status read = file_->Read(offset, data, size);
  if (std::chrono::steady_clock::now() - begin > kSlowRead) {
    announced_reads_.store(kAnnouncedReads, std::memory_order_relaxed);
  }
  if (read.ok()) return;
  std::memset(data, 0, size);
  const std::lock_guard lock(mutex_);
  read_status_.Update(std::move(read));
}

absl::Status FeatureSpill::status() const {
  const std::lock_guard lock(mutex_);
  return read_status_;
}

}  // namespace sortition
