// Every learner of labelled queries that `train` knows, by its name.
#include "core/learners/learners.h"

#include "core/learners/labelled/expected_measure.h"
#include "io/datasets/letor.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/planted_kinds.h"
#include "trainer/commands.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/labelled_measure.h"
#include "trainer/train.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;

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

// The number of threads does not matter.
TEST_P(EveryLearnerTest, PublishesAPolicyThatBeatsChance) {
  TrainOptions options = OptionsFor(GetParam());
  options.set_threads(3);
  options.set_model("again");
  ASSERT_OK(Train(options));
  options.set_threads(1);
  options.set_model("default");
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
    EXPECT_EQ(point.setting().empty(),
              GetParam() != "crf" && GetParam() != "trees");
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
  model::v1::Model one = stored.model;
  model::v1::Model again = store().Load("again", 1).value().model;
  for (model::v1::Model* model : {&one, &again}) {
    model->clear_name();
    model->clear_provenance();  // It has the time and the options.
  }
  EXPECT_EQ(one.SerializeAsString(), again.SerializeAsString());
}

TEST(ListLearnersTest, HelpNamesEachLearnerWithWhenToUseIt) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer({"--help"}), kExitOk);
  const std::string general = testing::internal::GetCapturedStdout();
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer({"train", "--help"}), kExitOk);
  const std::string train = testing::internal::GetCapturedStdout();
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.make_labelled == nullptr) continue;
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
  const TrainOptions good = OptionsFor("ranksvm");
  TrainOptions mpg = good;
  mpg.set_learner("mpg");
  const struct {
    const TrainOptions& options;
    std::string change;
    std::string message;
  } kCases[] = {
      {good, "learner: 'ranksvn'", "learner is 'ranksvn', must be one of"},
      {good, "action: 'label'", "action is label, must be rank or select"},
      {good, "rank_svm { lambda: -1 }", "rank_svm.lambda is -1"},
      {good, "list_net { lambda: 1 }",
       "options of list_net are set, must be unset for learner ranksvm"},
      {good, "game_policy { block_mixing: 0 }",
       "game_policy is set, must be unset for learner ranksvm"},
      {good, "inverse_temperature: [1, 0]", "inverse_temperature is"},
      {good, "inverse_temperature: [1, 2e6]", "inverse_temperature is"},
      {good, "rank_policy { head: 3 }", "rank_policy.head is set"},
      {mpg, "inverse_temperature: 2",
       "inverse_temperature is set, must be unset for learner mpg"},
      {mpg, "rank_policy { kind: PLACKETT_LUCE }",
       "rank_policy is set, must be unset for learner mpg"},
  };
  for (const auto& [options, change, message] : kCases) {
    EXPECT_THAT(Train(With(options, change)), IsInvalidArgument(message));
  }
}

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
  EXPECT_EQ(report.queries, 30);
  EXPECT_EQ(report.queries_left_out, 0);
  EXPECT_EQ(report.candidates, 180);
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
  EXPECT_THAT(Fit(options_), IsFailedPrecondition(
                                 "policy is plackett_luce, which is for Rank, "
                                 "must be for Select, as in version 1"));
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
              ElementsAre(2, 0.5));
  ASSERT_OK_AND_ASSIGN(const StoredModel sorted, store.Load("sorted", 1));
  EXPECT_EQ(sorted.model.policy().sorted_ranking().swap_probability(), 0.3);
  EXPECT_EQ(sorted.model.policy().uniform_mixture(), 0.1);
  options_.set_action("select");
  EXPECT_THAT(Fit(options_), IsInvalidArgument("rank_policy is set, must be "
                                               "unset for action select"));
}

TEST_F(FitTest, CommandLineTakesRankFactors) {
  EXPECT_EQ(RunTrainer({"fit", "--data=" + options_.data(),
                        "--model_store=" + options_.model_store(),
                        "--action=rank", "--rank_policy.rank_factors=3,1"}),
            kExitOk);
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("default", 1));
  EXPECT_THAT(stored.model.policy().plackett_luce().rank_factors(),
              ElementsAre(3, 1));
}

// A feature in units that are 1000 times smaller: the same policy.
TEST_F(FitTest, UnitsOfFeaturesChangeNoScore) {
  ASSERT_OK(Fit(options_));
  ASSERT_OK_AND_ASSIGN(LabelledQueries data,
                       ReadQueries(options_.data(), nullptr));
  for (LabelledQuery& query : data.queries) {
    for (size_t i = 0; i < query.features.size(); i += 2) {
      query.features[i] *= 1000;
    }
  }
  ASSERT_OK(WriteFile(options_.data(), FormatLetor(data)));
  options_.set_force(true);
  ASSERT_OK(Fit(options_));
  const ModelStore store(options_.model_store());
  ASSERT_OK_AND_ASSIGN(const StoredModel one, store.Load("default", 1));
  ASSERT_OK_AND_ASSIGN(const StoredModel two, store.Load("default", 2));
  EXPECT_NEAR(two.model.weights(0) * 1000 / one.model.weights(0), 1, 1e-4);
  EXPECT_NEAR(two.model.weights(1) / one.model.weights(1), 1, 1e-3);
}

TEST_F(FitTest, SaysWhatItLeftOut) {
  options_.set_max_queries(12);
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options_));
  EXPECT_EQ(report.queries, 12);
  EXPECT_EQ(report.queries_left_out, 18);
}

TEST_F(FitTest, ReadsFilesOfOtherToolsByOption) {
  std::string text = "1 0:3 1:inf\n";
  for (int i = 0; i < 59; ++i) {
    absl::StrAppend(&text, i % 2, " 0:", i % 2 == 0 ? 1 : 3, " 1:", i, "\n");
  }
  ASSERT_OK(WriteFile(options_.data(), text));
  ASSERT_OK(WriteFile(options_.data() + ".group", "30\n30\n"));
  EXPECT_THAT(Fit(options_), IsInvalidArgument("first_feature = 0"));
  options_.mutable_label_files()->set_first_feature(0);
  EXPECT_THAT(Fit(options_), IsInvalidArgument("extreme_values = MISSING"));
  options_.mutable_label_files()->set_extreme_values(
      config::v1::LabelFileOptions::MISSING);
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options_));
  EXPECT_EQ(report.queries, 2);
  EXPECT_EQ(report.num_features, 2);
  EXPECT_EQ(report.extreme_values, 1);
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
              IsFailedPrecondition("model 'default' has version 1 already"));
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
              IsInvalidArgument("0 of 180 candidates are relevant"));
  options_.set_action("label");
  EXPECT_THAT(Fit(options_), IsInvalidArgument("action is 'label'"));
  options_.set_action("rank");
  options_.set_data("/nonexistent/letor.txt");
  EXPECT_THAT(Fit(options_), IsNotFound());
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
