#pragma once
// Score lists from a file: a line for each list, numbers between commas.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {

// InvalidArgument, with the line, where a score is not a number within [least,
// most], or a list is not as long as the first; where there are fewer than 2
// lists, or they have fewer than 2 scores.
inline absl::StatusOr<std::vector<std::vector<double>>> ReadScoreTable(
    const std::string& path, double least, double most) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::vector<double>> lists;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    lists.emplace_back();
    for (const absl::string_view field : absl::StrSplit(line, ',')) {
      double score = 0;
      if (!absl::SimpleAtod(field, &score) ||
          !(score >= least && score <= most)) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ", line ", number, ": score is '", field,
            "', must be a number within [", least, ", ", most, "]"));
      }
      lists.back().push_back(score);
    }
    if (lists.back().size() != lists[0].size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, " has ", lists.back().size(),
                       " scores, must have ", lists[0].size()));
    }
  }
  if (lists.size() < 2 || lists[0].size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", lists.size(), " lists of ",
                     lists.empty() ? 0 : lists[0].size(),
                     " scores, must have at least 2 of 2"));
  }
  return lists;
}

}  // namespace sortition
