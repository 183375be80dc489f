#pragma once
// Finds decisions of a spool again by their ids.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/hash.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Remembers the places of the last decisions, some 50 bytes each. Not
// thread-safe.
class DecisionFinder {
 public:
  explicit DecisionFinder(size_t most_remembered = 1'000'000)
      : most_remembered_(most_remembered) {}

  // Says that what follows is of the segment `path`.
  void BeginSegment(const std::string& path) { paths_.push_back(path); }
  void Note(const std::string& decision_id, uint64_t offset);

  // Returns the last decision with this id; nothing: it is not remembered, or
  // its segment is gone.
  std::optional<log::v1::Decision> Find(const std::string& decision_id);

 private:
  struct Place {
    size_t segment = 0;  // Of `paths_`.
    uint64_t offset = 0;
    uint64_t number = 0;
  };

  const size_t most_remembered_;
  std::vector<std::string> paths_;
  absl::flat_hash_map<Hash128, Place, Hash128Hasher> places_;
  std::deque<std::pair<Hash128, uint64_t>> order_;  // Oldest first.
  uint64_t number_ = 0;
  size_t read_segment_ = 0;
  std::unique_ptr<SegmentReader> reader_;
};

}  // namespace sortition
