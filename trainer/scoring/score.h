#pragma once
// sortition-trainer score: scores and probabilities of a version for each
// candidate of data files, with the same bits as a server computes.
//
// Each query is decided as a server decides it (LinearPolicy::Decide() with all
// candidates eligible), and what the server returns for return_scores and
// return_probabilities is printed. Probabilities are exact for every kind of
// policy. Those of an F-score game are exact for the strategy that the search
// found; a server that runs out of time plays the strategy found until then.
//
// One query is in memory at a time.
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/config/v1/score.pb.h"

namespace sortition {

struct ScoreReport {
  std::string model;
  uint64_t version = 0;
  std::string policy;          // Its kind, such as "plackett_luce".
  std::string probability_of;  // ProbabilityName().
  uint64_t queries = 0;
  uint64_t candidates = 0;
  // F-score games: the largest gap that a search left open; 0: no such game.
  double largest_game_gap = 0;
  std::vector<std::string> notes = {};  // On how the data was read.
};

// Usage error that names the option.
absl::Status ValidateScoreOptions(const config::v1::ScoreOptions& options);

// Writes the scores of all queries to `out`. Shows the progress on stderr if
// that is a terminal. NotFound if there is no such version; InvalidArgument for
// a version that is not served, for data that it does not take (naming file and
// query), and for scores beyond what can be drawn exactly, which a server
// refuses, too; DataLoss if `out` takes no more.
absl::StatusOr<ScoreReport> Score(const config::v1::ScoreOptions& options,
                                  std::ostream* out);

// Returns a sentence for stderr: what was scored, and what the probabilities
// are of.
std::string FormatScoreReport(const ScoreReport& report);

}  // namespace sortition
