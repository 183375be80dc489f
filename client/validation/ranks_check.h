#pragma once
// Whether reports about ranks are about ranks that were decided.
#include <cstdint>
#include <vector>

#include "client/validation/log_check.h"

namespace sortition {

// Finds feedback about a rank that the action does not have or about a
// candidate that is not in it, which is no reward of any rank; feedback about
// candidates that the request did not have, which the join keeps out of
// rewards; and reports that a user looked at more ranks than there are.
class RanksCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  // Checks feedback that names a candidate.
  void CheckIndexes(const LogEntry& entry);
  // Checks feedback that the join has set apart.
  void CheckLate(const LogEntry& entry);

  uint64_t with_rewards_ = 0;  // Tuples with rewards of ranks.
  uint64_t with_indexes_ = 0;  // Tuples with feedback about candidates.
  uint64_t with_seen_ = 0;     // Tuples with seen_ranks.
  Offences rewards_;
  Offences indexes_;
  uint64_t late_ = 0;      // Late feedback.
  Offences no_candidate_;  // Feedback about a candidate that cannot be.
  Offences seen_;
};

}  // namespace sortition
