#include "io/record_sorter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <queue>
#include <tuple>

#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Memory of a record beside its bytes.
constexpr uint64_t kRecordBytes = 2 * sizeof(std::string) + 32;
// Written, and read, at once.
constexpr uint64_t kFewestChunkBytes = 1 << 16;
constexpr uint64_t kMostChunkBytes = 1 << 22;

using Lengths = std::array<uint64_t, 2>;

absl::string_view BytesOf(const Lengths& lengths) {
  return {reinterpret_cast<const char*>(lengths.data()), sizeof(lengths)};
}

}  // namespace

// Reads the records of a run. A record is two lengths, key and payload.
class RecordSorter::RunReader {
 public:
  RunReader(const ScratchFile* file, Run run, uint64_t chunk_bytes)
      : file_(file), run_(run), chunk_bytes_(chunk_bytes) {}

  // Returns false at the end of the run.
  absl::StatusOr<bool> Next() {
    if (begin_ == buffer_.size() && run_.begin == run_.end) return false;
    Lengths lengths;
    RETURN_IF_ERROR(Fill(sizeof(lengths)));
    std::memcpy(lengths.data(), buffer_.data() + begin_, sizeof(lengths));
    RETURN_IF_ERROR(Fill(sizeof(lengths) + lengths[0] + lengths[1]));
    const absl::string_view bytes =
        absl::string_view(buffer_).substr(begin_ + sizeof(lengths));
    key_ = bytes.substr(0, lengths[0]);
    payload_ = bytes.substr(lengths[0], lengths[1]);
    begin_ += sizeof(lengths) + lengths[0] + lengths[1];
    return true;
  }

  // Valid until the next call of Next().
  absl::string_view key() const { return key_; }
  absl::string_view payload() const { return payload_; }

 private:
  // Makes at least `size` bytes from begin_ on available.
  absl::Status Fill(uint64_t size) {
    if (buffer_.size() - begin_ >= size) return absl::OkStatus();
    buffer_.erase(0, begin_);
    begin_ = 0;
    const uint64_t held = buffer_.size();
    const uint64_t count =
        std::min(std::max(size - held, chunk_bytes_), run_.end - run_.begin);
    buffer_.resize(held + count);
    RETURN_IF_ERROR(file_->Read(run_.begin, buffer_.data() + held, count));
    run_.begin += count;
    return absl::OkStatus();
  }

  const ScratchFile* file_;
  Run run_;  // What was not read yet.
  uint64_t chunk_bytes_;
  std::string buffer_;
  uint64_t begin_ = 0;  // Of the next record in the buffer.
  absl::string_view key_;
  absl::string_view payload_;
};

absl::Status RecordSorter::Add(std::string key, absl::string_view payload) {
  held_bytes_ += key.size() + payload.size() + kRecordBytes;
  held_.push_back({std::move(key), std::string(payload)});
  return held_bytes_ < memory_bytes_ ? absl::OkStatus() : WriteRun();
}

void RecordSorter::SortHeld() {
  std::stable_sort(
      held_.begin(), held_.end(),
      [](const Record& a, const Record& b) { return a.key < b.key; });
}

absl::Status RecordSorter::WriteRun() {
  if (scratch_ == nullptr) {
    ASSIGN_OR_RETURN(
        scratch_,
        ScratchFile::Create(scratch_dir_, std::numeric_limits<int64_t>::max()));
  }
  SortHeld();
  const uint64_t begin = scratch_->bytes();
  std::string chunk;
  const auto write = [&] {
    const absl::string_view bytes = chunk;
    absl::Status status = scratch_->Append({&bytes, 1}).status();
    chunk.clear();
    return status;
  };
  for (const Record& record : held_) {
    const Lengths lengths = {record.key.size(), record.payload.size()};
    for (const absl::string_view bytes :
         {BytesOf(lengths), absl::string_view(record.key),
          absl::string_view(record.payload)}) {
      chunk.append(bytes.data(), bytes.size());
    }
    if (chunk.size() >= kMostChunkBytes) RETURN_IF_ERROR(write());
  }
  RETURN_IF_ERROR(write());
  runs_.push_back({begin, scratch_->bytes()});
  held_.clear();
  held_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status RecordSorter::Merge(Take take) {
  const uint64_t chunk_bytes = std::clamp(memory_bytes_ / runs_.size() / 2,
                                          kFewestChunkBytes, kMostChunkBytes);
  std::vector<RunReader> readers;
  for (const Run& run : runs_) {
    readers.emplace_back(scratch_.get(), run, chunk_bytes);
  }
  // The smallest key is on top; of equal keys, that of the earliest run.
  const auto is_later = [&readers](size_t a, size_t b) {
    return std::make_tuple(readers[a].key(), a) >
           std::make_tuple(readers[b].key(), b);
  };
  std::priority_queue<size_t, std::vector<size_t>, decltype(is_later)> next(
      is_later);
  const auto advance = [&](size_t i) -> absl::Status {
    ASSIGN_OR_RETURN(const bool has_record, readers[i].Next());
    if (has_record) next.push(i);
    return absl::OkStatus();
  };
  for (size_t i = 0; i < readers.size(); ++i) RETURN_IF_ERROR(advance(i));
  while (!next.empty()) {
    const size_t i = next.top();
    next.pop();
    RETURN_IF_ERROR(take(readers[i].key(), readers[i].payload()));
    RETURN_IF_ERROR(advance(i));
  }
  return absl::OkStatus();
}

absl::Status RecordSorter::Drain(Take take) {
  if (scratch_ != nullptr) {
    if (!held_.empty()) RETURN_IF_ERROR(WriteRun());
    std::vector<Record>().swap(held_);
    return Merge(take);
  }
  SortHeld();
  for (const Record& record : held_) {
    RETURN_IF_ERROR(take(record.key, record.payload));
  }
  return absl::OkStatus();
}

}  // namespace sortition
