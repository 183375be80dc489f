#pragma once
// How well click models predict sessions that they were not learned from.
#include <vector>

#include "core/clicks/click_sessions.h"
#include "core/clicks/fitted_clicks.h"

namespace sortition {

// Perplexity of rank r [DupretPiwowarski08]: 2 to the mean of
//   -(c log2 q + (1 - c) log2(1 - q)),  q the predicted probability,
// over the sessions in which rank r was seen: 1 is a perfect prediction, 2 a
// fair coin.
struct ClickEvaluation {
  double total_weight = 0;    // Of sessions.
  double log_likelihood = 0;  // Mean per session, in nats.
  // By rank, q = P(click at r); and q = P(click at r | clicks above).
  std::vector<double> perplexity;
  std::vector<double> conditional_perplexity;
  // Means over the ranks, each rank once.
  double mean_perplexity = 0;
  double mean_conditional_perplexity = 0;
};

// Sessions count with their weights. A click that the model holds for
// impossible makes the log-likelihood -infinity and a perplexity infinite.
// Requires items below the number of attractions of `fitted`, and at least one
// session.
ClickEvaluation EvaluateClicks(const FittedClicks& fitted,
                               const ClickSessions& sessions);

// The mean over sessions of log P_a(clicks) - log P_b(clicks): positive if `a`
// predicts better. Models are compared by it, without any penalty for their
// numbers of parameters, on sessions of which neither has seen anything.
struct ClickComparison {
  double difference = 0;
  double standard_error = 0;
};
// Sessions that are impossible under both count as equal. Same requirements.
// The standard error is 0 if there is one session.
ClickComparison CompareClicks(const FittedClicks& a, const FittedClicks& b,
                              const ClickSessions& sessions);

}  // namespace sortition
