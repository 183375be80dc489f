#include "bench/answers/answer_figures.h"

#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

using Relevances = std::vector<std::vector<uint32_t>>;

TEST(AnswerFiguresTest, AveragesOverQuestionsWithARightCandidate) {
  // Orders: wrong right right; right; no right candidate; a tie, in which
  // either candidate comes first with probability 1/2.
  const AnswerScores scores = {{1, 3, 2}, {5, 0}, {1}, {2, 2}};
  const Relevances relevances = {{1, 0, 1}, {1, 0}, {0}, {0, 1}};
  const SelectionFigures figures = MeasureSelection(scores, relevances);
  const double first = (1.0 / 2 + 2.0 / 3) / 2;
  EXPECT_DOUBLE_EQ(figures.mean_average_precision, (first + 1 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(figures.mean_reciprocal_rank, (0.5 + 1 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(figures.precision_at_1, 1.5 / 3);
}

TEST(AnswerFiguresTest, TriggersFromTheThresholdOn) {
  const AnswerScores scores = {{3, 1}, {2, 4}, {5}, {1, 0}};
  const Relevances relevances = {{1, 0}, {1, 0}, {0}, {1, 0}};
  // Answered: the first (right), the second (wrong), the third (wrong).
  const TriggeringFigures figures = MeasureTriggering(scores, relevances, 3);
  EXPECT_DOUBLE_EQ(figures.precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(figures.recall, 1.0 / 3);
  EXPECT_DOUBLE_EQ(figures.f1, 1.0 / 3);
  EXPECT_EQ(MeasureTriggering(scores, relevances, 6).f1, 0);
  // F1 by threshold: 5: 0, 4: 0, 3: 2/6, 1: 4/7.
  EXPECT_EQ(BestThreshold(scores, relevances), 1);
}

}  // namespace
}  // namespace sortition
