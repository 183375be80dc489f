// The application of the POEM paper, simulated: best answer or none.
//
// [SwaminathanJoachims15, sec. 7]: the best answer of 20 to 50 candidates, or
// none. A classifier fitted to a few labelled queries answers at random, at the
// temperature where it abstains as often as its threshold rule; users say
// thumbs-up or thumbs-down. IPS(S) and POEM(S) learn from 4,000 answers, from
// w = 0 as in the paper and from the logging policy, and are judged by eq. 1 on
// 500 others. Unlike in the paper, their true reward is known as well.
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "bench/papers/poem/pilot_problem.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/moments.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/poem_options.h"

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

// Computes the terms of eq. 1.
absl::StatusOr<Moments> WeightedLosses(const LinearFamily& family,
                                       std::span<const BanditTuple> tuples,
                                       const Eigen::VectorXd& parameters) {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(family, tuples));
  Moments moments;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    moments.Add(policy.loss(i) * std::exp(policy.LogWeight(parameters, i)));
  }
  return moments;
}

struct Outcome {
  double estimate = 0;  // Estimate of the reward by eq. 1 on the test tuples.
  Rewards rewards;
};

struct Run {
  Outcome logging;
  std::array<Outcome, kNumMethods> methods;
};

// Trains the λs of the grid; returns the parameters that eq. 1 prefers on
// the validation tuples.
absl::StatusOr<Eigen::VectorXd> Learn(const PilotMethod& method,
                                      const PilotProblem& problem) {
  PoemOptions options;
  options.set_objective(method.objective);
  if (method.objective == PoemOptions::CRM) {
    for (const double c : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
      options.add_lambda_factor(c);
    }
  }
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(problem.family, problem.train));
  ASSIGN_OR_RETURN(const auto lambdas, ListLambdas(options, policy));
  double best = std::numeric_limits<double>::infinity();
  Eigen::VectorXd chosen;
  for (const LambdaChoice& lambda : lambdas) {
    CounterfactualRun run = {.options = options,
                             .clip = ClipOf(options, policy),
                             .lambda = lambda.lambda};
    if (method.from_logging) run.start = problem.logging;
    ASSIGN_OR_RETURN(const CounterfactualResult result,
                     TrainCounterfactual(&policy, nullptr, run));
    ASSIGN_OR_RETURN(
        const Moments losses,
        WeightedLosses(problem.family, problem.validation, result.parameters));
    if (losses.mean() < best) {
      best = losses.mean();
      chosen = result.parameters;
    }
  }
  return chosen;
}

absl::StatusOr<Run> RunPilot(int r) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PilotProblem> problem,
      MakePilotProblem(
          {.labelled = absl::GetFlag(FLAGS_labelled),
           .features = absl::GetFlag(FLAGS_features),
           .inverse_temperature = absl::GetFlag(FLAGS_inverse_temperature),
           .train = absl::GetFlag(FLAGS_train),
           .held_out = absl::GetFlag(FLAGS_held_out),
           .noise = absl::GetFlag(FLAGS_noise)},
          r));
  Run run;
  const auto judge = [&](const Eigen::VectorXd& parameters,
                         Outcome* outcome) -> absl::Status {
    ASSIGN_OR_RETURN(
        const Moments losses,
        WeightedLosses(problem->family, problem->test, parameters));
    outcome->estimate = -losses.mean();
    outcome->rewards = problem->TrueRewards(parameters);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(judge(problem->logging, &run.logging));
  for (size_t m = 0; m < kNumMethods; ++m) {
    ASSIGN_OR_RETURN(const Eigen::VectorXd parameters,
                     Learn(kMethods[m], *problem));
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

// The paper's claim: POEM(S) improves the logging policy's estimate by 30 %,
// while IPS(S) is worse than the logging policy by 3.5 %; both start at w = 0.
// The last two targets ask whether the true reward agrees, from either start.
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
