#include "core/learners/orders/crf_training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/orders/level_subsets.h"
#include "core/optim/lbfgs.h"

namespace sortition {
namespace {

using config::v1::CrfOptions;

// Streams of random numbers: one for the fixed subsets and, from kEpochs on,
// one for each epoch.
constexpr uint32_t kBatch = 0;
constexpr uint32_t kEpochs = 1;

// Checks that `value`, named `name`, is above 0 and at most `most`.
absl::Status CheckPositive(const char* name, double value, double most) {
  if (value > 0 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", value, ", must be above 0 and at most ", most));
}

// Returns the queries with at least two relevance levels.
absl::StatusOr<std::vector<LabelledItems>> QueriesWithLevels(
    std::span<const LabelledItems> queries, const CrfObjective& objective,
    const CrfOptions& options) {
  RETURN_IF_ERROR(CheckQueries(queries));
  RETURN_IF_ERROR(CheckPositive("loss_weight", objective.loss_weight, 1e6));
  RETURN_IF_ERROR(CheckPositive("temperature", objective.temperature, 1e6));
  const uint32_t size = options.subset_size();
  if (size < 2 || size > RankingCrf::kMaxItems) {
    return absl::InvalidArgumentError(absl::StrCat(
        "subset_size is ", size, ", must be 2 to ", RankingCrf::kMaxItems));
  }
  std::vector<LabelledItems> kept;
  for (size_t q = 0; q < queries.size(); ++q) {
    const size_t levels = CountLevels(queries[q].relevances);
    if (levels > size) {
      return absl::InvalidArgumentError(
          absl::StrCat("query ", q, " has ", levels,
                       " different relevances, must have at most ", size,
                       ", the subset_size: a subset holds one of each"));
    }
    if (levels > 1) kept.push_back(queries[q]);
  }
  if (kept.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of ", queries.size(),
        " queries has candidates of different relevances, at least 1 must"));
  }
  return kept;
}

std::span<const double> SpanOf(const Eigen::VectorXd& vector) {
  return {vector.data(), static_cast<size_t>(vector.size())};
}

// Descends by steps along single queries.
class Walk {
 public:
  Walk(std::span<const LabelledItems> queries, const CrfObjective& objective,
       double learning_rate, const CrfOptions& options)
      : queries_(queries),
        objective_(objective),
        learning_rate_(learning_rate),
        seed_(SeedKey(options.seed())),
        weights_(queries[0].items.num_features(), 0.0),
        order_(queries.size()) {
    for (const LabelledItems& query : queries) {
      subsets_.emplace_back(query.relevances, options.subset_size());
    }
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  const std::vector<double>& weights() const { return weights_; }

  // Returns the mean of the objective's values seen during the epoch.
  double Epoch(uint32_t epoch) {
    RandomSequence random(seed_, kEpochs + epoch);
    for (size_t k = order_.size(); k > 1; --k) {
      std::swap(order_[k - 1], order_[random.Below(k)]);
    }
    double sum = 0;
    for (const size_t q : order_) sum += Step(q, &random);
    return sum / static_cast<double>(queries_.size());
  }

 private:
  double Step(size_t q, RandomSequence* random) {
    const LabelledItems& query = queries_[q];
    const size_t n = subsets_[q].size();
    members_.resize(n);
    scores_.resize(n);
    gains_.resize(n);
    slopes_.resize(n);
    subsets_[q].Draw(random, members_);
    for (size_t i = 0; i < n; ++i) gains_[i] = query.relevances[members_[i]];
    query.items.Scores(members_, weights_, scores_);
    const double value = crf_.Evaluate(scores_, gains_, objective_, slopes_);
    for (size_t i = 0; i < n; ++i) {
      query.items.AddRow(members_[i], -learning_rate_ * slopes_[i], weights_);
    }
    return value;
  }

  std::span<const LabelledItems> queries_;
  const CrfObjective objective_;
  const double learning_rate_;
  const Hash128 seed_;
  std::vector<double> weights_;
  std::vector<size_t> order_;
  std::vector<LevelSubsets> subsets_;
  RankingCrf crf_;
  // Workspace of a step.
  std::vector<uint32_t> members_;
  std::vector<double> scores_, gains_, slopes_;
};

}  // namespace

CrfBatchObjective::CrfBatchObjective(std::span<const LabelledItems> queries,
                                     const CrfObjective& objective,
                                     double lambda, const CrfOptions& options)
    : dimension_(queries[0].items.num_features()),
      objective_(objective),
      lambda_(lambda) {
  RandomSequence random(SeedKey(options.seed()), kBatch);
  for (const LabelledItems& query : queries) {
    LevelSubsets draws(query.relevances, options.subset_size());
    const uint32_t count = draws.all() ? 1 : options.subsets();
    for (uint32_t k = 0; k < count; ++k) {
      Subset subset{.items = query.items,
                    .members = std::vector<uint32_t>(draws.size()),
                    .gains = {},
                    .weight = 1 / (static_cast<double>(count) *
                                   static_cast<double>(queries.size()))};
      draws.Draw(&random, subset.members);
      for (const uint32_t item : subset.members) {
        subset.gains.push_back(query.relevances[item]);
      }
      subsets_.push_back(std::move(subset));
    }
  }
}

double CrfBatchObjective::Evaluate(const Eigen::VectorXd& point,
                                   Eigen::VectorXd* gradient) const {
  double value = lambda_ / 2 * point.squaredNorm();
  if (gradient != nullptr) *gradient = lambda_ * point;
  std::array<double, RankingCrf::kMaxItems> scores;
  std::array<double, RankingCrf::kMaxItems> slopes;
  for (const Subset& subset : subsets_) {
    const size_t n = subset.members.size();
    subset.items.Scores(subset.members, SpanOf(point), {scores.data(), n});
    value += subset.weight * crf_.Evaluate({scores.data(), n}, subset.gains,
                                           objective_, {slopes.data(), n});
    if (gradient == nullptr) continue;
    for (size_t i = 0; i < n; ++i) {
      subset.items.AddRow(
          subset.members[i], subset.weight * slopes[i],
          {gradient->data(), static_cast<size_t>(gradient->size())});
    }
  }
  return value;
}

absl::StatusOr<CrfResult> TrainCrfBySteps(
    std::span<const LabelledItems> queries, const CrfObjective& objective,
    double learning_rate, const CrfOptions& options,
    const CrfValidation& validate, const std::function<void()>& on_epoch) {
  RETURN_IF_ERROR(CheckPositive("learning_rate", learning_rate, 1e6));
  ASSIGN_OR_RETURN(const std::vector<LabelledItems> kept,
                   QueriesWithLevels(queries, objective, options));
  Walk walk(kept, objective, learning_rate, options);
  CrfResult result;
  result.num_skipped = queries.size() - kept.size();
  result.weights = walk.weights();
  result.validation = -HUGE_VAL;
  result.termination = "max_epochs";
  for (uint32_t epoch = 1; epoch <= options.max_epochs(); ++epoch) {
    result.objective = walk.Epoch(epoch);
    result.passes = epoch;
    const double validation = validate(walk.weights());
    if (validation > result.validation) {
      result.validation = validation;
      result.weights = walk.weights();
      result.best_epoch = epoch;
    }
    if (on_epoch) on_epoch();
    if (epoch - result.best_epoch >= options.patience()) {
      result.termination = "patience";
      break;
    }
  }
  return result;
}

absl::StatusOr<CrfResult> TrainCrfByBatch(
    std::span<const LabelledItems> queries, const CrfObjective& objective,
    double lambda, const CrfOptions& options,
    const std::function<void()>& on_iteration) {
  RETURN_IF_ERROR(CheckPositive("lambda", lambda, 1e12));
  if (options.subsets() < 1) {
    return absl::InvalidArgumentError("subsets is 0, must be at least 1");
  }
  ASSIGN_OR_RETURN(const std::vector<LabelledItems> kept,
                   QueriesWithLevels(queries, objective, options));
  const CrfBatchObjective batch(kept, objective, lambda, options);
  ASSIGN_OR_RETURN(
      const LbfgsResult descent,
      MinimizeByLbfgs(batch, Eigen::VectorXd::Zero(batch.dimension()),
                      options.lbfgs(), [&](uint32_t) {
                        if (on_iteration) on_iteration();
                      }));
  CrfResult result;
  result.weights.assign(descent.point.begin(), descent.point.end());
  result.objective = descent.value;
  result.passes = descent.evaluations;
  result.num_skipped = queries.size() - kept.size();
  result.termination = std::string(LbfgsTerminationName(descent.termination));
  return result;
}

}  // namespace sortition
