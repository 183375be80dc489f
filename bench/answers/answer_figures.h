#pragma once
// How good answers are.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Scores of the candidates of each question.
using AnswerScores = std::vector<std::vector<double>>;

// Means over the questions that have a right candidate, as by trec_eval, but in
// expectation over random orders of candidates with equal scores.
struct SelectionFigures {
  double mean_average_precision = 0;
  double mean_reciprocal_rank = 0;
  double precision_at_1 = 0;
};
SelectionFigures MeasureSelection(
    const AnswerScores& scores,
    std::span<const std::vector<uint32_t>> relevances);

// A question is answered by its best candidate if its score is at least the
// threshold; ties for the best candidate are broken at random. Precision: right
// answers over answers; recall: right answers over questions that have a right
// candidate.
struct TriggeringFigures {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};
TriggeringFigures MeasureTriggering(
    const AnswerScores& scores,
    std::span<const std::vector<uint32_t>> relevances, double threshold);

// Returns the score of a best candidate that has the largest F1 as threshold;
// of several the largest.
double BestThreshold(const AnswerScores& scores,
                     std::span<const std::vector<uint32_t>> relevances);

}  // namespace sortition
