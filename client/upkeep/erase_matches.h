#pragma once
// Which records of a log belong to units and decisions that are to be erased.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/upkeep/segment_rewrite.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Numbers of records.
struct EraseCounts {
  uint64_t decisions = 0;
  uint64_t tuples = 0;
  uint64_t shown = 0;
  uint64_t feedback = 0;
  uint64_t late = 0;
  uint64_t views = 0;
  uint64_t damaged = 0;  // Damaged places that have one of the ids.

  uint64_t all() const {
    return decisions + tuples + shown + feedback + late + views + damaged;
  }
  void Add(const EraseCounts& other);
  // Returns "2 decisions, 3 tuples", or "nothing".
  std::string Text() const;
};

// Decisions are known by their ids, or found by their units: only a decision
// names its unit, what refers to it does not.
class EraseIds {
 public:
  void AddUnit(const std::string& unit) { units_.insert(unit); }
  void AddDecision(const std::string& id) { decisions_.insert(id); }
  bool empty() const { return units_.empty() && decisions_.empty(); }
  const absl::flat_hash_set<std::string>& decisions() const {
    return decisions_;
  }

  // Remembers the id of a decision, or of a tuple's, of one of the units.
  void Learn(const log::v1::LogRecord& record);

  // Returns whether the record is or refers to one of the decisions. Requires
  // that all of the log was learned.
  bool Matches(const log::v1::LogRecord& record) const;
  // Returns whether one of the ids stands in bytes that are no record.
  bool MatchesBytes(absl::string_view bytes) const;

 private:
  absl::flat_hash_set<std::string> units_;
  absl::flat_hash_set<std::string> decisions_;
};

// Counts a record that matches.
void CountErased(const log::v1::LogRecord& record, EraseCounts* counts);

// Erases what matches, and counts it.
class EraseEdit : public SegmentEdit {
 public:
  explicit EraseEdit(const EraseIds& ids) : ids_(ids) {}

  absl::StatusOr<std::optional<std::string>> Replace(
      absl::string_view payload) override;
  bool Wipes(absl::string_view damaged) override;

  const EraseCounts& counts() const { return counts_; }

 private:
  const EraseIds& ids_;
  EraseCounts counts_;
};

}  // namespace sortition
