#pragma once
// Why the scores of imported trees differ from those of their library.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Scores of another tool, by row, and how closely they must be met.
struct OtherScores {
  std::vector<double> scores;
  double tolerance = 1e-6;  // Relative to the larger of 1 and the score.

  bool Agrees(size_t row, double score) const;
  // Returns how many of `ours`, one for each row, do not agree.
  size_t CountDifferent(const std::vector<double>& ours) const;
};

// Rows that any ensemble can score.
struct ScorableRows {
  using Scorer = std::function<absl::StatusOr<std::vector<double>>(
      const model::v1::TreeEnsemble&)>;
  Scorer all;    // Returns the scores of all rows.
  Scorer first;  // Returns those of `first_rows`, which are few; others are 0.
  std::vector<uint32_t> first_rows;
  // The rows are features of which others may be the first; otherwise they are
  // made of named columns.
  bool may_shift = false;
};

// Tries what other tools do differently (the first column, absent features, the
// base score, a transform of the output, fewer trees, another order of rows)
// and returns a sentence on what explains the scores best. Requires `ours`, the
// scores of `ensemble`, and at least one that does not agree. Errors as those
// of the scorers.
absl::StatusOr<std::string> MostLikelyCause(
    const model::v1::TreeEnsemble& ensemble, const ScorableRows& rows,
    const std::vector<double>& ours, const OtherScores& theirs);

}  // namespace sortition
