#pragma once
// What the loop makes of answers: a first model from twenty labelled questions,
// and what is learned from a log of its draws and of users who say whether an
// answer is right. Nobody labels the questions of the log.
#include "absl/status/statusor.h"
#include "bench/answers/answer_data.h"
#include "bench/answers/answer_methods.h"

namespace sortition {

// A right answer earns 1, a wrong one 0, abstaining this.
inline constexpr double kAbstainReward = 0.3;

// Both score a candidate above 0 where they would rather answer than abstain.

// Logistic regression on twenty training questions.
absl::StatusOr<AnswerScorer> FitFirstModel(const AnswerData& data);

// POEM from what the first model, served at random, earned on the training
// questions, each asked eight times; what it earned on the validation questions
// chooses λ.
absl::StatusOr<AnswerScorer> LearnFromBanditRound(const AnswerData& data);

}  // namespace sortition
