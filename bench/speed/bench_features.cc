// Times the features of one request, from its named columns.
//
// The target of hashed text is an absolute time, far below a millisecond; the
// others are ratios to it in the same run.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/speed/text_requests.h"
#include "bench/support/micro_benchmarks.h"
#include "core/base/check.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/bound_columns.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

constexpr char kNumbers[] =
    "transform { number { column: 'price' standardise: true "
    "            missing_indicator: true } } "
    "transform { vocabulary { column: 'color' } }";
constexpr char kStemmedText[] =
    "transform { ngrams { column: 'sentence' longest: 2 bits: 18 "
    "            words { stemmer: 'english' } } }";
constexpr char kPairs[] =
    "transform { text_pair { query: 'question' candidate: 'sentence' "
    "  standardise: true words { drop_english_stop_words: true } "
    "  measure: [BM25, IDF_OVERLAP, COVERAGE, LONGEST_COMMON_SUBSEQUENCE, "
    "  BIGRAM_OVERLAP, NEGATION_AGREEMENT, NUMBER_AGREEMENT, LENGTH_RATIO, "
    "  ANSWER_TYPE] } }";

void Apply(benchmark::State& state, const char* transforms, bool ascii = true) {
  const FeatureTransform transform =
      *FeatureTransform::Create(TextFeatures(transforms));
  // Different requests, or the processor learns the branches of one.
  std::vector<Columns> requests;
  for (uint64_t i = 0; i < 64; ++i) {
    requests.push_back(
        RandomTextRequest(static_cast<uint32_t>(state.range(0)), ascii, i));
  }
  FeatureScratch scratch;
  FeatureMatrix matrix;
  size_t next = 0;
  for (auto _ : state) {
    const Columns& columns = requests[next++ % requests.size()];
    CHECK(transform.Apply(columns, &scratch, &matrix).ok());
    benchmark::DoNotOptimize(matrix.values.data());
  }
}
BENCHMARK_CAPTURE(Apply, numbers, kNumbers)->Arg(50);
BENCHMARK_CAPTURE(Apply, hashed_text, kHashedText)->Arg(50)->Arg(500);
BENCHMARK_CAPTURE(Apply, hashed_text_by_icu, kHashedText, false)->Arg(50);
BENCHMARK_CAPTURE(Apply, stemmed_text, kStemmedText)->Arg(50);
BENCHMARK_CAPTURE(Apply, text_pairs, kPairs)->Arg(50);

// The check of a request alone.
void Bind(benchmark::State& state) {
  const FeatureTransform transform =
      *FeatureTransform::Create(TextFeatures(kNumbers));
  const Columns columns =
      RandomTextRequest(static_cast<uint32_t>(state.range(0)), true, 1);
  BoundColumns bound;
  for (auto _ : state) {
    CHECK(bound.Bind(transform.schema(), columns).ok());
    benchmark::DoNotOptimize(&bound);
  }
}
BENCHMARK(Bind)->Arg(50)->Arg(500);

std::vector<Target> MakeTargets(const MicroBenchmarkResults& results) {
  const auto time = [&](const std::string& run) {
    return results.Microseconds(run);
  };
  const double hashed = time("Apply/hashed_text/50");
  return {
      {"check of 50 candidates, 30 words each, us", time("Bind/50"), 5},
      {"hashed text, 30 words x 50 candidates, us", hashed, 400},
      {"hashed text, 500 / 50 candidates",
       time("Apply/hashed_text/500") / hashed, 12},
      {"text pairs, 50 candidates, / hashed text",
       time("Apply/text_pairs/50") / hashed, 2},
      {"numbers and categories, 50 candidates, / hashed text",
       time("Apply/numbers/50") / hashed, 0.2},
  };
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunMicroBenchmarks(
      argc, argv, "Times the features of one request, from its named columns.",
      sortition::MakeTargets);
}
