#include "bench/papers/poem/pilot_problem.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/counterfactual/calibration.h"
#include "core/policies/distribution_factory.h"
#include "core/simulation/world.h"

namespace sortition {
namespace {

constexpr int kTrueQueries = 5000;  // Queries that give the true reward.

// Returns 1 for a good answer, and for no answer if there is no good one;
// otherwise 0.
double RewardOf(const LabelledQuery& query, int32_t row) {
  const auto good = [](uint32_t relevance) { return relevance > 0; };
  if (row == kAbstain) {
    return std::none_of(query.relevances.begin(), query.relevances.end(), good);
  }
  return good(query.relevances[static_cast<size_t>(row)]);
}

// The scores of a query, in the form that the distributions take.
struct Scored {
  std::vector<double> scores;
  double abstain_score = 0;
  ScoredCandidates view() const {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.abstain_score = abstain_score;
    return candidates;
  }
};

Scored ScoreQuery(const LinearFamily& family, const LabelledQuery& query,
                  const Eigen::VectorXd& parameters) {
  Scored scored;
  const Candidates rows =
      Candidates::DenseUnchecked(query.features, family.num_features);
  for (uint32_t row = 0; row < rows.num_candidates(); ++row) {
    scored.scores.push_back(rows.Score(
        row, std::span<const double>(parameters.data(), family.num_features)));
  }
  scored.abstain_score = parameters[parameters.size() - 1];
  return scored;
}

// Fits a logistic classifier and returns its parameters; it abstains at its
// threshold.
absl::StatusOr<Eigen::VectorXd> FitClassifier(
    const LinearFamily& family, const std::vector<LabelledQuery>& queries) {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (const LabelledQuery& query : queries) {
    features.insert(features.end(), query.features.begin(),
                    query.features.end());
    for (const uint32_t relevance : query.relevances) {
      labels.push_back(relevance > 0 ? 1 : 0);
    }
  }
  ASSIGN_OR_RETURN(const LogisticResult fit,
                   FitLogistic({.features = features,
                                .labels = labels,
                                .num_features = family.num_features},
                               config::v1::LogisticOptions()));
  Eigen::VectorXd parameters(family.dimension());
  std::copy(fit.weights.begin(), fit.weights.end(), parameters.data());
  parameters[parameters.size() - 1] = -fit.intercept;
  return parameters;
}

BanditTuple TupleOf(const LinearFamily& family, const LabelledQuery& query) {
  BanditTuple tuple;
  tuple.values = query.features;
  tuple.num_features = family.num_features;
  tuple.action = {kAbstain};
  return tuple;
}

// Returns `parameters` times α: the α of the options, or the one at which the
// random policy abstains as often as the threshold rule.
absl::StatusOr<Eigen::VectorXd> Calibrated(
    const PilotOptions& options, const LinearFamily& family,
    const std::vector<LabelledQuery>& queries,
    const Eigen::VectorXd& parameters) {
  if (options.inverse_temperature > 0) {
    return options.inverse_temperature * parameters;
  }
  std::vector<BanditTuple> tuples;
  for (const LabelledQuery& query : queries)
    tuples.push_back(TupleOf(family, query));
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(family, parameters);
  model.set_num_features(family.num_features);
  for (const double weight : WeightsAt(family, parameters)) {
    model.add_weights(weight);
  }
  ASSIGN_OR_RETURN(const ScoredQueries scored,
                   ScoredQueries::Create(model, {tuples}));
  ASSIGN_OR_RETURN(
      const Calibration calibration,
      CalibrateInverseTemperature(scored, model.policy(), CalibrationRange()));
  return calibration.inverse_temperature * parameters;
}

// Draws answers of the logging policy, with the users' verdicts.
std::vector<BanditTuple> DrawLog(const PilotOptions& options,
                                 const PilotProblem& problem,
                                 const std::vector<LabelledQuery>& queries,
                                 int run) {
  const LinearFamily& family = problem.family;
  std::vector<BanditTuple> tuples;
  RandomSequence verdicts(
      StableHash(HashDomain::kSimulation, {"verdicts", absl::StrCat(run)}));
  Draw draw;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Scored scored = ScoreQuery(family, queries[i], problem.logging);
    problem.distribution->Sample(
        scored.view(),
        CounterRandom(StableHash(HashDomain::kAction,
                                 {"pilot", absl::StrCat(run), queries[i].id})),
        &draw);
    BanditTuple tuple = TupleOf(family, queries[i]);
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    const bool is_flipped = verdicts.Uniform() < options.noise;
    const bool is_good = RewardOf(queries[i], draw.action[0]) == 1;
    tuple.loss = is_good != is_flipped ? -1 : 0;
    tuples.push_back(std::move(tuple));
  }
  return tuples;
}

// The queries of one world, by their use.
struct PilotQueries {
  std::vector<LabelledQuery> labelled;  // h0 is fitted to them.
  std::vector<LabelledQuery> logged;    // To learn, validate and test.
  std::vector<LabelledQuery> fresh;     // For the true reward.
};

absl::StatusOr<PilotQueries> MakeQueries(const PilotOptions& options, int run) {
  const size_t num_labelled = options.labelled;
  const size_t num_logged = options.train + 2 * options.held_out;
  config::v1::WorldOptions world;
  world.set_seed(static_cast<uint64_t>(run) + 1);
  world.set_features(static_cast<uint32_t>(options.features));
  world.set_min_candidates(20);
  world.set_max_candidates(50);
  world.set_queries(
      static_cast<uint32_t>(num_labelled + num_logged + kTrueQueries));
  ASSIGN_OR_RETURN(LabelledQueries all, MakeWorld(world));
  auto next = all.queries.begin();
  const auto take = [&](size_t count) {
    const auto begin = next;
    next += static_cast<ptrdiff_t>(count);
    return std::vector<LabelledQuery>(begin, next);
  };
  PilotQueries queries;
  queries.labelled = take(num_labelled);
  queries.logged = take(num_logged);
  queries.fresh = take(kTrueQueries);
  return queries;
}

}  // namespace

Rewards PilotProblem::TrueRewards(const Eigen::VectorXd& parameters) const {
  Rewards rewards;
  std::vector<double> probabilities;
  for (const LabelledQuery& query : fresh) {
    const Scored scored = ScoreQuery(family, query, parameters);
    probabilities.resize(scored.scores.size());
    const double abstains =
        distribution->FirstProbabilities(scored.view(), probabilities);
    rewards.sampled += abstains * RewardOf(query, kAbstain);
    for (size_t row = 0; row < probabilities.size(); ++row) {
      rewards.sampled +=
          probabilities[row] * RewardOf(query, static_cast<int32_t>(row));
    }
    rewards.map += RewardOf(query, distribution->Mode(scored.view())[0]);
  }
  const double n = static_cast<double>(fresh.size());
  return {rewards.sampled / n, rewards.map / n};
}

absl::StatusOr<std::unique_ptr<PilotProblem>> MakePilotProblem(
    const PilotOptions& options, int run) {
  ASSIGN_OR_RETURN(PilotQueries queries, MakeQueries(options, run));
  auto problem = std::make_unique<PilotProblem>();
  problem->family = {.action_kind = ActionKind::kSelect,
                     .num_features = static_cast<uint32_t>(options.features),
                     .can_abstain = true};
  ASSIGN_OR_RETURN(const Eigen::VectorXd classifier,
                   FitClassifier(problem->family, queries.labelled));
  ASSIGN_OR_RETURN(problem->logging, Calibrated(options, problem->family,
                                                queries.logged, classifier));
  ASSIGN_OR_RETURN(
      problem->distribution,
      MakeActionDistribution(PolicyAt(problem->family, problem->logging)));
  problem->tuples = DrawLog(options, *problem, queries.logged, run);
  problem->fresh = std::move(queries.fresh);
  const std::span<const BanditTuple> tuples(problem->tuples);
  const size_t num_train = options.train;
  const size_t held_out = options.held_out;
  problem->train = tuples.first(num_train);
  problem->validation = tuples.subspan(num_train, held_out);
  problem->test = tuples.subspan(num_train + held_out);
  return problem;
}

}  // namespace sortition
