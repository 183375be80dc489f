#include "trainer/labelled/fit.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// 30 queries of 6 candidates, which are relevant if feature 1 is above 1.5.
std::string Letor() {
  RandomSequence random(SeedKey(3));
  std::string text;
  for (int query = 0; query < 30; ++query) {
    for (int candidate = 0; candidate < 6; ++candidate) {
      const double first = 3 * random.Uniform();
      absl::StrAppend(&text, first > 1.5 ? 1 : 0, " qid:", query, " 1:", first,
                      " 2:", random.Uniform(), "\n");
    }
  }
  return text;
}

class FitTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.set_data(dir_.Sub("data") + "/letor.txt");
    options_.set_model_store(dir_.Sub("models"));
    ASSERT_OK(WriteFile(options_.data(), Letor()));
  }

  TempDir dir_;
  config::v1::FitOptions options_;
};

TEST_F(FitTest, SelectionAbstainsWhereNoCandidateIsProbablyRelevant) {
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options_));
  EXPECT_EQ(report.version, 1);
  EXPECT_EQ(report.queries, 20);
  EXPECT_EQ(report.candidates, 120);
  EXPECT_TRUE(report.converged);
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("default", 1));
  EXPECT_EQ(stored.warmup.size(), 20);
  EXPECT_EQ(stored.model.provenance().learner(), "logistic");
  const double abstain =
      stored.model.policy().softmax_selection().abstain_score();
  // The boundary is at feature 1 = 1.5.
  EXPECT_GT(2.2 * stored.model.weights(0), abstain);
  EXPECT_LT(0.8 * stored.model.weights(0), abstain);
  EXPECT_EQ(stored.model.policy().uniform_mixture(), 0.1);
}

TEST_F(FitTest, RankPublishesPlackettLuceUnderAnotherName) {
  ASSERT_OK(Fit(options_));
  options_.set_force(true);
  options_.set_action("rank");
  options_.set_inverse_temperature(0.5);
  EXPECT_THAT(Fit(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("policy is plackett_luce, which is for Rank, "
                                 "must be for Select, as in version 1")));
  options_.set_model("orders");
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options_));
  EXPECT_EQ(report.version, 1);
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("orders", 1));
  EXPECT_TRUE(stored.model.policy().has_plackett_luce());
  EXPECT_EQ(stored.model.policy().inverse_temperature(), 0.5);
}

TEST_F(FitTest, RankPolicySaysHowOrdersAreDrawn) {
  options_.set_action("rank");
  options_.mutable_rank_policy()->add_rank_factors(2);
  options_.mutable_rank_policy()->add_rank_factors(0.5);
  ASSERT_OK(Fit(options_));
  options_.set_model("sorted");
  options_.mutable_rank_policy()->Clear();
  options_.mutable_rank_policy()->set_kind(
      config::v1::RankPolicyOptions::SORTED);
  options_.mutable_rank_policy()->set_swap_probability(0.3);
  ASSERT_OK(Fit(options_));
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel factored, store.Load("default", 1));
  EXPECT_THAT(factored.model.policy().plackett_luce().rank_factors(),
              testing::ElementsAre(2, 0.5));
  ASSERT_OK_AND_ASSIGN(const StoredModel sorted, store.Load("sorted", 1));
  EXPECT_EQ(sorted.model.policy().sorted_ranking().swap_probability(), 0.3);
  EXPECT_EQ(sorted.model.policy().uniform_mixture(), 0.1);
  options_.set_action("select");
  EXPECT_THAT(Fit(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("rank_policy is set, must be "
                                                "unset for action select")));
}

TEST_F(FitTest, CommandLineTakesRankFactors) {
  EXPECT_EQ(RunTrainer({"fit", "--data=" + options_.data(),
                        "--model_store=" + options_.model_store(),
                        "--action=rank", "--rank_policy.rank_factors=3,1"}),
            kExitOk);
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("default", 1));
  EXPECT_THAT(stored.model.policy().plackett_luce().rank_factors(),
              testing::ElementsAre(3, 1));
}

TEST_F(FitTest, TheSeedDrawsTheQueries) {
  options_.set_max_queries(5);
  options_.set_force(true);
  ASSERT_OK(Fit(options_));
  ASSERT_OK(Fit(options_));
  options_.set_seed(2);
  ASSERT_OK(Fit(options_));
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel first, store.Load("default", 1));
  ASSERT_OK_AND_ASSIGN(const StoredModel again, store.Load("default", 2));
  ASSERT_OK_AND_ASSIGN(const StoredModel other, store.Load("default", 3));
  EXPECT_EQ(first.model.weights(0), again.model.weights(0));
  EXPECT_NE(first.model.weights(0), other.model.weights(0));
}

TEST_F(FitTest, ReplacesNoVersionUnlessForced) {
  ASSERT_OK(Fit(options_));
  EXPECT_THAT(Fit(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("model 'default' has version 1 already")));
  options_.set_model("another");
  EXPECT_OK(Fit(options_));
  options_.set_model("default");
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options_));
  EXPECT_EQ(report.version, 2);
}

TEST_F(FitTest, ErrorsNameWhatIsWrong) {
  options_.set_relevant_from(2);  // There is no relevance 2.
  EXPECT_THAT(Fit(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 of 120 candidates are relevant")));
  options_.set_action("label");
  EXPECT_THAT(Fit(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("action is 'label'")));
  options_.set_action("rank");
  options_.set_data("/nonexistent/letor.txt");
  EXPECT_THAT(Fit(options_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FitTest, CommandLinePublishes) {
  EXPECT_EQ(
      RunTrainer({"fit", "--data=" + options_.data(),
                  "--model_store=" + options_.model_store(), "--model=qa"}),
      kExitOk);
  EXPECT_OK(ModelStore(options_.model_store()).Load("qa", 1));
  EXPECT_EQ(RunTrainer({"fit", "--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"fit"}), kExitUsage);
}

}  // namespace
}  // namespace sortition
