#pragma once
// The formats in which `score` prints.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/action.h"
#include "sortition/config/v1/score.pb.h"
#include "trainer/scoring/query_stream.h"

namespace sortition {

// Scores of a query, with the same bits as a server computes.
struct QueryScores {
  std::vector<double> scores;         // One for each candidate.
  std::vector<double> probabilities;  // Of being selected, first or included.
  // Selections that can abstain: score and probability of abstaining.
  std::optional<double> abstain_score;
  double abstain_probability = 0;
};

// Makes text. Numbers have digits that read back as the same double.
class ScoreWriter {
 public:
  virtual ~ScoreWriter() = default;
  // Returns what comes before the first query.
  virtual std::string Header() const { return ""; }
  // Returns the lines of a query. InvalidArgument if an id cannot be written in
  // this format.
  virtual absl::StatusOr<std::string> Format(const StreamedQuery& query,
                                             const QueryScores& scores) = 0;
};

// Returns the writer of options.output. InvalidArgument for a run_tag that a
// TREC file cannot have. Requires a known output.
absl::StatusOr<std::unique_ptr<ScoreWriter>> MakeScoreWriter(
    const config::v1::ScoreOptions& options, ActionKind kind);

// Returns what the probabilities are of: "selected", "first" or "included".
absl::string_view ProbabilityName(ActionKind kind);

}  // namespace sortition
