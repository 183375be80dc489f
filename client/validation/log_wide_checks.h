#pragma once
// Checks of what the records of a log are together.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "client/validation/bounded_map.h"
#include "client/validation/id_sample.h"
#include "client/validation/log_check.h"

namespace sortition {

// Whether tuples got feedback, and how many are censored.
class FeedbackCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t tuples_ = 0;
  uint64_t with_feedback_ = 0;
  uint64_t censored_ = 0;
  uint64_t default_reward_ = 0;  // Neither feedback nor censored.
  std::map<std::string, uint64_t> reasons_;
  Offences bad_;
};

// Each decision id comes once.
class DecisionIdCheck : public LogCheck {
 public:
  explicit DecisionIdCheck(size_t memory_bytes);
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t decisions_ = 0;
  IdSample ids_;
  Offences tuples_;
  Offences spool_;
};

// Each feedback id comes once.
class FeedbackIdCheck : public LogCheck {
 public:
  explicit FeedbackIdCheck(size_t memory_bytes) : ids_(memory_bytes) {}
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  void Look(const LogEntry& entry, const std::string& kind,
            const log::v1::Feedback& feedback, Offences* offences);

  uint64_t feedback_ = 0;
  IdSample ids_;
  Offences tuples_;
  Offences spool_;
};

// All rewards were joined in the same way.
class JoinCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  BoundedMap<std::string, uint64_t> tuples_;  // By RewardJoinText().
};

// No feedback went to other logs, and no record was lost.
class CompletenessCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t records_ = 0;
  Offences incomplete_;
  Offences gaps_;
};

// Segments are whole, and none is missing between others.
class DamageCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  uint64_t segments_ = 0;
  uint64_t records_in_segment_ = 0;
  uint64_t damaged_places_ = 0;
  uint64_t missing_records_ = 0;
  BoundedMap<std::string, uint64_t> next_sequence_;  // By writer.
  Offences damaged_;
  Offences torn_;
};

// Times go on in the order of writing.
class ClockCheck : public LogCheck {
 public:
  explicit ClockCheck(double max_step_back_seconds);
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  struct Writer {
    std::string segment;
    uint64_t offset = 0;
    int64_t time_us = 0;
    bool knows_steps = false;  // It reported that its clock was set.
  };

  // Returns that of a tuple or of a record of a spool; null: too many.
  Writer* WriterOf(const LogEntry& entry);
  void TakeTime(const LogEntry& entry, int64_t time_us);
  void EndSegment(const LogEntry& entry);
  // Returns the text of the finding if nothing is wrong.
  std::string OrderText() const;

  const int64_t bound_us_;
  uint64_t segments_ = 0;
  uint64_t decisions_ = 0;
  uint64_t records_ = 0;        // With a time.
  uint64_t without_order_ = 0;  // Of `records_`: tuples no sidecar wrote.
  BoundedMap<std::string, Writer> writers_;
  int64_t oldest_us_ = 0;  // In the segment; 0: no record yet.
  int64_t newest_us_ = 0;
  int64_t closed_us_ = 0;
  Offences without_time_;
  Offences back_;
  Offences told_;     // Steps that are in the log.
  Offences outside_;  // Of the time in which the segment was written.
};

}  // namespace sortition
