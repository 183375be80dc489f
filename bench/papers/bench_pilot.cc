// The application of the POEM paper, simulated: best answer or none.
//
// [SwaminathanJoachims15, sec. 7]: the best answer of 20 to 50 candidates, or
// none. A classifier fitted to a few labelled queries answers at random, at the
// temperature where it abstains as often as its threshold rule; users say
// thumbs-up or thumbs-down. IPS(S) and POEM(S) learn from 4,000 answers, from
// w = 0 as in the paper and from the logging policy, and are judged by eq. 1 on
// 500 others. Unlike in the paper, their true reward is known as well.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/moments.h"
#include "core/data/labelled_queries.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/counterfactual/calibration.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/policies/action_distribution.h"
#include "core/policies/distribution_factory.h"
#include "core/simulation/world.h"

ABSL_FLAG(int, runs, 10, "worlds, each with its own logging policy and log");
ABSL_FLAG(int, labelled, 8,
          "labelled queries that the logging policy is fitted to");
ABSL_FLAG(int, features, 20,
          "features of a candidate, two fifths of them noise");
ABSL_FLAG(
    double, inverse_temperature, 0,
    "alpha of the logging policy; 0: the one at which it abstains as often "
    "as its threshold rule");
ABSL_FLAG(int, train, 4000, "tuples to learn from");
ABSL_FLAG(int, held_out, 500, "tuples to validate on, and as many to test on");
ABSL_FLAG(double, noise, 0.05, "chance that a verdict is flipped");

namespace sortition {
namespace {

using config::v1::PoemOptions;

constexpr int kTrueQueries = 5000;  // For the true reward.

struct PilotMethod {
  const char* name;
  PoemOptions::Objective objective;
  bool from_logging;  // Descent starts at the logging policy, not at w = 0.
};
constexpr PilotMethod kMethods[] = {
    {"IPS(S)", PoemOptions::CLIPPED_IPS, false},
    {"POEM(S)", PoemOptions::CRM, false},
    {"IPS(S), from logging", PoemOptions::CLIPPED_IPS, true},
    {"POEM(S), from logging", PoemOptions::CRM, true},
};
constexpr size_t kNumMethods = std::size(kMethods);

// The linear selections that may abstain.
LinearFamily Family() {
  return {.action_kind = ActionKind::kSelect,
          .num_features = static_cast<uint32_t>(absl::GetFlag(FLAGS_features)),
          .can_abstain = true};
}

// 1 for a good answer, and for none if there is no good one; otherwise 0.
double RewardOf(const LabelledQuery& query, int32_t row) {
  const auto good = [](uint32_t relevance) { return relevance > 0; };
  if (row == kAbstain) {
    return std::none_of(query.relevances.begin(), query.relevances.end(), good);
  }
  return good(query.relevances[static_cast<size_t>(row)]);
}

// The scores of a query, as the distributions take them.
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

Scored ScoreQuery(const LabelledQuery& query,
                  const Eigen::VectorXd& parameters) {
  Scored scored;
  const Candidates rows =
      Candidates::DenseUnchecked(query.features, Family().num_features);
  for (uint32_t row = 0; row < rows.num_candidates(); ++row) {
    scored.scores.push_back(rows.Score(
        row,
        std::span<const double>(parameters.data(), Family().num_features)));
  }
  scored.abstain_score = parameters[parameters.size() - 1];
  return scored;
}

struct Rewards {
  double sampled = 0;
  double map = 0;
};

// Mean rewards over `queries`, exact over the policy's randomness.
Rewards TrueRewards(const std::vector<LabelledQuery>& queries,
                    const Eigen::VectorXd& parameters,
                    const ActionDistribution& distribution) {
  Rewards rewards;
  std::vector<double> probabilities;
  for (const LabelledQuery& query : queries) {
    const Scored scored = ScoreQuery(query, parameters);
    probabilities.resize(scored.scores.size());
    const double abstains =
        distribution.FirstProbabilities(scored.view(), probabilities);
    rewards.sampled += abstains * RewardOf(query, kAbstain);
    for (size_t row = 0; row < probabilities.size(); ++row) {
      rewards.sampled +=
          probabilities[row] * RewardOf(query, static_cast<int32_t>(row));
    }
    rewards.map += RewardOf(query, distribution.Mode(scored.view())[0]);
  }
  const double n = static_cast<double>(queries.size());
  return {rewards.sampled / n, rewards.map / n};
}

absl::StatusOr<Eigen::VectorXd> FitClassifier(
    const std::vector<LabelledQuery>& queries) {
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
                                .num_features = Family().num_features},
                               config::v1::LogisticOptions()));
  Eigen::VectorXd parameters(Family().dimension());
  std::copy(fit.weights.begin(), fit.weights.end(), parameters.data());
  parameters[parameters.size() - 1] = -fit.intercept;
  return parameters;
}

BanditTuple TupleOf(const LabelledQuery& query) {
  BanditTuple tuple;
  tuple.values = query.features;
  tuple.num_features = Family().num_features;
  tuple.action = {kAbstain};
  return tuple;
}

// `parameters` times α: the flag's, or the one at which the random policy
// abstains as often as the threshold rule.
absl::StatusOr<Eigen::VectorXd> Calibrated(
    const std::vector<LabelledQuery>& queries,
    const Eigen::VectorXd& parameters) {
  const double given = absl::GetFlag(FLAGS_inverse_temperature);
  if (given > 0) return given * parameters;
  std::vector<BanditTuple> tuples;
  for (const LabelledQuery& query : queries) tuples.push_back(TupleOf(query));
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(Family(), parameters);
  model.set_num_features(Family().num_features);
  for (const double weight : WeightsAt(Family(), parameters)) {
    model.add_weights(weight);
  }
  ASSIGN_OR_RETURN(const ScoredQueries scored,
                   ScoredQueries::Create(model, {tuples}));
  ASSIGN_OR_RETURN(
      const Calibration calibration,
      CalibrateInverseTemperature(scored, model.policy(), CalibrationRange()));
  return calibration.inverse_temperature * parameters;
}

std::vector<BanditTuple> DrawLog(const std::vector<LabelledQuery>& queries,
                                 const Eigen::VectorXd& parameters,
                                 const ActionDistribution& distribution,
                                 int run) {
  std::vector<BanditTuple> tuples;
  RandomSequence verdicts(
      StableHash(HashDomain::kSimulation, {"verdicts", absl::StrCat(run)}));
  Draw draw;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Scored scored = ScoreQuery(queries[i], parameters);
    distribution.Sample(
        scored.view(),
        CounterRandom(StableHash(HashDomain::kAction,
                                 {"pilot", absl::StrCat(run), queries[i].id})),
        &draw);
    BanditTuple tuple = TupleOf(queries[i]);
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    const bool is_flipped = verdicts.Uniform() < absl::GetFlag(FLAGS_noise);
    const bool is_good = RewardOf(queries[i], draw.action[0]) == 1;
    tuple.loss = is_good != is_flipped ? -1 : 0;
    tuples.push_back(std::move(tuple));
  }
  return tuples;
}

// The terms of eq. 1.
absl::StatusOr<Moments> WeightedLosses(std::span<const BanditTuple> tuples,
                                       const Eigen::VectorXd& parameters) {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(Family(), tuples));
  Moments moments;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    moments.Add(policy.loss(i) * std::exp(policy.LogWeight(parameters, i)));
  }
  return moments;
}

struct Outcome {
  double estimate = 0;  // Of the reward, by eq. 1 on the test tuples.
  Rewards rewards;
};

struct Run {
  Outcome logging;
  std::array<Outcome, kNumMethods> methods;
};

// Trains the λs of the grid; returns the parameters that eq. 1 prefers on
// `validation`.
absl::StatusOr<Eigen::VectorXd> Learn(const PilotMethod& method,
                                      const Eigen::VectorXd& logging,
                                      std::span<const BanditTuple> train,
                                      std::span<const BanditTuple> validation) {
  PoemOptions options;
  options.set_objective(method.objective);
  if (method.objective == PoemOptions::CRM) {
    for (const double c : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
      options.add_lambda_factor(c);
    }
  }
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(Family(), train));
  ASSIGN_OR_RETURN(const auto lambdas, ListLambdas(options, policy));
  double best = std::numeric_limits<double>::infinity();
  Eigen::VectorXd chosen;
  for (const LambdaChoice& lambda : lambdas) {
    CounterfactualRun run = {.options = options,
                             .clip = ClipOf(options, policy),
                             .lambda = lambda.lambda};
    if (method.from_logging) run.start = logging;
    ASSIGN_OR_RETURN(const CounterfactualResult result,
                     TrainCounterfactual(&policy, nullptr, run));
    ASSIGN_OR_RETURN(const Moments losses,
                     WeightedLosses(validation, result.parameters));
    if (losses.mean() < best) {
      best = losses.mean();
      chosen = result.parameters;
    }
  }
  return chosen;
}

// The queries of one world, by their use.
struct PilotQueries {
  std::vector<LabelledQuery> labelled;  // h0 is fitted to them.
  std::vector<LabelledQuery> logged;    // To learn, validate and test.
  std::vector<LabelledQuery> fresh;     // For the true reward.
};

absl::StatusOr<PilotQueries> MakeQueries(int r) {
  const size_t num_labelled = absl::GetFlag(FLAGS_labelled);
  const size_t num_logged =
      absl::GetFlag(FLAGS_train) + 2 * absl::GetFlag(FLAGS_held_out);
  config::v1::WorldOptions world;
  world.set_seed(static_cast<uint64_t>(r) + 1);
  world.set_features(Family().num_features);
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

absl::StatusOr<Run> RunPilot(int r) {
  const size_t num_train = absl::GetFlag(FLAGS_train);
  const size_t held_out = absl::GetFlag(FLAGS_held_out);
  ASSIGN_OR_RETURN(const PilotQueries queries, MakeQueries(r));
  ASSIGN_OR_RETURN(Eigen::VectorXd h0, FitClassifier(queries.labelled));
  ASSIGN_OR_RETURN(h0, Calibrated(queries.logged, h0));
  ASSIGN_OR_RETURN(const auto distribution,
                   MakeActionDistribution(PolicyAt(Family(), h0)));
  const std::vector<BanditTuple> tuples =
      DrawLog(queries.logged, h0, *distribution, r);
  const std::span<const BanditTuple> train = std::span(tuples).first(num_train);
  const std::span<const BanditTuple> validation =
      std::span(tuples).subspan(num_train, held_out);
  const std::span<const BanditTuple> test =
      std::span(tuples).subspan(num_train + held_out);

  Run run;
  const auto judge = [&](const Eigen::VectorXd& parameters,
                         Outcome* outcome) -> absl::Status {
    ASSIGN_OR_RETURN(const Moments losses, WeightedLosses(test, parameters));
    outcome->estimate = -losses.mean();
    outcome->rewards = TrueRewards(queries.fresh, parameters, *distribution);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(judge(h0, &run.logging));
  for (size_t m = 0; m < kNumMethods; ++m) {
    ASSIGN_OR_RETURN(const Eigen::VectorXd parameters,
                     Learn(kMethods[m], h0, train, validation));
    RETURN_IF_ERROR(judge(parameters, &run.methods[m]));
  }
  return run;
}

void PrintRow(const std::string& name, const Outcome& outcome,
              const Outcome& logging) {
  const auto change = [](double value, double base) {
    return 100 * (value / base - 1);
  };
  absl::PrintF("%-22s %9.4f %+8.1f %% %11.4f %+8.1f %% %9.4f\n", name,
               outcome.estimate, change(outcome.estimate, logging.estimate),
               outcome.rewards.sampled,
               change(outcome.rewards.sampled, logging.rewards.sampled),
               outcome.rewards.map);
}

void Accumulate(const Outcome& outcome, double share, Outcome* sum) {
  sum->estimate += share * outcome.estimate;
  sum->rewards.sampled += share * outcome.rewards.sampled;
  sum->rewards.map += share * outcome.rewards.map;
}

// The paper's claim: POEM(S) improves on the logging policy's estimate by 30 %,
// where IPS(S) is worse than the logging policy by 3.5 %; both start at w = 0.
// The last two ask whether the true reward agrees, from either start.
std::vector<Target> MakeTargets(const Run& mean) {
  constexpr size_t kIps = 0, kPoem = 1, kPoemFromLogging = 3;
  const auto estimate = [&](size_t m) {
    return mean.methods[m].estimate / mean.logging.estimate;
  };
  const auto reward = [&](size_t m) {
    return mean.methods[m].rewards.sampled / mean.logging.rewards.sampled;
  };
  return {{"POEM(S), estimate / logging policy's", estimate(kPoem), 1.3, true},
          {"IPS(S), estimate / logging policy's", estimate(kIps), 1.3},
          {"POEM(S), true reward / logging policy's", reward(kPoem), 1.3, true},
          {"POEM(S) from logging, true reward / logging policy's",
           reward(kPoemFromLogging), 1, true}};
}

absl::StatusOr<std::vector<Target>> RunAll() {
  const int runs = absl::GetFlag(FLAGS_runs);
  Run mean;
  std::array<std::vector<double>, kNumMethods> rewards;
  for (int r = 0; r < runs; ++r) {
    ASSIGN_OR_RETURN(const Run run, RunPilot(r));
    Accumulate(run.logging, 1.0 / runs, &mean.logging);
    for (size_t m = 0; m < kNumMethods; ++m) {
      Accumulate(run.methods[m], 1.0 / runs, &mean.methods[m]);
      rewards[m].push_back(run.methods[m].rewards.sampled);
    }
    std::fprintf(stderr, ".");
  }
  std::fprintf(stderr, "\n");
  absl::PrintF("%d worlds; means\n%-22s %20s %22s %9s\n", runs, "",
               "estimate, eq. 1", "true reward", "MAP");
  PrintRow("logging", mean.logging, mean.logging);
  for (size_t m = 0; m < kNumMethods; ++m) {
    PrintRow(kMethods[m].name, mean.methods[m], mean.logging);
  }
  for (size_t m = 0; runs > 1 && m < kNumMethods; m += 2) {
    const PairedTest test = TestPairs(rewards[m + 1], rewards[m]);
    absl::PrintF("true reward, %s - %s: t %.2f, one-tailed p %.2g\n",
                 kMethods[m + 1].name, kMethods[m].name, test.t, test.p);
  }
  return MakeTargets(mean);
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "The application of the POEM paper, simulated: best answer or none.",
      sortition::RunAll);
}
