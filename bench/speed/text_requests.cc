#include "bench/speed/text_requests.h"

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/features/feature_learning.h"
#include "google/protobuf/text_format.h"

namespace sortition {
namespace {

constexpr int kWords = 30;

constexpr char kSchema[] =
    "schema { column { name: 'question' type: TEXT scope: QUERY } "
    "         column { name: 'sentence' type: TEXT } "
    "         column { name: 'price' type: NUMBER } "
    "         column { name: 'color' type: CATEGORY } } ";

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

}  // namespace

v1::Columns RandomTextRequest(uint32_t num_candidates, bool ascii,
                              uint64_t seed) {
  RandomSequence random(SeedKey(seed, "request"));
  v1::Columns columns;
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

model::v1::Features TextFeatures(const std::string& transforms) {
  model::v1::FeatureSpec spec;
  CHECK(google::protobuf::TextFormat::ParseFromString(kSchema + transforms,
                                                      &spec));
  const auto features = LearnFeatures(spec, [](QueryVisitor visit) {
    absl::Status status;
    for (uint64_t i = 0; i < 20 && status.ok(); ++i) {
      status = visit(RandomTextRequest(50, true, 100 + i));
    }
    return status;
  });
  CHECK(features.ok());
  return *features;
}

}  // namespace sortition
