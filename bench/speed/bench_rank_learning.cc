// Speed of rank marginals, and of what learns from rankings, beside the terms
// of whole orders by LinearTuplePolicy.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "bench/support/micro_benchmarks.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "core/policies/marginals/plackett_luce_marginals.h"

namespace sortition {
namespace {

constexpr size_t kRanks = 10;
constexpr uint32_t kFeatures = 20;
constexpr size_t kTuples = 64;

std::vector<double> Logits(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> logits(n);
  for (double& logit : logits) logit = random.Normal();
  return logits;
}

// Marginals of range(0) candidates and the first 10 ranks, to 10^-range(1).
void Marginals(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  const std::vector<double> logits = Logits(n, 1);
  std::vector<double> result(kRanks * n);
  PlackettLuceMarginals marginals(
      std::pow(10.0, -static_cast<double>(state.range(1))));
  for (auto _ : state) {
    marginals.Compute(logits, kRanks, result);
    benchmark::DoNotOptimize(result.data());
  }
  state.counters["nodes"] = static_cast<double>(marginals.num_nodes());
}
BENCHMARK(Marginals)->ArgsProduct({{10, 100, 1000}, {12, 8, 5}});

void MarginalsGradient(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  const std::vector<double> logits = Logits(n, 1);
  const std::vector<double> coefficients = Logits(kRanks * n, 2);
  std::vector<double> gradient(n);
  PlackettLuceMarginals marginals(
      std::pow(10.0, -static_cast<double>(state.range(1))));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        marginals.Differentiate(logits, coefficients, gradient));
  }
}
BENCHMARK(MarginalsGradient)->ArgsProduct({{10, 100, 1000}, {12, 8, 5}});

// Rankings of n candidates drawn by a policy with weights 0, 10 ranks shown,
// one click at a random rank.
struct Sessions {
  explicit Sessions(size_t n) {
    family.action_kind = ActionKind::kRank;
    family.num_features = kFeatures;
    family.uniform_mixture = 0.05;
    RandomSequence random(SeedKey(3));
    const std::vector<double> zeros(n, 0);
    const RankingDistribution uniform(1, 0);
    ScoredCandidates candidates;
    candidates.scores = zeros;
    candidates.top_k = static_cast<uint32_t>(std::min(n, kRanks));
    Draw draw;
    for (size_t i = 0; i < kTuples; ++i) {
      BanditTuple tuple;
      tuple.num_features = kFeatures;
      for (size_t j = 0; j < n * kFeatures; ++j) {
        tuple.values.push_back(static_cast<float>(random.Normal()));
      }
      uniform.Sample(candidates, CounterRandom(SeedKey(i)), &draw);
      tuple.action = draw.action;
      tuple.log_propensity = draw.log_propensity;
      tuple.loss = -1;
      tuples.push_back(std::move(tuple));
      RankedTuple ranked;
      ranked.log_conditionals = draw.conditional_log_propensities;
      ranked.losses.assign(draw.action.size(), 0);
      ranked.losses[random.Below(draw.action.size())] = -1;
      ranked.log_marginals.assign(draw.action.size(),
                                  -std::log(static_cast<double>(n)));
      ranks.push_back(std::move(ranked));
      gains.push_back(Logits(n, 10 + i));
    }
    parameters = Eigen::VectorXd::Constant(kFeatures, 0.3);
  }

  RankedLog Log() const { return {family, tuples, ranks}; }
  ExposureProblem Problem() const {
    ExposureProblem problem;
    problem.family = family;
    problem.tuples = tuples;
    for (size_t k = 0; k < kRanks; ++k) {
      problem.discounts.push_back(1 / std::log2(2.0 + static_cast<double>(k)));
    }
    problem.tolerance = 1e-8;
    return problem;
  }

  LinearFamily family;
  std::vector<BanditTuple> tuples;
  std::vector<RankedTuple> ranks;
  std::vector<std::vector<double>> gains;
  Eigen::VectorXd parameters;
};

// Times values and gradients of all tuples; the counter is microseconds each.
void Time(TupleTerms* terms, const Eigen::VectorXd& parameters,
          benchmark::State* state) {
  std::vector<uint32_t> all(kTuples);
  std::iota(all.begin(), all.end(), 0u);
  std::vector<double> values(kTuples);
  const std::vector<double> factors(kTuples, 1);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(kFeatures);
  for (auto _ : *state) {
    terms->Values(parameters, all, values);
    terms->AddGradient(factors, &gradient);
    benchmark::DoNotOptimize(gradient.data());
  }
  state->counters["tuples_per_second"] = benchmark::Counter(
      kTuples, benchmark::Counter::kIsIterationInvariantRate);
}

void TuplePolicyWholeOrder(benchmark::State& state) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  LinearTuplePolicy policy =
      *LinearTuplePolicy::Create(sessions.family, sessions.tuples);
  WeightedTerms terms =
      *WeightedTerms::Create(&policy, ClippedTerm(HUGE_VAL), nullptr);
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK(TuplePolicyWholeOrder)->Arg(10)->Arg(100);

void Prefixes(benchmark::State& state, PrefixWeights kind) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  PrefixTerms terms =
      *PrefixTerms::Create(sessions.Log(), kind, {ClippedTerm(HUGE_VAL)});
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK_CAPTURE(Prefixes, whole, PrefixWeights::kWholeOrder)
    ->Arg(10)
    ->Arg(100);
BENCHMARK_CAPTURE(Prefixes, prefixes, PrefixWeights::kPrefixes)
    ->Arg(10)
    ->Arg(100);

void ItemPosition(benchmark::State& state) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  ItemPositionTerms terms =
      *ItemPositionTerms::Create(sessions.Log(), ClippedTerm(HUGE_VAL), 1e-8);
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK(ItemPosition)->Arg(10)->Arg(100);

class ConstantModel : public RankLossModel {
 public:
  void Losses(size_t, size_t, std::span<double> losses) const override {
    std::fill(losses.begin(), losses.end(), -0.1);
  }
};

void Cascade(benchmark::State& state) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  const ConstantModel model;
  CascadeTerms terms =
      *CascadeTerms::Create(sessions.Log(), {HUGE_VAL}, &model);
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK(Cascade)->Arg(10)->Arg(100);

void Exposure(benchmark::State& state) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  ExposureTerms terms =
      *ExposureTerms::Create(sessions.Problem(), sessions.gains);
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK(Exposure)->Arg(10)->Arg(100)->Arg(1000);

// PL-Rank-3 with range(1) orders.
void SampledExposure(benchmark::State& state) {
  const Sessions sessions(static_cast<size_t>(state.range(0)));
  SampledExposureTerms terms =
      *SampledExposureTerms::Create(sessions.Problem(), sessions.gains,
                                    static_cast<uint32_t>(state.range(1)), 1);
  Time(&terms, sessions.parameters, &state);
}
BENCHMARK(SampledExposure)->ArgsProduct({{10, 100, 1000}, {1, 10}});

std::vector<Target> MakeTargets(const MicroBenchmarkResults& results) {
  const double whole = results.Microseconds("TuplePolicyWholeOrder/10");
  return {
      {"marginals, n = 10 to 1e-8, us", results.Microseconds("Marginals/10/8"),
       60},
      {"marginals, n = 1000 to 1e-12, ms",
       results.Microseconds("Marginals/1000/12") / 1000, 10},
      {"gradient of marginals, n = 1000 to 1e-12, ms",
       results.Microseconds("MarginalsGradient/1000/12") / 1000, 20},
      {"prefixes, n = 10, times a whole order",
       results.Microseconds("Prefixes/prefixes/10") / whole, 1.5},
      {"exact exposure, n = 10, times a whole order",
       results.Microseconds("Exposure/10") / whole, 60},
  };
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunMicroBenchmarks(
      argc, argv, "Times rank marginals and what learns from rankings.",
      sortition::MakeTargets);
}
