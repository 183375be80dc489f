#pragma once
// Trains conditional random fields over orders with linear scores s = w·x
// [VolkovsLarochelleZemel11, sec. 6] at one setting of their hyper-parameters.
//
// Sums over all orders are possible only for a few candidates. Larger queries
// are replaced by random subsets that contain every relevance level of the
// query. Queries with a single level carry no information about orders, so they
// are left out: likelihoods would only pull their scores together, and the
// expected and scaled loss are constant.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/losses/ranking_crf.h"
#include "core/optim/objective.h"
#include "sortition/config/v1/orders.pb.h"

namespace sortition {

// λ/2 ‖w‖² plus the mean over queries of the mean objective of each query's
// fixed subsets. Convex except for kExpectedLoss.
class CrfBatchObjective : public Objective {
 public:
  // Uses the subset_size, subsets and seed of `options`. Requires valid queries
  // with at least one and at most subset_size levels; what they view must
  // outlive it.
  CrfBatchObjective(std::span<const LabelledItems> queries,
                    const CrfObjective& objective, double lambda,
                    const config::v1::CrfOptions& options);

  size_t num_subsets() const { return subsets_.size(); }
  Eigen::Index dimension() const override { return dimension_; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

 private:
  struct Subset {
    Candidates items;  // All candidates of the query.
    std::vector<uint32_t> members;
    std::vector<double> gains;
    double weight = 0;
  };

  const Eigen::Index dimension_;
  const CrfObjective objective_;
  const double lambda_;
  std::vector<Subset> subsets_;
  mutable RankingCrf crf_;
};

struct CrfResult {
  std::vector<double> weights;
  // Mean over the queries in use. STOCHASTIC: of the values seen during the
  // last epoch; BATCH: of those at the weights.
  double objective = 0;
  // STOCHASTIC: the best epoch, which the weights are from.
  double validation = 0;
  uint32_t best_epoch = 0;
  uint32_t passes = 0;  // Over the queries.
  size_t num_skipped = 0;
  std::string termination;
};

// Returns the quality of weights; higher is better.
using CrfValidation = std::function<double(std::span<const double> weights)>;

// Stochastic gradient descent. Each epoch visits all queries in a new order and
// makes a step `learning_rate` against the gradient of one subset of each. Ends
// after max_epochs, or after patience epochs without a better `validate`, and
// keeps the weights of the best epoch. Random only in options.seed. `on_epoch`
// may be empty. InvalidArgument for the reasons of CheckQueries(), if an option
// is out of its range, if a query has more relevance levels than subset_size,
// and if no query has two levels.
absl::StatusOr<CrfResult> TrainCrfBySteps(
    std::span<const LabelledItems> queries, const CrfObjective& objective,
    double learning_rate, const config::v1::CrfOptions& options,
    const CrfValidation& validate,
    const std::function<void()>& on_epoch = nullptr);

// Minimises CrfBatchObjective by L-BFGS from w = 0; for kExpectedLoss the
// minimum is local. Errors as TrainCrfBySteps().
absl::StatusOr<CrfResult> TrainCrfByBatch(
    std::span<const LabelledItems> queries, const CrfObjective& objective,
    double lambda, const config::v1::CrfOptions& options,
    const std::function<void()>& on_iteration = nullptr);

}  // namespace sortition
