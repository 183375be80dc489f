#pragma once
// Reads score lists as people keep them: a table of candidates by sources.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct ScoreTable {
  std::vector<std::string> sources;     // Names; empty: none were given.
  std::vector<std::string> candidates;  // Ids; empty: none were given.
  std::vector<float> scores;            // Row-major, a row for each candidate.
  size_t num_sources = 0;
};

// Parses CSV, or TSV where the first line has a tab; knows no quotes. The first
// line names the sources where one of its fields is not a number; the first
// column has the candidates' ids where one of its fields is not a number. Empty
// lines are skipped. InvalidArgument names the line and column of a field that
// is missing, superfluous, or not a finite number.
absl::StatusOr<ScoreTable> ParseScoreTable(absl::string_view text);

}  // namespace sortition
