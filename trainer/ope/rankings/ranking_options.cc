#include "trainer/ope/rankings/ranking_options.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/decision_files/named_files.h"

namespace sortition {
namespace {

absl::StatusOr<std::vector<double>> ParseNumbers(
    absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& entries) {
  std::vector<double> numbers;
  for (const std::string& entry : SplitEntries(entries)) {
    double number = 0;
    if (!absl::SimpleAtod(entry, &number) || !(number >= 0 && number <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          option, " has '", entry, "', must be numbers in [0, 1]"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<RankingOptions> RankingOptions::Parse(
    const config::v1::OpeOptions& options) {
  RankingOptions parsed;
  if (options.rank_weights() == "dcg") {
    parsed.weights = RankWeights::kDcg;
  } else if (options.rank_weights() != "sum") {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_weights is '", options.rank_weights(), "', must be sum or dcg"));
  }
  Examination examination;
  ASSIGN_OR_RETURN(examination.alpha,
                   ParseNumbers("examination", options.examination()));
  ASSIGN_OR_RETURN(examination.beta,
                   ParseNumbers("click_offsets", options.click_offsets()));
  if (examination.alpha.empty() && examination.beta.empty()) return parsed;
  if (!examination.beta.empty() &&
      examination.beta.size() != examination.alpha.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("click_offsets has ", examination.beta.size(),
                     " numbers, must have as many as examination, which has ",
                     examination.alpha.size()));
  }
  constexpr double kRounding = 1e-9;
  for (size_t k = 0; k < examination.beta.size(); ++k) {
    if (examination.alpha[k] + examination.beta[k] > 1 + kRounding) {
      return absl::InvalidArgumentError(
          absl::StrCat("click_offsets[", k, "] is ", examination.beta[k],
                       ", must be at most 1 - examination[", k, "], which is ",
                       examination.alpha[k]));
    }
  }
  RETURN_IF_ERROR(CheckExamination(examination));
  parsed.examination = std::move(examination);
  return parsed;
}

std::vector<double> RankingOptions::WeightsOf(size_t num_ranks) const {
  std::vector<double> numbers(num_ranks, 1);
  if (weights == RankWeights::kSum) return numbers;
  for (size_t k = 0; k < num_ranks; ++k) {
    numbers[k] = 1 / std::log2(static_cast<double>(k) + 2);
  }
  return numbers;
}

}  // namespace sortition
