#include "io/models/format_version.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

// A program that ignores one of these fields would compute other features, or
// draw by other probabilities.
TEST(FormatVersionTest, FieldsThatOlderProgramsIgnoreAskForANewerOne) {
  model::v1::Model model;
  EXPECT_EQ(FormatVersionOf(model), 1u);
  auto* const transforms =
      model.mutable_features()->mutable_spec()->mutable_transform();
  model::v1::Transform& transform = *transforms->Add();
  transform.mutable_ngrams()->set_normalise(true);
  EXPECT_EQ(FormatVersionOf(model), 1u);
  transform.mutable_ngrams()->set_idf(true);
  EXPECT_EQ(FormatVersionOf(model), 3u);
  transform.mutable_cross()->set_bits(4);
  EXPECT_EQ(FormatVersionOf(model), 1u);
  transform.mutable_cross()->set_idf(true);
  EXPECT_EQ(FormatVersionOf(model), 3u);
  transform.mutable_cross()->set_log1p(true);
  EXPECT_EQ(FormatVersionOf(model), 4u);
  transform.mutable_cross()->clear_log1p();
  transform.mutable_cross()->set_standardise(true);
  EXPECT_EQ(FormatVersionOf(model), 4u);
  transform.mutable_text_pair()->add_measure(
      model::v1::TextPairTransform::BM25);
  EXPECT_EQ(FormatVersionOf(model), 1u);
  transform.mutable_text_pair()->add_measure(
      model::v1::TextPairTransform::TF_IDF_COSINE);
  EXPECT_EQ(FormatVersionOf(model), 3u);
  model.mutable_policy()->mutable_plackett_luce()->add_rank_factors(2);
  EXPECT_EQ(FormatVersionOf(model), 3u);
  transforms->Clear();
  EXPECT_EQ(FormatVersionOf(model), 2u);
}

}  // namespace
}  // namespace sortition
