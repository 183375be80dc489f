// Times the features of one request, from its named columns.
//
// The target of hashed text is an absolute time, far below a millisecond; the
// others are ratios to it in the same run.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/support/micro_benchmarks.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "google/protobuf/text_format.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

constexpr int kWords = 30;

// Words as long as those of English text, a third of them frequent.
std::string RandomText(int num_words, bool ascii, RandomSequence* random) {
  static constexpr const char* kFrequent[] = {"the", "of", "and", "in", "was"};
  std::string text = ascii ? "" : "\u201c";  // A curly quote needs ICU.
  for (int i = 0; i < num_words; ++i) {
    if (random->Uniform() < 1.0 / 3) {
      absl::StrAppend(&text, kFrequent[random->Below(5)], " ");
      continue;
    }
    const uint64_t letters = 3 + random->Below(7);
    const uint64_t word = random->Below(2000);
    RandomSequence spelling(SeedKey(word));
    for (uint64_t k = 0; k < letters; ++k) {
      text += static_cast<char>('a' + spelling.Below(26));
    }
    text += i % 10 == 9 ? ". " : " ";
  }
  return text;
}

Columns RandomRequest(uint32_t num_candidates, bool ascii, uint64_t seed) {
  RandomSequence random(SeedKey(seed, "request"));
  Columns columns;
  columns.set_num_candidates(num_candidates);
  auto* const sentence = columns.add_candidate();
  sentence->set_name("sentence");
  auto* const price = columns.add_candidate();
  price->set_name("price");
  auto* const color = columns.add_candidate();
  color->set_name("color");
  for (uint32_t i = 0; i < num_candidates; ++i) {
    sentence->mutable_texts()->add_values(RandomText(kWords, ascii, &random));
    price->mutable_numbers()->add_values(random.Normal());
    color->mutable_categories()->add_values(
        absl::StrCat("color", random.Below(20)));
  }
  auto* const question = columns.add_query();
  question->set_name("question");
  question->mutable_texts()->add_values(RandomText(10, ascii, &random));
  return columns;
}

constexpr char kSchema[] =
    "schema { column { name: 'question' type: TEXT scope: QUERY } "
    "         column { name: 'sentence' type: TEXT } "
    "         column { name: 'price' type: NUMBER } "
    "         column { name: 'color' type: CATEGORY } } ";
constexpr char kNumbers[] =
    "transform { number { column: 'price' standardise: true "
    "            missing_indicator: true } } "
    "transform { vocabulary { column: 'color' } }";
constexpr char kHashedText[] =
    "transform { ngrams { column: 'sentence' longest: 2 bits: 18 } }";
constexpr char kStemmedText[] =
    "transform { ngrams { column: 'sentence' longest: 2 bits: 18 "
    "            words { stemmer: 'english' } } }";
constexpr char kPairs[] =
    "transform { text_pair { query: 'question' candidate: 'sentence' "
    "  standardise: true words { drop_english_stop_words: true } "
    "  measure: [BM25, IDF_OVERLAP, COVERAGE, LONGEST_COMMON_SUBSEQUENCE, "
    "  BIGRAM_OVERLAP, NEGATION_AGREEMENT, NUMBER_AGREEMENT, LENGTH_RATIO, "
    "  ANSWER_TYPE] } }";

FeatureTransform MakeTransform(const std::string& transforms) {
  model::v1::FeatureSpec spec;
  CHECK(google::protobuf::TextFormat::ParseFromString(kSchema + transforms,
                                                      &spec));
  const auto features = LearnFeatures(spec, [](QueryVisitor visit) {
    absl::Status status;
    for (uint64_t i = 0; i < 20 && status.ok(); ++i) {
      status = visit(RandomRequest(50, true, 100 + i));
    }
    return status;
  });
  CHECK(features.ok());
  auto transform = FeatureTransform::Create(*features);
  CHECK(transform.ok());
  return *std::move(transform);
}

void Apply(benchmark::State& state, const char* transforms, bool ascii = true) {
  const FeatureTransform transform = MakeTransform(transforms);
  // Different requests, or the processor learns the branches of one.
  std::vector<Columns> requests;
  for (uint64_t i = 0; i < 64; ++i) {
    requests.push_back(
        RandomRequest(static_cast<uint32_t>(state.range(0)), ascii, i));
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
  const FeatureTransform transform = MakeTransform(kNumbers);
  const Columns columns =
      RandomRequest(static_cast<uint32_t>(state.range(0)), true, 1);
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
