// Every learner of labelled queries that `train` knows, by its name.
#include "core/learners/learners.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/expected_measure.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/planted_kinds.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/commands.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/labelled/labelled_measure.h"
#include "trainer/train.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::RankPolicyOptions;
using config::v1::TrainOptions;
using config::v1::TrainReport;
using testing::HasSubstr;

std::vector<std::string> LabelledLearners() {
  std::vector<std::string> names;
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.name == "trees" && !HasXgboost()) continue;
    if (learner.make_labelled != nullptr) names.emplace_back(learner.name);
  }
  return names;
}

// Returns data of the kind that the learner needs.
LabelledQueries DataFor(const std::string& learner, uint64_t seed) {
  if (learner == "multiclass") return PlantedClasses(150, 0.05, seed);
  if (learner == "mallows") return PlantedOrders(150, seed);
  if (learner == "chain") return PlantedSequences(150, seed);
  return Planted(150, 0.05, seed);
}

class LearnerTest : public PlantedTest {
 protected:
  TrainOptions OptionsFor(const std::string& learner) {
    TrainOptions options;
    options.set_learner(learner);
    options.add_data(Write(learner, DataFor(learner, 1)));
    options.set_model_store(dir_.Sub("models"));
    if (learner == "trees") options.mutable_boosted_trees()->set_rounds(100);
    return options;
  }

  // Returns the reward of the published policy on unseen queries, scaled so
  // that 0 is chance and 1 the largest possible reward.
  double Earned(const TrainOptions& options, const TrainReport& report) {
    const StoredModel stored =
        store().Load("default", report.version()).value();
    TrainOptions fresh = options;
    *fresh.mutable_data(0) = Write("fresh", DataFor(options.learner(), 99));
    const LabelledData data = ReadLabelledData(fresh).value();
    std::vector<LabelledItems> queries = ViewsOf(data.training, data);
    OtherRows with_trees;
    if (stored.model.has_trees()) {
      with_trees = RowsFor(stored.model, data.training, data).value();
      queries = with_trees.items;
    }
    LabelMeasure measure = MeasureOfLearner(options, data.shape);
    if (stored.model.policy().has_softmax_selection() &&
        measure.kind == LabelMeasure::Kind::kDcg) {
      measure.kind = LabelMeasure::Kind::kGain;
    }
    const ExpectedMeasure expected =
        MeasureOf(stored.model, queries, measure).value();
    double chance = 0, earned = 0, score = 0;
    for (const LabelledItems& query : queries) {
      earned += expected.Of(query, 0).value();
      chance += expected.ByChance(query);
      score += expected.ByScore(query);
    }
    EXPECT_GT(score, chance);
    return (earned - chance) / (score - chance);
  }

  static LabelMeasure MeasureOfLearner(const TrainOptions& options,
                                       const LabelledShape& shape) {
    for (const LearnerInfo& info : ListLearners()) {
      if (info.name != options.learner()) continue;
      return info.make_labelled(options, shape).value()->measure();
    }
    ADD_FAILURE() << options.learner();
    return {};
  }
};

class EveryLearnerTest : public LearnerTest,
                         public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(Learners, EveryLearnerTest,
                         testing::ValuesIn(LabelledLearners()),
                         [](const auto& name) { return name.param; });

TEST_P(EveryLearnerTest, PublishesAPolicyThatBeatsChance) {
  const TrainOptions options = OptionsFor(GetParam());
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  EXPECT_TRUE(report.gate_passed());
  ASSERT_EQ(report.version(), 1);
  const LabelledReport& labelled = report.labelled();
  EXPECT_EQ(labelled.learner(), GetParam());
  int chosen = 0;
  std::string setting;
  for (const LabelledReport::Point& point : labelled.points()) {
    chosen += point.chosen() ? 1 : 0;
    if (point.chosen()) setting = point.setting();
    EXPECT_FALSE(point.termination().empty());
    // Its grid has more than λ.
    EXPECT_EQ(point.setting().empty(), GetParam() != "crf");
  }
  EXPECT_EQ(chosen, 1);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  EXPECT_EQ(stored.model.provenance().learner(), GetParam());
  EXPECT_EQ(stored.model.provenance().comment(), setting);
  EXPECT_EQ(
      stored.model.policy().inverse_temperature(),
      labelled.has_inverse_temperature() ? labelled.inverse_temperature() : 1);
  // Exploration costs 5 %, the uniform mixture 2 %, and the validation queries
  // are different ones.
  EXPECT_GT(Earned(options, report), GetParam() == "mpg" ? 0.8 : 0.88);
}

TEST_P(EveryLearnerTest, IsDeterministic) {
  TrainOptions options = OptionsFor(GetParam());
  options.set_threads(1);
  ASSERT_OK(Train(options));
  options.set_threads(3);
  options.set_model("again");
  ASSERT_OK(Train(options));
  model::v1::Model one = store().Load("default", 1).value().model;
  model::v1::Model again = store().Load("again", 1).value().model;
  for (model::v1::Model* model : {&one, &again}) {
    model->clear_name();
    model->clear_provenance();
  }
  EXPECT_EQ(one.SerializeAsString(), again.SerializeAsString());
}

TEST_P(EveryLearnerTest, IsNamedByHelpWithWhenToUseIt) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer({"--help"}), kExitOk);
  const std::string general = testing::internal::GetCapturedStdout();
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer({"train", "--help"}), kExitOk);
  const std::string train = testing::internal::GetCapturedStdout();
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.name != GetParam()) continue;
    EXPECT_THAT(general, HasSubstr(std::string(learner.help)));
    EXPECT_THAT(train, HasSubstr(std::string(learner.help)));
  }
}

TEST_F(LearnerTest, ALearnerOfOrdersMaySelect) {
  TrainOptions options = OptionsFor("ranksvm");
  options.set_action("select");
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  EXPECT_EQ(report.labelled().action(), "select");
  EXPECT_EQ(report.labelled().measure(), "gain");
  EXPECT_EQ(report.labelled().validation_measure(),
            "graded DCG@10, deterministic");
  EXPECT_EQ(report.labelled().new_draws(), 0);
  EXPECT_GT(Earned(options, report), 0.88);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  EXPECT_TRUE(stored.model.policy().has_softmax_selection());
  ASSERT_EQ(stored.warmup.size(), report.labelled().training_queries());
  EXPECT_EQ(stored.warmup[0].action_kind(), log::v1::SELECT);
  // The same training again is compared with this version and is not better.
  ASSERT_OK_AND_ASSIGN(const TrainReport again, Train(options));
  EXPECT_FALSE(again.gate_passed());
  EXPECT_EQ(again.labelled().difference().value(), 0);
  // A ranking cannot be compared with a published version that selects.
  options.set_action("rank");
  ASSERT_OK_AND_ASSIGN(const TrainReport rank, Train(options));
  EXPECT_THAT(rank.labelled().incomparable(), HasSubstr("selects a candidate"));
}

TEST_F(LearnerTest, BadOptionsAreNamed) {
  const auto error = [](const TrainOptions& options) {
    const auto report = Train(options);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(report.status().message());
  };
  const TrainOptions good = OptionsFor("ranksvm");
  TrainOptions options = good;
  options.set_learner("ranksvn");
  EXPECT_THAT(error(options),
              HasSubstr("learner is 'ranksvn', must be one of"));
  options = good;
  options.set_action("label");
  EXPECT_THAT(error(options),
              HasSubstr("action is label, must be rank or select"));
  options = good;
  options.mutable_rank_svm()->add_lambda(-1);
  EXPECT_THAT(error(options), HasSubstr("rank_svm.lambda is -1"));
  options = good;
  options.mutable_list_net()->add_lambda(1);
  EXPECT_THAT(error(options), HasSubstr("options of list_net are set, must be "
                                        "unset for learner ranksvm"));
  options = good;
  options.mutable_game_policy()->set_block_mixing(0);
  EXPECT_THAT(error(options), HasSubstr("game_policy is set, must be unset for "
                                        "learner ranksvm"));
  for (const double alpha : {0., 2e6}) {
    options = good;
    options.add_inverse_temperature(1);
    options.add_inverse_temperature(alpha);
    EXPECT_THAT(error(options), HasSubstr("inverse_temperature is"));
  }
  options = good;
  options.mutable_rank_policy()->set_head(3);
  EXPECT_THAT(error(options), HasSubstr("rank_policy.head is set"));
  options = good;
  options.set_learner("mpg");
  options.add_inverse_temperature(2);
  EXPECT_THAT(error(options), HasSubstr("inverse_temperature is set, must be "
                                        "unset for learner mpg"));
  options.clear_inverse_temperature();
  options.mutable_rank_policy()->set_kind(RankPolicyOptions::PLACKETT_LUCE);
  EXPECT_THAT(error(options), HasSubstr("rank_policy is set, must be unset for "
                                        "learner mpg"));
  TrainOptions poem;
  poem.set_model_store("s");
  poem.set_tuples("t");
  poem.add_inverse_temperature(2);
  EXPECT_THAT(error(poem), HasSubstr("inverse_temperature is set, must be "
                                     "unset for learner poem"));
}

}  // namespace
}  // namespace sortition
