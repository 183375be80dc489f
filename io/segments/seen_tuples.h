#pragma once
// Which tuples of a log are copies of others.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "io/scratch_file.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Whether segments with these paths can have copies of each other's tuples:
// those of one directory have none.
bool CanHaveCopies(const std::vector<std::string>& segments);

// Equal for copies: they have the same place in the same spool, and in any case
// the same decision id.
Hash128 CopyKey(const log::v1::BanditTuple& tuple);

// Knows the tuples that were read, by 16 bytes each.
class SeenTuples {
 public:
  // `segments` are the paths of all that is read. Nothing is remembered unless
  // they can have copies.
  explicit SeenTuples(const std::vector<std::string>& segments)
      : can_have_copies_(CanHaveCopies(segments)) {}

  // Returns whether `tuple` comes for the first time.
  bool Insert(const log::v1::BanditTuple& tuple);

 private:
  bool can_have_copies_;
  absl::flat_hash_set<Hash128, Hash128Hasher> seen_;
};

// The copies among the tuples of a log: a bit for each tuple of a segment that
// has any.
class TupleCopies {
 public:
  // `index` counts the tuples of a segment that can be read, from 0.
  bool Contains(uint32_t segment, uint32_t index) const {
    return segment < marks_.size() && index < marks_[segment].size() &&
           marks_[segment][index];
  }
  void Mark(uint32_t segment, uint32_t index);

 private:
  std::vector<std::vector<bool>> marks_;  // By segment.
};

// Finds copies whatever the order of the tuples. What 6 MiB do not hold is kept
// in a scratch file, 24 bytes a tuple, so that 1e9 tuples take 100 MB of
// memory. Nothing is taken for a copy by chance: keys have 128 bits.
class CopyFinder {
 public:
  // `scratch` is a directory; empty: DefaultScratchDirectory().
  explicit CopyFinder(std::string scratch);

  // Adds a tuple. In the order of reading: of copies, the first one added
  // counts. Errors as ScratchFile::Create() and Append().
  absl::Status Add(const Hash128& key, uint32_t segment, uint32_t index);

  // Errors as ScratchFile::Read().
  absl::StatusOr<TupleCopies> Find() const;

 private:
  struct Entry {
    Hash128 key;
    uint32_t segment;
    uint32_t index;
  };
  // Entries whose keys end in the same bits: those that are copies of each
  // other are together.
  struct Bucket {
    std::vector<uint64_t> blocks;  // Offsets of kBlock entries each.
    std::vector<Entry> latest;     // At most kBlock.
  };
  static constexpr size_t kBuckets = 256;
  static constexpr size_t kBlock = 1024;

  absl::Status WriteLatest(Bucket* bucket);

  const std::string scratch_;
  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBuckets);
  std::unique_ptr<ScratchFile> file_;  // Null: everything is in memory.
};

}  // namespace sortition
