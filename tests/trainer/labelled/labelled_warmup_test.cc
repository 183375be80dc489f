#include "trainer/labelled/labelled_warmup.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Two queries with two features and a constant.
LabelledData TwoQueries() {
  LabelledData data;
  data.shape.num_features = 2;
  data.has_constant = true;
  data.training.resize(2);
  data.training[0].id = "a";
  data.training[0].features = {1, 2, 1, 3, 4, 1};
  data.training[0].relevances = {0, 1};
  data.training[1].id = "b";
  data.training[1].features = {5, 6, 1};
  data.training[1].relevances = {2};
  return data;
}

TEST(WarmupQueriesTest, AreTrainingQueriesWithoutTheConstant) {
  model::v1::Model model;
  model.set_name("m");
  model.set_num_features(2);
  model.mutable_policy()->mutable_independent_subset()->set_k(1);
  const auto warmup = WarmupQueries(TwoQueries(), model, 10);
  ASSERT_THAT(warmup, SizeIs(2));
  EXPECT_EQ(warmup[0].decision_id(), "warmup-a");
  EXPECT_EQ(warmup[0].model(), "m");
  EXPECT_EQ(warmup[0].action_kind(), log::v1::SUBSET);
  EXPECT_EQ(warmup[0].top_k(), 1);
  EXPECT_EQ(warmup[0].num_candidates(), 2);
  EXPECT_EQ(warmup[0].num_features(), 2);
  EXPECT_THAT(warmup[0].dense_values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(WarmupQueries(TwoQueries(), model, 1), SizeIs(1));
  model.mutable_policy()->mutable_plackett_luce();
  EXPECT_EQ(WarmupQueries(TwoQueries(), model, 1)[0].top_k(), 2);
}

// With two classes, candidate l has the item's features in block l.
TEST(WarmupQueriesTest, ClassesAreCandidatesOfTheirOwnBlock) {
  model::v1::Model model;
  model.set_num_features(4);
  model.mutable_policy()->mutable_softmax_selection();
  const auto warmup = WarmupQueries(TwoQueries(), model, 10);
  ASSERT_THAT(warmup, SizeIs(2));
  EXPECT_EQ(warmup[1].action_kind(), log::v1::SELECT);
  EXPECT_EQ(warmup[1].num_candidates(), 2);
  EXPECT_EQ(warmup[1].num_features(), 4);
  EXPECT_THAT(warmup[1].dense_values(), ElementsAre(5, 6, 0, 0, 0, 0, 5, 6));
}

TEST(WarmupQueriesTest, WhatIsNotServedHasNone) {
  model::v1::Model model;
  model.set_num_features(2);
  model.mutable_policy()->mutable_label_chain()->set_num_labels(3);
  EXPECT_THAT(WarmupQueries(TwoQueries(), model, 10), IsEmpty());
}

}  // namespace
}  // namespace sortition
