#include "bench/answers/answer_figures.h"

#include <algorithm>
#include <numeric>

namespace sortition {
namespace {

using Relevances = std::span<const std::vector<uint32_t>>;

size_t BestOf(const std::vector<double>& scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) -
                             scores.begin());
}

bool HasRight(const std::vector<uint32_t>& relevances) {
  return std::any_of(relevances.begin(), relevances.end(),
                     [](uint32_t relevance) { return relevance > 0; });
}

// Adds the figures of one question.
void AddSelection(const std::vector<double>& scores,
                  const std::vector<uint32_t>& relevances,
                  SelectionFigures* sum) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  double right = 0, precisions = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (relevances[order[rank]] == 0) continue;
    const auto place = static_cast<double>(rank + 1);
    if (right == 0) sum->mean_reciprocal_rank += 1 / place;
    if (rank == 0) sum->precision_at_1 += 1;
    right += 1;
    precisions += right / place;
  }
  sum->mean_average_precision += precisions / right;
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
    const size_t best = BestOf(scores[i]);
    if (scores[i][best] < threshold) continue;
    ++answered;
    if (relevances[i][best] > 0) ++right;
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
    best_scores.push_back(each[BestOf(each)]);
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
