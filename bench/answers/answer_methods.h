#pragma once
// Ways to score candidate answers, a row of the table each.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/answers/answer_data.h"
#include "bench/answers/answer_figures.h"

namespace sortition {

using AnswerScorer = std::function<std::vector<double>(const FeatureMatrix&)>;

struct AnswerMethod {
  std::string name;
  // Learns from data.train, and chooses by data.validate.
  std::function<absl::StatusOr<AnswerScorer>(const AnswerData& data)> learn;
  // Below it, no answer; unset: the best one on the validation questions.
  std::optional<double> threshold = {};
};

// One feature alone, linear scores of all of them, trees where this build has
// XGBoost, and a first model before and after a bandit round.
std::vector<AnswerMethod> ListAnswerMethods();

AnswerScores ScoreAnswers(const AnswerScorer& scorer, const AnswerPart& part);

}  // namespace sortition
