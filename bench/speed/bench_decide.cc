// Time of a decision in process, and of what logging adds to it.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "io/segments/crc32c.h"
#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "io/segments/spool_writer.h"
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

enum class Policy { kSelect, kRank, kBoltzmann };

LinearPolicy MakePolicy(Policy kind) {
  RandomSequence random(SeedKey(2));
  std::vector<double> weights(kFeatures);
  for (double& weight : weights) weight = 0.2 * random.Normal();
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(0.02);
  if (kind == Policy::kRank) {
    policy.mutable_plackett_luce();
  } else if (kind == Policy::kBoltzmann) {
    policy.mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::DCG);
  } else {
    policy.mutable_softmax_selection()->set_abstain_score(0);
  }
  absl::StatusOr<LinearPolicy> result =
      LinearPolicy::Create(policy, std::move(weights));
  CHECK(result.ok());
  return *std::move(result);
}

void Decide(benchmark::State& state, Policy kind) {
  const auto num_candidates = static_cast<size_t>(state.range(0));
  const std::vector<float> features =
      RandomFeatures(num_candidates * kFeatures);
  const LinearPolicy policy = MakePolicy(kind);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, kFeatures);
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
// Its head: 12.
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

void RemoveClosedSegments(const std::string& dir) {
  const auto names = ListSegments(dir);
  CHECK(names.ok());
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(dir, "/", name);
    const absl::StatusOr<bool> live = SegmentHasLiveWriter(path);
    if (live.ok() && !*live) std::filesystem::remove(path);
  }
}

// A decision with `range(0)` bytes of features, checksum included.
void SpoolAppend(benchmark::State& state) {
  constexpr size_t kBytesBetweenCleanings = size_t{256} << 20;
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

}  // namespace
}  // namespace sortition

BENCHMARK_MAIN();
