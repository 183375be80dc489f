#pragma once
// ListNet [CaoEtAl07] with linear scores s = w·x: minimises the cross entropy
// of the distributions that labels and scores imply for the first rank,
//   min_w  λ/2 ‖w‖² - mean over queries of Σ_i P_i log p_i,
//   P = softmax(relevance) or softmax(2^relevance - 1),  p = softmax(s),
// by L-BFGS. The objective is convex and smooth; -∂/∂s_i = P_i - p_i.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/optim/lbfgs.h"
#include "core/optim/objective.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

class ListNetObjective : public Objective {
 public:
  // Requires valid queries and lambda > 0; what the queries view must outlive
  // it. Leaves out queries whose relevances are all equal: they carry no
  // information about orders and would only pull scores together.
  ListNetObjective(std::span<const LabelledItems> queries, double lambda,
                   config::v1::ListNetOptions::Target target);

  size_t num_queries() const { return queries_.size(); }
  Eigen::Index dimension() const override { return dimension_; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

 private:
  const Eigen::Index dimension_;
  const double lambda_;
  std::vector<LabelledItems> queries_;
  std::vector<std::vector<double>> targets_;  // P, by query.
  mutable std::vector<double> scores_;
};

struct ListNetResult {
  std::vector<double> weights;
  LbfgsResult descent;
};

// Trains at `lambda`, ignoring options.lambda. Deterministic. InvalidArgument
// for the reasons of CheckQueries(), if lambda or an option is out of its
// range, if a relevance is above 31, and if the relevances of every query are
// all equal; Internal if L-BFGS fails. `on_iteration` may be empty.
absl::StatusOr<ListNetResult> TrainListNet(
    std::span<const LabelledItems> queries, double lambda,
    const config::v1::ListNetOptions& options,
    const std::function<void(uint32_t iteration)>& on_iteration = nullptr);

namespace internal {

inline constexpr uint32_t kMostListNetRelevance = 31;

// Returns log Σ exp(scores).
double LogSumExp(std::span<const double> scores);
// Returns P, the target distribution of the first rank.
std::vector<double> TopProbabilities(std::span<const uint32_t> relevances,
                                     config::v1::ListNetOptions::Target target);
bool AllEqual(std::span<const uint32_t> relevances);

}  // namespace internal

}  // namespace sortition
