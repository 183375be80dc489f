// Measures the time of one decision in process, and what logging adds to it.
//
// Targets are two times of rankings, and ratios to a baseline of the same run:
// the scores of the same candidates, which every policy needs, and a plain
// write of as many bytes.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support/micro_benchmarks.h"
#include "bench/support/spools.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "io/segments/crc32c.h"
#include "io/spool/spool_writer.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 46;
constexpr uint32_t kTopK = 10;

std::vector<float> RandomFeatures(size_t count) {
  RandomSequence random(SeedKey(1));
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

std::vector<double> RandomWeights(uint32_t num_features = kFeatures) {
  RandomSequence random(SeedKey(2));
  std::vector<double> weights(num_features);
  for (double& weight : weights) weight = 0.2 * random.Normal();
  return weights;
}

enum class Policy { kSelect, kRank, kFactored, kSorted, kBoltzmann };

LinearPolicy MakePolicy(Policy kind, uint32_t num_features) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(0.02);
  if (kind == Policy::kRank) {
    policy.mutable_plackett_luce();
  } else if (kind == Policy::kFactored) {
    for (uint32_t r = 0; r < kTopK; ++r) {
      policy.mutable_plackett_luce()->add_rank_factors(2);
    }
  } else if (kind == Policy::kSorted) {
    policy.mutable_sorted_ranking()->set_swap_probability(0.4);
    policy.mutable_sorted_ranking()->set_shuffle_probability(0.1);
    policy.mutable_sorted_ranking()->set_shuffle_ranks(5);
  } else if (kind == Policy::kBoltzmann) {
    policy.mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::DCG);
  } else {
    policy.mutable_softmax_selection()->set_abstain_score(0);
  }
  absl::StatusOr<LinearPolicy> result =
      LinearPolicy::Create(policy, RandomWeights(num_features));
  CHECK(result.ok());
  return *std::move(result);
}

// The baseline of Decide computes scores alone.
void Score(benchmark::State& state) {
  const auto num_candidates = static_cast<size_t>(state.range(0));
  const std::vector<float> features =
      RandomFeatures(num_candidates * kFeatures);
  const std::vector<double> weights = RandomWeights();
  const Candidates candidates = Candidates::DenseUnchecked(features, kFeatures);
  std::vector<uint32_t> indexes(num_candidates);
  std::iota(indexes.begin(), indexes.end(), 0u);
  std::vector<double> scores(num_candidates);
  for (auto _ : state) {
    candidates.Scores(indexes, weights, scores);
    benchmark::DoNotOptimize(scores.data());
  }
}
BENCHMARK(Score)->RangeMultiplier(10)->Range(10, 10000);

void Decide(benchmark::State& state, Policy kind,
            uint32_t num_features = kFeatures) {
  const auto num_candidates = static_cast<size_t>(state.range(0));
  const std::vector<float> features =
      RandomFeatures(num_candidates * num_features);
  const LinearPolicy policy = MakePolicy(kind, num_features);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, num_features);
  query.top_k = kTopK;
  PolicyWorkspace workspace;
  Draw draw;
  uint64_t seed = 0;
  for (auto _ : state) {
    policy.Decide(query, SeedKey(++seed), &workspace, &draw);
    benchmark::DoNotOptimize(draw.log_propensity);
  }
}
BENCHMARK_CAPTURE(Decide, rank_top10, Policy::kRank)
    ->RangeMultiplier(10)
    ->Range(10, 10000);
constexpr uint32_t kManyFeatures = 136;
BENCHMARK_CAPTURE(Decide, rank_top10_of_136_features, Policy::kRank,
                  kManyFeatures)
    ->Arg(1000);
// Ranks drawn one by one.
BENCHMARK_CAPTURE(Decide, factored_top10, Policy::kFactored)
    ->RangeMultiplier(10)
    ->Range(10, 10000);
BENCHMARK_CAPTURE(Decide, sorted_top10, Policy::kSorted)
    ->RangeMultiplier(10)
    ->Range(10, 10000);
// Exact probabilities by subsets of a head of 12 candidates.
BENCHMARK_CAPTURE(Decide, boltzmann_top10, Policy::kBoltzmann)
    ->RangeMultiplier(10)
    ->Range(10, 10000);
BENCHMARK_CAPTURE(Decide, select, Policy::kSelect)
    ->RangeMultiplier(10)
    ->Range(10, 10000);

void ValidateFeatures(benchmark::State& state) {
  const std::vector<float> features =
      RandomFeatures(static_cast<size_t>(state.range(0)) * kFeatures);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Candidates::Dense(features, kFeatures).ok());
  }
}
BENCHMARK(ValidateFeatures)->RangeMultiplier(10)->Range(10, 10000);

void Checksum(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(Crc32c(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Checksum)->Arg(4 << 10)->Arg(19 << 10)->Arg(1 << 20);

constexpr size_t kBytesBetweenCleanings = size_t{256} << 20;

// The baseline of SpoolAppend writes `range(0)` bytes into a preallocated file.
void PlainWrite(benchmark::State& state) {
  const TempDir directory;
  const std::string path = directory.path() + "/file";
  const std::string bytes(static_cast<size_t>(state.range(0)), 'x');
  int file = -1;
  size_t written = kBytesBetweenCleanings;
  for (auto _ : state) {
    if (written + bytes.size() > kBytesBetweenCleanings) {
      state.PauseTiming();
      if (file >= 0) close(file);
      unlink(path.c_str());
      file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
      CHECK(file >= 0 && fallocate(file, 0, 0, kBytesBetweenCleanings) == 0);
      written = 0;
      state.ResumeTiming();
    }
    CHECK(
        pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(written)) ==
        static_cast<ssize_t>(bytes.size()));
    written += bytes.size();
  }
  close(file);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(PlainWrite)->Arg(4 << 10)->Arg(19 << 10)->Arg(1 << 20)->UseRealTime();

// Appends a decision with `range(0)` bytes of features, checksum included.
void SpoolAppend(benchmark::State& state) {
  const TempDir directory;
  config::v1::SpoolOptions options;
  options.set_dir(directory.path());
  absl::StatusOr<std::unique_ptr<SpoolWriter>> writer =
      SpoolWriter::Open(options, "");
  CHECK(writer.ok());
  const auto bytes = static_cast<size_t>(state.range(0));
  const std::vector<float> features = RandomFeatures(bytes / sizeof(float));
  log::v1::Decision decision;
  decision.set_decision_id("0190a8c4-5b1e-7000-8000-000000000000");
  decision.set_model("default");
  decision.set_num_features(kFeatures);
  size_t written = 0;
  for (auto _ : state) {
    CHECK((*writer)->AppendDecision(decision, features).ok());
    written += bytes;
    if (written > kBytesBetweenCleanings) {
      state.PauseTiming();
      RemoveClosedSegments(directory.path());
      written = 0;
      state.ResumeTiming();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(SpoolAppend)
    ->Arg(4 << 10)
    ->Arg(19 << 10)
    ->Arg(1 << 20)
    ->UseRealTime();

// The limits of ratios are a third above what was measured when they were set,
// to notice when a decision becomes slower.
std::vector<Target> MakeTargets(const MicroBenchmarkResults& results) {
  const auto ratio = [&](const std::string& run, const std::string& baseline) {
    return results.Microseconds(run) / results.Microseconds(baseline);
  };
  return {
      {"rank, top 10 of 100 of 46 features, us",
       results.Microseconds("Decide/rank_top10/100"), 2},
      {"rank, top 10 of 1000 of 136 features, us",
       results.Microseconds("Decide/rank_top10_of_136_features/1000"), 18},
      {"rank, top 10 of 100, / scoring 100",
       ratio("Decide/rank_top10/100", "Score/100"), 9},
      {"rank, top 10 of 1000, / scoring 1000",
       ratio("Decide/rank_top10/1000", "Score/1000"), 6},
      {"select of 100, / scoring 100", ratio("Decide/select/100", "Score/100"),
       3.2},
      {"check of features, 100 candidates, / scoring 100",
       ratio("ValidateFeatures/100", "Score/100"), 2},
      {"spool append of 19 KiB, / plain write",
       ratio("SpoolAppend/19456/real_time", "PlainWrite/19456/real_time"), 1.6},
  };
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunMicroBenchmarks(
      argc, argv, "Times one decision in process, and its log record.",
      sortition::MakeTargets);
}
