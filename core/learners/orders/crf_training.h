#pragma once
// Conditional random fields over orders with linear scores s = w·x
// [VolkovsLarochelleZemel11, sec. 6]: one setting of their training.
//
// Summing over all orders is possible for a few candidates only, so larger
// queries are seen through random subsets that contain every relevance level of
// the query. Queries with a single level carry no information about orders
// (likelihoods would only pull their scores together, expected and scaled loss
// are constant) and are left out.
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

// λ/2 ‖w‖² + mean over queries of the mean objective of each one's fixed
// subsets. Convex, but for kExpectedLoss.
class CrfBatchObjective : public Objective {
 public:
  // `options`: subset_size, subsets, seed. Requires valid queries of one or
  // more levels, no more than subset_size; what they view must outlive it.
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
  // Over the queries in use. STOCHASTIC: mean of the values seen during the
  // last epoch; BATCH: at the weights.
  double objective = 0;
  double validation =
      0;  // STOCHASTIC: of the weights, those of the best epoch.
  uint32_t best_epoch = 0;
  uint32_t passes = 0;  // Over the queries.
  size_t num_skipped = 0;
  std::string termination;
};

// Returns the quality of weights, higher is better.
using CrfValidation = std::function<double(std::span<const double> weights)>;

// Stochastic gradient descent: each epoch visits all queries in a new order,
// with a step `learning_rate` against the gradient of one subset of each. Ends
// after max_epochs, or after patience epochs without a better `validate`; keeps
// the weights of the best epoch. Random only in options.seed. `on_epoch` may be
// empty. InvalidArgument as CheckQueries(), for an option out of its range,
// where a query has more relevance levels than subset_size, and where no query
// has two.
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
