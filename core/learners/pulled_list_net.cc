#include "core/learners/pulled_list_net.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/list_net.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;
using config::v1::ListNetOptions;

// -Σ P_i log p_i of one query as a function of its scores.
class CrossEntropy : public StructuredHinge {
 public:
  explicit CrossEntropy(std::vector<double> target)
      : target_(std::move(target)) {}

  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    const double total = internal::LogSumExp(scores);
    double offset = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double log_p = scores[i] - total;
      slopes[i] = std::exp(log_p) - target_[i];
      offset -= target_[i] * log_p + slopes[i] * scores[i];
    }
    return offset;
  }

  // The entropy of P, which is where p = P.
  double LowerBound() const override {
    double entropy = 0;
    for (const double share : target_) {
      if (share > 0) entropy -= share * std::log(share);
    }
    return entropy;
  }

 private:
  const std::vector<double> target_;  // P
};

}  // namespace

absl::StatusOr<std::unique_ptr<HingeProblem>> MakePulledListNet(
    std::span<const GameQuery> queries, ListNetOptions::Target target,
    const OrderPull& pull) {
  RETURN_IF_ERROR(CheckQueries(queries, internal::kMostListNetRelevance));
  std::vector<std::unique_ptr<StructuredHinge>> terms;
  for (const GameQuery& query : queries) {
    terms.push_back(
        internal::AllEqual(query.relevances)
            ? nullptr
            : std::make_unique<CrossEntropy>(
                  internal::TopProbabilities(query.relevances, target)));
  }
  auto problem = HingeProblem::Of(queries, std::move(terms), pull);
  if (problem != nullptr) return problem;
  return absl::InvalidArgumentError(absl::StrCat(
      "none of ", queries.size(),
      " queries has candidates of different relevances, at least 1 must"));
}

std::unique_ptr<HingeSolver> MakePulledListNetSolver(HingeProblem* problem,
                                                     uint32_t max_passes) {
  HingeOptions options;
  options.set_solver(HingeOptions::N_SLACK);
  options.set_gap_tolerance(kPulledListNetGap);
  options.set_max_passes(max_passes);
  return MakeHingeSolver(problem, options);
}

}  // namespace sortition
