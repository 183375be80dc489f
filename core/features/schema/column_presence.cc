#include "core/features/schema/column_presence.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {

using model::v1::ColumnSchema;

ColumnPresence::ColumnPresence(const Schema& schema)
    : schema_(schema), num_absent_(schema.size()), is_there_(schema.size()) {}

void ColumnPresence::Add(const sortition::v1::Columns& columns) {
  ++num_queries_;
  std::fill(is_there_.begin(), is_there_.end(), 0);
  for (const auto* of_scope : {&columns.candidate(), &columns.query()}) {
    for (const sortition::v1::Column& column : *of_scope) {
      const std::optional<size_t> index = schema_.Find(column.name());
      if (index.has_value()) is_there_[*index] = 1;
    }
  }
  for (size_t i = 0; i < is_there_.size(); ++i) {
    if (is_there_[i] == 0) ++num_absent_[i];
  }
}

std::vector<size_t> ColumnPresence::AbsentWithoutDefault() const {
  std::vector<size_t> absent;
  for (size_t i = 0; i < num_absent_.size(); ++i) {
    if (num_absent_[i] > 0 &&
        schema_.column(i).if_absent_case() == ColumnSchema::IF_ABSENT_NOT_SET) {
      absent.push_back(i);
    }
  }
  return absent;
}

std::map<std::string, uint64_t> ColumnPresence::Counts() const {
  std::map<std::string, uint64_t> counts;
  for (const size_t column : AbsentWithoutDefault()) {
    counts[schema_.column(column).name()] = num_absent_[column];
  }
  return counts;
}

std::string ColumnPresence::AbsentText() const {
  return absl::StrJoin(
      AbsentWithoutDefault(), ", ", [this](std::string* text, size_t column) {
        absl::StrAppendFormat(text, "%s (%s%.3g %%)",
                              schema_.column(column).name(),
                              text->empty() ? "absent from " : "",
                              100 * static_cast<double>(num_absent_[column]) /
                                  static_cast<double>(num_queries_));
      });
}

}  // namespace sortition
