#include "core/clicks/click_evaluation.h"

#include <cmath>
#include <limits>
#include <span>

namespace sortition {
namespace {

// The mean surprise by rank, in bits.
class Surprises {
 public:
  explicit Surprises(size_t num_ranks)
      : bits_(num_ranks), weights_(num_ranks) {}

  void Add(std::span<const uint8_t> clicks,
           std::span<const double> probabilities, double weight) {
    for (size_t r = 0; r < clicks.size(); ++r) {
      const double outcome =
          clicks[r] != 0 ? probabilities[r] : 1 - probabilities[r];
      weights_[r] += weight;
      bits_[r] -=
          weight * (outcome > 0 ? std::log2(outcome)
                                : -std::numeric_limits<double>::infinity());
    }
  }

  std::vector<double> Perplexities() const {
    std::vector<double> perplexities(bits_.size());
    for (size_t r = 0; r < bits_.size(); ++r) {
      perplexities[r] = std::exp2(bits_[r] / weights_[r]);
    }
    return perplexities;
  }

 private:
  std::vector<double> bits_;
  std::vector<double> weights_;
};

double Mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

ClickEvaluation EvaluateClicks(const FittedClicks& fitted,
                               const ClickSessions& sessions) {
  const size_t ranks = sessions.num_ranks();
  ClickEvaluation evaluation;
  Surprises marginal(ranks);
  Surprises conditional(ranks);
  std::vector<double> probabilities(ranks);
  std::vector<double> examinations(ranks);
  FittedList look;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    const ShownList list = look.Look(fitted, session);
    const std::span<double> first(probabilities.data(), session.size());
    const double weight = session.weight();
    evaluation.log_likelihood +=
        weight * ClickLogLikelihood(fitted.model, list, look.clicks());
    MarginalClickProbabilities(fitted.model, list, first,
                               {examinations.data(), session.size()});
    marginal.Add(look.clicks(), first, weight);
    ConditionalClickProbabilities(fitted.model, list, look.clicks(), first);
    conditional.Add(look.clicks(), first, weight);
  }
  evaluation.total_weight = sessions.total_weight();
  evaluation.log_likelihood /= evaluation.total_weight;
  evaluation.perplexity = marginal.Perplexities();
  evaluation.conditional_perplexity = conditional.Perplexities();
  evaluation.mean_perplexity = Mean(evaluation.perplexity);
  evaluation.mean_conditional_perplexity =
      Mean(evaluation.conditional_perplexity);
  return evaluation;
}

ClickComparison CompareClicks(const FittedClicks& a, const FittedClicks& b,
                              const ClickSessions& sessions) {
  FittedList look_a;
  FittedList look_b;
  std::vector<double> differences(sessions.size());
  double sum = 0;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    const ShownList list_a = look_a.Look(a, session);
    const ShownList list_b = look_b.Look(b, session);
    const double log_a = ClickLogLikelihood(a.model, list_a, look_a.clicks());
    const double log_b = ClickLogLikelihood(b.model, list_b, look_b.clicks());
    // -infinity minus itself.
    differences[s] = log_a == log_b ? 0 : log_a - log_b;
    sum += session.weight() * differences[s];
  }
  ClickComparison comparison;
  comparison.difference = sum / sessions.total_weight();
  const auto n = static_cast<double>(sessions.size());
  if (n < 2) return comparison;
  double squares = 0;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const double deviation =
        sessions[s].weight() * (differences[s] - comparison.difference);
    squares += deviation * deviation;
  }
  comparison.standard_error =
      std::sqrt(squares * n / (n - 1)) / sessions.total_weight();
  return comparison;
}

}  // namespace sortition
