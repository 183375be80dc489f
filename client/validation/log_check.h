#pragma once
// What all checks of a log share: what they are given, and what they report.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/logs/log_scan.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A record of the log, a damaged place, or the end of a segment.
struct LogEntry {
  absl::string_view file;
  uint64_t offset = 0;
  const log::v1::SegmentHeader* header = nullptr;  // Never null.
  absl::string_view join;                          // RewardJoinText().
  // Null at damage and at the end of a segment. Never a header.
  const log::v1::LogRecord* record = nullptr;
  const log::v1::Decision* decision = nullptr;  // Also that of a tuple.
  const log::v1::BanditTuple* tuple = nullptr;
  uint64_t damaged_bytes = 0;
  const SegmentEnd* end = nullptr;
};

enum class Level { kPass, kWarn, kFail };

struct Finding {
  Level level = Level::kPass;
  std::string text;
};

class LogCheck {
 public:
  virtual ~LogCheck() = default;
  virtual void Take(const LogEntry& entry) = 0;
  // Returns at least one finding.
  virtual std::vector<Finding> Report() const = 0;
};

// Counts what is wrong, and remembers the first case.
class Offences {
 public:
  void Add(const LogEntry& entry, absl::string_view what);
  uint64_t count() const { return count_; }
  // Returns "3 of 100 decisions, first FILE offset 7 decision d: what".
  std::string Text(uint64_t of, absl::string_view things) const;

 private:
  uint64_t count_ = 0;
  std::string first_;
};

// Returns `level` with Offences::Text() if there are any, else `good`.
Finding Verdict(const Offences& offences, Level level, uint64_t of,
                absl::string_view things, const std::string& good);

// Because of rounding, the log-propensity of a certain action may be this much
// above 0.
inline constexpr double kLogPropensityRounding = 1e-9;

}  // namespace sortition
