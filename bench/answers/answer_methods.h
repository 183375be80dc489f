#pragma once
// Ways to score candidate answers, a row of the table each.
#include <functional>
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
};

// One feature alone, and linear scores of all of them.
std::vector<AnswerMethod> ListAnswerMethods();

AnswerScores ScoreAnswers(const AnswerScorer& scorer, const AnswerPart& part);

}  // namespace sortition
