#include "io/segments/seen_tuples.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

bool CanHaveCopies(const std::vector<std::string>& segments) {
  const auto directory = [](const std::string& path) {
    return std::filesystem::path(path).parent_path();
  };
  return std::any_of(segments.begin(), segments.end(),
                     [&](const std::string& path) {
                       return directory(path) != directory(segments[0]);
                     });
}

Hash128 CopyKey(const log::v1::BanditTuple& tuple) {
  const log::v1::SpoolPosition& position = tuple.position();
  const log::v1::Decision& decision = tuple.decision();
  return HashBytes(absl::StrCat(tuple.spool_writer(), "\n", position.segment(),
                                "\n", position.offset(), "\n", decision.model(),
                                "\n", decision.version(), "\n",
                                decision.decision_id()));
}

bool SeenTuples::Insert(const log::v1::BanditTuple& tuple) {
  return !can_have_copies_ || seen_.insert(CopyKey(tuple)).second;
}

void TupleCopies::Mark(uint32_t segment, uint32_t index) {
  if (marks_.size() <= segment) marks_.resize(size_t{segment} + 1);
  std::vector<bool>& marks = marks_[segment];
  if (marks.size() <= index) marks.resize(size_t{index} + 1);
  marks[index] = true;
}

CopyFinder::CopyFinder(std::string scratch)
    : scratch_(scratch.empty() ? DefaultScratchDirectory()
                               : std::move(scratch)) {}

absl::Status CopyFinder::Add(const Hash128& key, uint32_t segment,
                             uint32_t index) {
  Bucket& bucket = buckets_[key.low % kBuckets];
  if (bucket.latest.size() == kBlock) RETURN_IF_ERROR(WriteLatest(&bucket));
  bucket.latest.push_back({key, segment, index});
  return absl::OkStatus();
}

absl::Status CopyFinder::WriteLatest(Bucket* bucket) {
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(
        file_, ScratchFile::Create(scratch_,
                                   std::numeric_limits<uint64_t>::max() / 2));
  }
  const absl::string_view bytes(
      reinterpret_cast<const char*>(bucket->latest.data()),
      kBlock * sizeof(Entry));
  ASSIGN_OR_RETURN(const uint64_t offset, file_->Append({{bytes}}));
  bucket->blocks.push_back(offset);
  bucket->latest.clear();
  return absl::OkStatus();
}

absl::StatusOr<TupleCopies> CopyFinder::Find() const {
  TupleCopies copies;
  std::vector<Entry> entries;
  for (const Bucket& bucket : buckets_) {
    entries.resize(bucket.blocks.size() * kBlock);
    for (size_t i = 0; i < bucket.blocks.size(); ++i) {
      RETURN_IF_ERROR(file_->Read(bucket.blocks[i], &entries[i * kBlock],
                                  kBlock * sizeof(Entry)));
    }
    entries.insert(entries.end(), bucket.latest.begin(), bucket.latest.end());
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) {
                return std::tie(a.key.high, a.key.low, a.segment, a.index) <
                       std::tie(b.key.high, b.key.low, b.segment, b.index);
              });
    for (size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].key != entries[i - 1].key) continue;
      copies.Mark(entries[i].segment, entries[i].index);
    }
  }
  return copies;
}

}  // namespace sortition
