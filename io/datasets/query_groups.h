#pragma once
// Reads group files: the number of lines of each query of a label file without
// qid, in their order, as LightGBM (FILE.query) and XGBoost (FILE.group) read
// them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct QueryGroups {
  std::string path;             // For messages.
  std::vector<uint64_t> sizes;  // Each at least 1.
  uint64_t num_lines = 0;       // Their sum.
};

// Sizes stand on lines of their own, or with spaces between. InvalidArgument
// naming file and line for anything else, and if there are none.
absl::StatusOr<QueryGroups> ParseQueryGroups(const std::string& path,
                                             absl::string_view text);
absl::StatusOr<QueryGroups> ReadQueryGroups(const std::string& path);

// Returns the name of the group file beside a label file: `path`.query or
// `path`.group, as the libraries call it; empty if there is neither.
// InvalidArgument if there are both.
absl::StatusOr<std::string> FindQueryGroups(const std::string& path);

}  // namespace sortition
