#include "core/features/suggest/column_notes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Fewer values may all differ by chance.
constexpr uint64_t kMinValuesOfIds = 20;

bool NearlyAllDiffer(const ColumnProfile& column, double share) {
  const uint64_t values = column.type == ColumnSchema::CATEGORY_SET
                              ? column.num_set_values
                              : column.num_values;
  return values >= kMinValuesOfIds &&
         column.num_distinct >= share * static_cast<double>(values);
}

// Numbers that all differ are usual, unless they are whole and either count up
// or are as large as times since 1970 and keys are.
std::string NumberIdReason(const ColumnProfile& column) {
  constexpr double kAllDiffer = 0.9;
  if (!column.is_integer || !NearlyAllDiffer(column, kAllDiffer)) return "";
  constexpr double kLarge = 1e8;
  if (column.min >= kLarge) {
    return "an id or a time: nearly all values are different, and at least "
           "1e8 (of a time send the age)";
  }
  if (column.max - column.min < 1.5 * column.num_distinct &&
      column.num_values >= 100) {
    return "an id: nearly all values are different and count up";
  }
  return "";
}

std::string StringIdReason(const ColumnProfile& column) {
  const bool is_query = column.scope == ColumnSchema::QUERY;
  // A value of the query that is there once or twice tells nothing about the
  // next query.
  if (!NearlyAllDiffer(column, is_query ? 0.5 : 0.9)) return "";
  return absl::StrFormat(
      "an id: about %.0f different values among %d%s", column.num_distinct,
      column.num_values,
      column.mean_words >= 4 ? " (texts are sent as TEXT)" : "");
}

}  // namespace

std::string ReasonToLeaveOut(const ColumnProfile& column, uint64_t num_queries,
                             bool can_abstain) {
  if (!column.conflict.empty()) {
    return absl::StrCat("its type changes: ", column.conflict);
  }
  if (column.num_values == 0) return "has no value";
  const bool is_complete =
      column.num_missing == 0 && column.num_queries == num_queries;
  const bool has_one_value =
      column.type != ColumnSchema::VECTOR && column.num_distinct <= 1;
  if (has_one_value && column.num_values > 1 &&
      (is_complete || column.type == ColumnSchema::TEXT)) {
    return "constant: all values are the same";
  }
  constexpr uint64_t kMinCompared = 20;
  if (column.scope == ColumnSchema::CANDIDATE && !can_abstain &&
      column.num_compared >= kMinCompared && column.num_varying == 0) {
    return "the same for all candidates of each query: it cancels in an order "
           "(send it as a column of the query)";
  }
  switch (column.type) {
    case ColumnSchema::NUMBER:
      return NumberIdReason(column);
    case ColumnSchema::CATEGORY: {
      constexpr double kMostly = 0.9;
      if (column.like_dates >= kMostly) {
        return "dates as strings: send the age, or the time, as a NUMBER";
      }
      return StringIdReason(column);
    }
    case ColumnSchema::CATEGORY_SET:
      if (column.num_set_values == 0) return "all sets are empty";
      return StringIdReason(column);
    default:
      return "";
  }
}

bool IsHeavyTailed(const ColumnProfile& column) {
  constexpr double kRatio = 5;
  return column.type == ColumnSchema::NUMBER && column.min >= 0 &&
         column.high >= kRatio * std::max(1.0, column.median);
}

std::string DescribeColumn(const ColumnProfile& column, uint64_t num_queries) {
  std::string text = absl::StrCat(column.num_values, " values");
  if (column.num_missing > 0) {
    absl::StrAppendFormat(&text, ", %.1f %% missing",
                          100 * column.missing_share());
  }
  if (column.num_queries < num_queries) {
    absl::StrAppendFormat(&text,
                          ", absent from %d of %d requests (counts as missing)",
                          num_queries - column.num_queries, num_queries);
  }
  if (column.type != ColumnSchema::VECTOR) {
    absl::StrAppendFormat(
        &text, ", %s%.0f different",
        column.num_distinct >= DistinctSample::kMost ? "about " : "",
        column.num_distinct);
  }
  if (column.type == ColumnSchema::NUMBER) {
    absl::StrAppendFormat(&text, "; %s%.4g to %.4g, median %.4g",
                          column.is_integer ? "integers, " : "", column.min,
                          column.max, column.median);
  }
  if (column.type == ColumnSchema::TEXT) {
    absl::StrAppendFormat(&text, "; %.1f words a text", column.mean_words);
  }
  if (column.type == ColumnSchema::CATEGORY && column.like_numbers >= 0.9) {
    absl::StrAppend(&text,
                    "; they look like numbers: send a NUMBER if their order "
                    "matters");
  }
  if (!column.odd.empty()) {
    absl::StrAppend(&text, "; ", column.odd, " that training leaves out");
  }
  if (column.num_compared > 0) {
    absl::StrAppendFormat(&text, "; differs within %.0f %% of queries",
                          100 * static_cast<double>(column.num_varying) /
                              static_cast<double>(column.num_compared));
  }
  return text;
}

}  // namespace sortition
