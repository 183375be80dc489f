#pragma once
// Judges single columns: what they hold, and whether a model should read them.
#include <cstdint>
#include <string>

#include "core/features/suggest/column_profile.h"

namespace sortition {

// Returns why features should not be made of the column, or "". `num_queries`
// is the number of queries that were described.
std::string ReasonToLeaveOut(const ColumnProfile& column, uint64_t num_queries,
                             bool can_abstain);

// Returns whether the numbers are not negative and their tail is long, so that
// a logarithm serves better.
bool IsHeavyTailed(const ColumnProfile& column);

// Returns what the column holds, such as "20000 values, 3.2 % missing; 0.5 to
// 980, median 20", without any of its strings.
std::string DescribeColumn(const ColumnProfile& column, uint64_t num_queries);

}  // namespace sortition
