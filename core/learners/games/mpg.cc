#include "core/learners/games/mpg.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/games/game_learner.h"
#include "core/learners/labelled/feature_scale.h"
#include "core/learners/labelled/rank_policy.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using model::v1::GameRanking;
using model::v1::GameSubset;

std::string MeasureName(const GameOptions& options) {
  return GameOptions::Measure_Name(options.measure());
}

// Returns whether the adversary may call any number of candidates relevant.
// Potentials of 0 are then the threshold between relevant and not.
bool HasFreeAdversary(const GameOptions& options) {
  return options.measure() == GameOptions::F_BETA ||
         options.adversary() == GameOptions::FREE;
}

class MpgLearner : public LabelledLearner {
 public:
  explicit MpgLearner(GameTask task)
      : options_(std::move(task.options)), gains_(std::move(task.gains)) {}

  const google::protobuf::Message& options() const override { return options_; }
  LabelMeasure measure() const override;
  std::string validation_name() const override {
    return measure().Name() + " in expectation of the strategy learned";
  }
  bool has_temperature() const override { return false; }
  // The constant feature is useless if features are centred: it becomes 0.
  bool needs_constant() const override {
    return HasFreeAdversary(options_) && !options_.centre_features();
  }
  ActionKind default_action() const override {
    return options_.measure() == GameOptions::F_BETA ? ActionKind::kSubset
                                                     : ActionKind::kRank;
  }
  double gap_tolerance() const override { return options_.gap_tolerance(); }
  uint32_t most_steps() const override {
    return 2 * options_.lbfgs().max_iterations() + options_.max_cuts();
  }
  size_t num_points() const override { return GamePathSize(options_); }
  absl::StatusOr<LabelledResult> Train(const LabelledTask& task) const override;
  absl::StatusOr<model::v1::Policy> MakePolicy(
      const LabelledPolicyTask& task) const override;

 private:
  absl::Status CheckRelevantAndNot(
      std::span<const LabelledItems> queries) const;
  absl::Status CheckAction(const LabelledPolicyTask& task) const;

  const GameOptions options_;
  const std::vector<double> gains_;  // [relevance]
};

// Checks the options alone: calls MakeGameTask() with a query made up for this.
absl::StatusOr<GameTask> CheckOptions(const GameOptions& options) {
  const std::vector<float> feature = {0};
  const std::vector<uint32_t> relevance = {0};
  const LabelledItems query = {Candidates::DenseUnchecked(feature, 1),
                               relevance};
  absl::StatusOr<GameTask> task = MakeGameTask({&query, 1}, options);
  if (task.ok()) return task;
  return absl::InvalidArgumentError(
      absl::StrCat("game.", task.status().message()));
}

LabelMeasure MpgLearner::measure() const {
  LabelMeasure measure;
  measure.k = options_.k();
  measure.beta = options_.beta();
  measure.kind = options_.measure() == GameOptions::PRECISION
                     ? LabelMeasure::Kind::kPrecision
                 : options_.measure() == GameOptions::F_BETA
                     ? LabelMeasure::Kind::kFBeta
                     : LabelMeasure::Kind::kDcg;
  measure.gains = gains_;
  return measure;
}

// Checks that there are different labels: equal ones say nothing about the
// features.
absl::Status MpgLearner::CheckRelevantAndNot(
    std::span<const LabelledItems> queries) const {
  bool some = false;
  bool others = false;
  for (const LabelledItems& query : queries) {
    for (const uint32_t relevance : query.relevances) {
      if (relevance >= gains_.size())
        return absl::OkStatus();  // It is refused later.
      (gains_[relevance] > 0 ? some : others) = true;
    }
  }
  if (some && others) return absl::OkStatus();
  const uint32_t from = options_.measure() == GameOptions::GRADED_DCG
                            ? 1
                            : options_.relevant_from();
  return absl::FailedPreconditionError(
      absl::StrCat(some ? "every" : "no", " candidate of the ", queries.size(),
                   " training queries is relevant (relevance of at least ",
                   from, "): nothing tells relevant from not"));
}

absl::StatusOr<LabelledResult> MpgLearner::Train(
    const LabelledTask& task) const {
  RETURN_IF_ERROR(CheckTrusted(*this, task));
  RETURN_IF_ERROR(CheckRelevantAndNot(task.training));
  RETURN_IF_ERROR(CheckParts(task));
  const ScaledTask scaled(task);
  ASSIGN_OR_RETURN(
      const GamePath path,
      TrainGamePath(scaled.task().training, scaled.task().validation, options_,
                    task.parallel_for, [&task](const GameProgress& progress) {
                      if (task.on_step) task.on_step(progress.point);
                      return false;
                    }));
  LabelledResult result;
  for (const GamePathPoint& point : path.points) {
    result.points.push_back({.lambda = point.lambda,
                             .objective = point.result.objective,
                             .dual_bound = point.result.dual_bound,
                             .passes = point.result.evaluations,
                             .validation = point.validation,
                             .termination = point.result.termination});
  }
  result.chosen = path.chosen;
  const Eigen::VectorXd& theta = path.points[path.chosen].result.theta;
  result.weights.assign(theta.begin(), theta.end());
  scaled.scale().ToOriginalUnits(1, result.weights);
  return result;
}

absl::Status MpgLearner::CheckAction(const LabelledPolicyTask& task) const {
  const bool label = task.action_kind == ActionKind::kSubset;
  const bool can_label = options_.measure() == GameOptions::F_BETA ||
                         options_.measure() == GameOptions::PRECISION;
  const bool can_rank = options_.measure() != GameOptions::F_BETA;
  if (task.action_kind == ActionKind::kSelect ||
      !(label ? can_label : can_rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("action is ",
                     label                                     ? "label"
                     : task.action_kind == ActionKind::kSelect ? "select"
                                                               : "rank",
                     ", must be ",
                     can_label && can_rank ? "rank or label"
                     : can_label           ? "label"
                                           : "rank",
                     " for ", MeasureName(options_)));
  }
  if (label && (task.game.plackett_luce_mixture() != 0 ||
                task.game.has_plackett_luce_scale())) {
    return absl::InvalidArgumentError(
        "game_policy.plackett_luce_mixture and its scale are for action rank, "
        "must be unset for label");
  }
  return absl::OkStatus();
}

absl::StatusOr<model::v1::Policy> MpgLearner::MakePolicy(
    const LabelledPolicyTask& task) const {
  RETURN_IF_ERROR(CheckAction(task));
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(task.uniform_mixture);
  const bool precision = options_.measure() == GameOptions::PRECISION;
  if (task.action_kind == ActionKind::kRank) {
    GameRanking* game = policy.mutable_game_ranking();
    game->set_discount(precision ? GameRanking::PRECISION : GameRanking::DCG);
    game->set_cutoff(options_.k());
    game->set_block_mixing(task.game.block_mixing());
    game->set_plackett_luce_mixture(task.game.plackett_luce_mixture());
    if (task.game.plackett_luce_mixture() > 0) {
      game->set_plackett_luce_scale(task.game.plackett_luce_scale());
    }
    RETURN_IF_ERROR(ValidatePolicy(policy));
    return policy;
  }
  RETURN_IF_ERROR(CheckLearnedThreshold(task.threshold));
  GameSubset* game = policy.mutable_game_subset();
  game->set_measure(precision ? GameSubset::PRECISION : GameSubset::F_BETA);
  if (precision) {
    game->set_k(options_.k());
  } else {
    game->set_beta(options_.beta());
  }
  game->set_threshold(task.threshold);
  game->set_block_mixing(task.game.block_mixing());
  RETURN_IF_ERROR(ValidatePolicy(policy));
  return policy;
}

// Refuses games that no policy can play.
absl::Status CheckServed(const GameOptions& game) {
  if (game.measure() == GameOptions::NDCG ||
      game.measure() == GameOptions::MEAN_NDCG) {
    return absl::InvalidArgumentError(absl::StrCat(
        "game.measure is ", MeasureName(game),
        ", must be DCG, GRADED_DCG, PRECISION or F_BETA: a policy that serves "
        "does not know a query's best order"));
  }
  if (game.discounts() != GameOptions::STANDARD) {
    return absl::InvalidArgumentError(
        "game.discounts is LETOR, must be STANDARD: policies have no others");
  }
  if (game.measure() == GameOptions::GRADED_DCG &&
      game.potentials() == GameOptions::PER_LEVEL) {
    return absl::InvalidArgumentError(
        "game.potentials is PER_LEVEL, must be BY_GAIN: policies that are "
        "served have one weight per feature");
  }
  if (game.measure() == GameOptions::F_BETA && game.centre_features()) {
    return absl::InvalidArgumentError(
        "game.centre_features is true, must be false for F_BETA: what is "
        "relevant is judged against a threshold, which centring moves from "
        "query to query");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMpgLearner(
    const GameOptions& options, const LabelledShape& shape) {
  GameOptions game = options;
  if (!game.has_max_relevance()) {
    game.set_max_relevance(std::max(1u, shape.max_relevance));
  } else if (game.max_relevance() < shape.max_relevance) {
    return absl::InvalidArgumentError(absl::StrCat(
        "game.max_relevance is ", game.max_relevance(), ", must be at least ",
        shape.max_relevance, ", the largest in the data"));
  }
  RETURN_IF_ERROR(CheckServed(game));
  ASSIGN_OR_RETURN(GameTask task, CheckOptions(game));
  return std::make_unique<MpgLearner>(std::move(task));
}

}  // namespace sortition
