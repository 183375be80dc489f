#include "bench/answers/answer_figures.h"

#include <algorithm>

#include "core/metrics/ranking_metrics.h"

namespace sortition {
namespace {

using Relevances = std::span<const std::vector<uint32_t>>;

double BestScore(const std::vector<double>& scores) {
  return *std::max_element(scores.begin(), scores.end());
}

// Returns the share of right ones among the candidates with the best score.
double RightShareOfBest(const std::vector<double>& scores,
                        const std::vector<uint32_t>& relevances) {
  return Precision(TiedRanking(scores, relevances), 1, 1);
}

bool HasRight(const std::vector<uint32_t>& relevances) {
  return std::any_of(relevances.begin(), relevances.end(),
                     [](uint32_t relevance) { return relevance > 0; });
}

// Adds the figures of one question.
void AddSelection(const std::vector<double>& scores,
                  const std::vector<uint32_t>& relevances,
                  SelectionFigures* sum) {
  const TiedRanking ranking(scores, relevances);
  sum->mean_reciprocal_rank += ReciprocalRank(ranking, 1, 0);
  sum->precision_at_1 += Precision(ranking, 1, 1);
  sum->mean_average_precision += AveragePrecision(ranking, 1);
}

}  // namespace

SelectionFigures MeasureSelection(const AnswerScores& scores,
                                  Relevances relevances) {
  SelectionFigures figures;
  double count = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!HasRight(relevances[i])) continue;
    AddSelection(scores[i], relevances[i], &figures);
    ++count;
  }
  figures.mean_average_precision /= count;
  figures.mean_reciprocal_rank /= count;
  figures.precision_at_1 /= count;
  return figures;
}

TriggeringFigures MeasureTriggering(const AnswerScores& scores,
                                    Relevances relevances, double threshold) {
  double answered = 0, right = 0, answerable = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (HasRight(relevances[i])) ++answerable;
    if (BestScore(scores[i]) < threshold) continue;
    ++answered;
    right += RightShareOfBest(scores[i], relevances[i]);
  }
  TriggeringFigures figures;
  if (right == 0) return figures;
  figures.precision = right / answered;
  figures.recall = right / answerable;
  figures.f1 = 2 * right / (answered + answerable);
  return figures;
}

double BestThreshold(const AnswerScores& scores, Relevances relevances) {
  std::vector<double> best_scores;
  for (const std::vector<double>& each : scores) {
    best_scores.push_back(BestScore(each));
  }
  std::sort(best_scores.rbegin(), best_scores.rend());
  double best = 0, threshold = 0;
  for (const double score : best_scores) {
    const double f1 = MeasureTriggering(scores, relevances, score).f1;
    if (f1 <= best) continue;
    best = f1;
    threshold = score;
  }
  return threshold;
}

}  // namespace sortition
