#include "io/datasets/query_groups.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/files.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

// More lines than a label file can have.
constexpr uint64_t kMaxLines = uint64_t{1} << 40;

}  // namespace

absl::StatusOr<QueryGroups> ParseQueryGroups(const std::string& path,
                                             absl::string_view text) {
  QueryGroups groups;
  groups.path = path;
  size_t number = 0;
  for (const absl::string_view line :
       absl::StrSplit(SkipByteOrderMark(text), '\n')) {
    ++number;
    for (const absl::string_view token :
         absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      uint64_t size = 0;
      if (!ParseNumber(token, &size) || size == 0 ||
          size > kMaxLines - groups.num_lines) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": line ", number, ": the size of a query is '",
                         Shown(token), "', must be an integer from 1 on"));
      }
      groups.sizes.push_back(size);
      groups.num_lines += size;
    }
  }
  if (!groups.sizes.empty()) return groups;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": has no sizes, must have the number of lines of each query"));
}

absl::StatusOr<QueryGroups> ReadQueryGroups(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseQueryGroups(path, text);
}

absl::StatusOr<std::string> FindQueryGroups(const std::string& path) {
  const std::string of_lightgbm = path + ".query";
  const std::string of_xgboost = path + ".group";
  std::error_code error;
  const bool has_query = std::filesystem::exists(of_lightgbm, error);
  const bool has_group = std::filesystem::exists(of_xgboost, error);
  if (has_query && has_group) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are two group files, ", of_lightgbm, " and ",
                     of_xgboost, ": groups must name one of them"));
  }
  return has_query ? of_lightgbm : has_group ? of_xgboost : std::string();
}

}  // namespace sortition
