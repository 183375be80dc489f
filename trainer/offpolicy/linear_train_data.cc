#include "trainer/offpolicy/linear_train_data.h"

#include <limits>
#include <utility>

#include "core/base/status_macros.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/rankings/ranking_risk.h"
#include "core/policies/linear_policy.h"
#include "trainer/offpolicy/tuple_support.h"

namespace sortition {

namespace {

// Returns the kind of Boltzmann ranking that the newest version drew, if it
// did. It is learned as such.
std::optional<model::v1::BoltzmannRanking> BoltzmannOf(const TupleData& data) {
  if (!data.newest_policy.has_boltzmann_ranking()) return std::nullopt;
  return data.newest_policy.boltzmann_ranking();
}

// Returns the rank factors of the Plackett-Luce rankings that the newest
// version drew; none: all are 1, or it drew others.
std::vector<double> RankFactorsOf(const TupleData& data) {
  const auto& factors = data.newest_policy.plackett_luce().rank_factors();
  return {factors.begin(), factors.end()};
}

// Their rewards count for the policies that logged. A policy that cannot
// abstain has the weight 0, and so has the uniform one.
void AddAbstained(const std::vector<AbstainedTuple>& abstained,
                  WeightedTuples* weighted) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (const AbstainedTuple& tuple : abstained) {
    weighted->rewards.push_back(-tuple.loss);
    weighted->log_weights.push_back(kNever);
    if (!weighted->log_drawn_weights.empty()) {
      weighted->log_drawn_weights.push_back(kNever);
    }
    weighted->log_propensities.push_back(tuple.log_propensity);
    weighted->log_uniform.push_back(kNever);
    weighted->units.push_back(tuple.unit);
  }
}

}  // namespace

LinearFamily FamilyOf(const TupleData& data,
                      const config::v1::TrainOptions& options) {
  return {.action_kind = data.action_kind,
          .num_features = data.num_features,
          .can_abstain = data.can_abstain,
          .uniform_mixture = options.uniform_mixture(),
          .subset_size = data.subset_size,
          .boltzmann = BoltzmannOf(data),
          .rank_factors = RankFactorsOf(data)};
}

config::v1::PoemOptions::Objective ObjectiveOf(
    const TupleData& data, const config::v1::TrainOptions& options) {
  const config::v1::PoemOptions& poem = options.poem();
  const bool is_of_one_candidate = data.action_kind == ActionKind::kSelect ||
                                   (data.action_kind == ActionKind::kRank &&
                                    data.logged_ranks == data.orders);
  if (poem.has_objective() || !is_of_one_candidate ||
      !AreFewTuples(data.train.size()) || NeedsOf(poem).any() ||
      options.hidden_units() > 0 || BoltzmannOf(data).has_value() ||
      !RankFactorsOf(data).empty()) {
    return poem.objective();
  }
  return config::v1::PoemOptions::DOUBLY_ROBUST;
}

LinearTrainData::LinearTrainData(TupleData data, ModelFrame frame,
                                 const config::v1::TrainOptions& options)
    : data_(std::move(data)),
      frame_(std::move(frame)),
      family_(FamilyOf(data_, options)),
      objective_(ObjectiveOf(data_, options)),
      grid_data_(family_, data_.train, data_.validation, objective_) {}

absl::StatusOr<MakeGridRisk> LinearTrainData::PrepareRisk(
    const config::v1::PoemOptions& options) const {
  return PrepareRankingRisk({.log = {.family = family_,
                                     .tuples = data_.train,
                                     .ranks = data_.train_ranks,
                                     .weights = grid_data_.train_weights()},
                             .exposed = data_.train_exposed},
                            options);
}

absl::StatusOr<ValidationRisk> LinearTrainData::PrepareValidationRisk(
    const config::v1::PoemOptions& options) const {
  return PrepareRankingValidation({.family = family_,
                                   .tuples = data_.validation,
                                   .ranks = data_.validation_ranks,
                                   .weights = grid_data_.validation_weights()},
                                  options);
}

absl::StatusOr<WeightedParts> LinearTrainData::Weigh(
    const Eigen::VectorXd& parameters) const {
  WeightedParts parts;
  ASSIGN_OR_RETURN(parts.train, WeighLinear(family_, parameters, data_.train));
  ASSIGN_OR_RETURN(parts.validation,
                   WeighLinear(family_, parameters, data_.validation));
  ASSIGN_OR_RETURN(parts.test, WeighLinear(family_, parameters, data_.test));
  parts.train.impossible = data_.left_out(LeftOutReason::kAbstained);
  AddAbstained(data_.abstained_validation, &parts.validation);
  AddAbstained(data_.abstained_test, &parts.test);
  parts.ball = LinearBall(family_, parameters, data_.train);
  return parts;
}

std::vector<MissingMass> LinearTrainData::MissingMassOfTest(
    const Eigen::VectorXd& parameters,
    const std::optional<model::v1::Model>& logging,
    const TrainData& logged) const {
  // Without candidates, probabilities of other actions are not known.
  if (!data_.abstained_test.empty()) return {};
  const absl::StatusOr<LinearPolicy> target = LinearPolicy::Create(
      PolicyAt(family_, parameters), WeightsAt(family_, parameters));
  absl::StatusOr<LinearPolicy> of_log =
      LinearPolicy::Uniform(family_.action_kind, family_.can_abstain);
  if (logging.has_value()) {
    of_log = LinearPolicy::Create(
        logging->policy(),
        {logging->weights().begin(), logging->weights().end()});
  }
  if (!target.ok() || !of_log.ok()) return {};
  return MissingMassOfTuples({*target, data_.test},
                             {*of_log, logged.test_tuples()});
}

std::vector<double> LinearTrainData::UnreachableRewards() const {
  std::vector<double> rewards;
  for (const AbstainedTuple& tuple : data_.abstained_validation) {
    rewards.push_back(-tuple.loss);
  }
  return rewards;
}

std::vector<double> LinearTrainData::ShownLosses() const {
  std::vector<double> losses;
  for (const BanditTuple& tuple : data_.train) {
    if (tuple.action_shown) losses.push_back(tuple.loss);
  }
  return losses;
}

std::optional<Eigen::VectorXd> LinearTrainData::ParametersOf(
    const model::v1::Model& model) const {
  model::v1::Model own;
  PutIntoFrame(frame_, family_.num_features, &own);
  if (!IsSameFrame(own, model)) return std::nullopt;
  return sortition::ParametersOf(family_, model);
}

void LinearTrainData::SetPolicy(const Eigen::VectorXd& parameters,
                                model::v1::Model* model) const {
  *model->mutable_policy() = PolicyAt(family_, parameters);
  PutIntoFrame(frame_, family_.num_features, model);
  model->clear_weights();
  for (const double weight : WeightsAt(family_, parameters)) {
    model->add_weights(weight);
  }
}

}  // namespace sortition
