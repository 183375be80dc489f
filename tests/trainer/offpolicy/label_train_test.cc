#include "core/data/joint_features.h"
#include "core/learners/multilabel/label_conversion.h"
#include "io/datasets/multilabel.h"
#include "tests/trainer/label_data.h"
#include "tests/trainer/planted_kinds.h"
#include "trainer/offpolicy/label_train_data.h"
#include "trainer/train.h"
#include "trainer/tuples/labels/convert.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;
using testing::UnorderedElementsAre;

// A poor logging policy as version 1 of "default", and its log.
class LabelTrainTest : public testing::Test {
 protected:
  LabelTrainTest() {
    convert_.set_data(dir_.Sub("data") + "/train.svm");
    convert_.set_output(dir_.Sub("logs") + "/tuples");
    convert_.set_model_store(dir_.Sub("models"));
    convert_.set_fraction(0.01);
    convert_.set_inverse_temperature(0.5);
    train_.set_tuples(convert_.output());
    train_.set_model_store(convert_.model_store());
    train_.set_action("labels");
    train_.set_look_now(true);  // On the same tuples again and again.
    train_.mutable_poem()->add_lambda(0.5);
    train_.mutable_poem()->add_l2(1e-4);
  }

  void Log(size_t contexts) {
    ASSERT_OK(WriteFile(convert_.data(), MadeUpLabelData(contexts, 1)));
    ASSERT_OK(Convert(convert_));
  }

  model::v1::Model Load(uint64_t version) {
    auto stored = store_.Load("default", version);
    EXPECT_OK(stored);
    return stored.ok() ? stored->model : model::v1::Model();
  }

  size_t NumVersions() { return store_.ListVersions("default")->size(); }

  // Returns the wrong labels on contexts that were never logged.
  static HammingLosses Measure(const model::v1::Model& model) {
    const auto data = ParseMultilabel(MadeUpLabelData(2000, 2));
    EXPECT_OK(data);
    return MeanHammingLosses(
        ToLabelledContexts(*data, {kLabelDataFeatures, kLabelDataLabels}),
        model.policy().inverse_temperature() *
            Eigen::Map<const Eigen::VectorXd>(model.weights().data(),
                                              model.weights_size()));
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::ConvertOptions convert_;
  config::v1::TrainOptions train_;
};

TEST_F(LabelTrainTest, PublishesAPolicyThatIsBetterOnOtherContexts) {
  Log(2000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(train_));
  EXPECT_TRUE(report.gate_passed());
  EXPECT_EQ(report.version(), 2u);
  EXPECT_EQ(report.parent_version(), 1u);
  EXPECT_EQ(report.read_tuples(), 8000u);
  const model::v1::Model model = Load(2);
  EXPECT_EQ(model.policy().independent_labels().num_labels(), kLabelDataLabels);
  EXPECT_EQ(model.policy().uniform_mixture(), 0);
  EXPECT_EQ(model.provenance().learner(), "poem");
  const double before = Measure(Load(1)).expected;
  const double after = Measure(model).expected;
  EXPECT_LT(after, before);
  // The gate's promise in labels: the share of right labels rose by at least
  // the lower bound, up to the error of measuring it on 2000 contexts (each
  // standard error below 3 / (2 √2000) = 0.034).
  const auto& evaluation = report.evaluation();
  EXPECT_GT(before - after,
            kLabelDataLabels * evaluation.improvement().lower() - 0.1);
  EXPECT_EQ(evaluation.train_tuples() + evaluation.validation_tuples() +
                evaluation.test_tuples(),
            8000u);
  // Right propensities give uniform weights with mean 1.
  EXPECT_NEAR(evaluation.test_overlap().uniform_mean_weight(), 1,
              5 * evaluation.test_overlap().uniform_mean_weight_error());
  EXPECT_EQ(evaluation.bounds_size(), 3);
  EXPECT_LE(evaluation.logging_reward().lower(), 1 - before / 3 + 0.04);
  EXPECT_GE(evaluation.logging_reward().upper(), 1 - before / 3 - 0.04);
  // The next round compares with this version, which has not logged anything
  // yet.
  EXPECT_THAT(Train(train_),
              IsFailedPrecondition("of version 2, 0 to validate"));
}

// Three labels, all set; a context of length 5, and a longer one that is not
// used for training. If all scores are far below 0, the gradient of log h is x
// for each label; log h changes with w at most at the rate 2 k X.
TEST(LabelWeightsTest, TheBallHasTheSteepestGradient) {
  LabelData data;
  data.contexts = {.num_features = 2,
                   .num_labels = 3,
                   .row_offsets = {0, 2, 3},
                   .columns = {0, 1, 0},
                   .values = {3, 4, 100}};
  data.train = {.contexts = {0},
                .labels = {1, 1, 1},
                .log_propensities = {std::log(0.25)},
                .losses = {-1}};
  const LabelTrainData train(data);
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(6, -10);
  Eigen::VectorXd step(6);
  step << 3, 3, 3, 4, 4, 4;
  step *= 1e-3 / step.norm();
  ASSERT_OK_AND_ASSIGN(const WeightedParts parts, train.Weigh(w));
  ASSERT_OK_AND_ASSIGN(const WeightedParts moved, train.Weigh(w + step));
  EXPECT_NEAR(parts.train.log_uniform[0], std::log(1.0 / 8), 1e-12);
  ASSERT_TRUE(parts.ball.has_value());
  EXPECT_EQ(parts.ball->dimension, 6u);
  EXPECT_NEAR(parts.ball->radius, w.norm(), 1e-12);
  EXPECT_NEAR(
      (moved.train.log_weights[0] - parts.train.log_weights[0]) / step.norm(),
      2 * static_cast<double>(parts.ball->ranks) * parts.ball->feature_norm,
      1e-6);
}

// The β of the grid's points that were trained, from the first start.
std::vector<double> Smoothings(const config::v1::TrainReport& report) {
  std::vector<double> smoothings;
  for (const auto& point : report.evaluation().grid()) {
    if (point.start() != "zero") continue;
    smoothings.push_back(point.has_smoothing() ? point.smoothing() : 1);
  }
  return smoothings;
}

TEST_F(LabelTrainTest, CrmSmoothsWeightsUnlessToldOtherwise) {
  Log(600);
  train_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto by_default, Train(train_));
  EXPECT_THAT(Smoothings(by_default), UnorderedElementsAre(0.7, 1));
  train_.mutable_poem()->add_smoothing(1);
  ASSERT_OK_AND_ASSIGN(const auto plain, Train(train_));
  EXPECT_THAT(Smoothings(plain), ElementsAre(1));
  train_.mutable_poem()->clear_smoothing();
  train_.mutable_poem()->clear_lambda();
  train_.mutable_poem()->set_objective(config::v1::PoemOptions::CLIPPED_IPS);
  ASSERT_OK_AND_ASSIGN(const auto other, Train(train_));
  EXPECT_THAT(Smoothings(other), ElementsAre(1));
}

TEST_F(LabelTrainTest, ADryRunPublishesNothing) {
  Log(600);
  train_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(train_));
  EXPECT_FALSE(report.has_version());
  EXPECT_GT(report.evaluation().effective_sample_size(), 0);
  EXPECT_EQ(NumVersions(), 1u);
}

TEST_F(LabelTrainTest, EveryObjectiveTakesLabels) {
  Log(2000);
  train_.set_dry_run(true);
  for (const auto objective :
       {config::v1::PoemOptions::CRM, config::v1::PoemOptions::SELF_NORMALISED,
        config::v1::PoemOptions::DOUBLY_ROBUST}) {
    train_.mutable_poem()->clear_lambda();
    train_.mutable_poem()->set_objective(objective);
    train_.mutable_poem()->set_optimiser(config::v1::PoemOptions::BATCH);
    ASSERT_OK_AND_ASSIGN(const auto report, Train(train_));
    SCOPED_TRACE(report.evaluation().verdict());
    EXPECT_GT(report.evaluation().snips_reward().value(),
              report.evaluation().logging_reward().value());
  }
}

TEST_F(LabelTrainTest, TheNewestVersionSaysTheKind) {
  Log(600);
  train_.set_dry_run(true);
  train_.set_action("");
  EXPECT_OK(Train(train_));
  for (const char* action : {"select", "rank"}) {
    train_.set_action(action);
    EXPECT_THAT(
        Train(train_),
        IsFailedPrecondition("version 1 of model 'default' chooses labels"));
  }
  // No name changes its kind while a version of it is there.
  std::filesystem::remove_all(store_.root() + "/default/1");
  ASSERT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
  train_.set_action("labels");
  EXPECT_THAT(
      Train(train_),
      IsFailedPrecondition("version 2 of model 'default' chooses candidates"));
}

TEST_F(LabelTrainTest, AMixtureIsRefusedWhereItIsAskedFor) {
  Log(600);
  train_.set_uniform_mixture(0.1);
  EXPECT_THAT(Train(train_),
              IsInvalidArgument("uniform_mixture is 0.1, must be 0"));
  train_.set_action("sets");
  EXPECT_THAT(Train(train_),
              IsInvalidArgument("must be select, rank, label or labels"));
}

TEST_F(LabelTrainTest, BadTuplesMakeNoModel) {
  std::vector<log::v1::BanditTuple> tuples(20);
  for (size_t i = 0; i < tuples.size(); ++i) {
    log::v1::Decision* decision = tuples[i].mutable_decision();
    decision->set_decision_id(absl::StrCat("d", i));
    decision->set_model("default");
    decision->set_action_kind(log::v1::LABELS);
    decision->set_num_candidates(1);
    decision->set_num_features(1);
    decision->set_num_labels(2);
    decision->add_dense_values(static_cast<float>(i));
    decision->set_log_propensity(i % 2 == 0 ? 1 : -1);
    if (i % 2 == 1) decision->add_action(2);
  }
  WriteSegment(dir_.Sub("bad"), 0, tuples);
  train_.set_tuples(dir_.Sub("bad"));
  train_.set_force(true);
  EXPECT_THAT(
      Train(train_),
      IsFailedPrecondition("20 tuples read", "10 left out: labels out of range",
                           "10 left out: propensity not in (0, 1]"));
  // Label tuples are not tuples of selections.
  train_.set_action("select");
  EXPECT_THAT(Train(train_),
              IsFailedPrecondition("20 left out: other kind of action"));
  EXPECT_EQ(NumVersions(), 0u);
}

// The parameters are α w, since the family has no separate temperature.
TEST(LabelTrainDataTest, ParametersAreThoseOfTheStoredPolicy) {
  LabelData data;
  data.contexts.num_features = 2;
  data.contexts.num_labels = 3;
  const LabelTrainData train(std::move(data));
  Eigen::VectorXd parameters(6);
  parameters << 1, -2, 3, -4, 5, -6;
  model::v1::Model model;
  model.set_name("m");
  train.SetPolicy(parameters, &model);
  EXPECT_OK(ValidateModel(model));
  EXPECT_EQ(train.ParametersOf(model), parameters);
  model.mutable_policy()->set_inverse_temperature(0.5);
  EXPECT_EQ(train.ParametersOf(model), Eigen::VectorXd(0.5 * parameters));
  model.set_num_features(3);
  EXPECT_EQ(train.ParametersOf(model), std::nullopt);
  model.set_num_features(2);
  model.mutable_policy()->mutable_plackett_luce();
  EXPECT_EQ(train.ParametersOf(model), std::nullopt);
}

// Models that give labels to items, trained by the command.

class LabelModelsTest : public PlantedTest {
 protected:
  TrainOptions OptionsFor(const std::string& learner,
                          const LabelledQueries& data) {
    TrainOptions options;
    options.set_learner(learner);
    options.add_data(Write(learner, data));
    options.set_model_store(options_.model_store());
    return options;
  }
};

// A client sends the multi-vector features of an item to Select and gets its
// class. It is right as often as the report says, within 5 standard errors.
TEST_F(LabelModelsTest, ClassesAreSelectedByJointFeatures) {
  const TrainOptions options =
      OptionsFor("multiclass", PlantedClasses(150, 0, 1));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  const LabelledReport& labelled = report.labelled();
  EXPECT_EQ(labelled.action(), "select");
  EXPECT_EQ(labelled.measure(), "accuracy");
  EXPECT_EQ(labelled.quality_size(), 1);
  EXPECT_EQ(labelled.quality(0).name(), "accuracy, deterministic");
  EXPECT_GT(labelled.quality(0).value(), 0.95);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  const model::v1::Model& model = stored.model;
  ASSERT_EQ(model.num_features(), 3 * kPlantedFeatures);
  ASSERT_OK_AND_ASSIGN(
      const LinearPolicy policy,
      LinearPolicy::Create(model.policy(),
                           {model.weights().begin(), model.weights().end()}));
  PolicyWorkspace workspace;
  double right = 0;
  double expected = 0;
  double all = 0;
  for (const LabelledQuery& query : PlantedClasses(50, 0, 9).queries) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      ASSERT_OK_AND_ASSIGN(
          const JointFeatures joint,
          MultiVectorFeatures(
              std::span(query.features)
                  .subspan(i * kPlantedFeatures, kPlantedFeatures),
              3));
      PolicyQuery asked;
      asked.candidates = joint.View();
      right += policy.Mode(asked, &workspace)[0] ==
                       static_cast<int32_t>(query.relevances[i])
                   ? 1
                   : 0;
      expected +=
          policy.FirstProbabilities(asked, nullptr)[query.relevances[i]];
      ++all;
    }
  }
  EXPECT_GT(right / all, 0.95);
  EXPECT_NEAR(expected / all, labelled.new_measure().value(), 0.03);
  // Warm-up queries are items with all possible classes.
  ASSERT_GT(stored.warmup.size(), 0);
  EXPECT_EQ(stored.warmup[0].action_kind(), log::v1::SELECT);
  EXPECT_EQ(stored.warmup[0].num_candidates(), 3);
  EXPECT_EQ(stored.warmup[0].num_features(), 3 * kPlantedFeatures);
}

TEST_F(LabelModelsTest, ClassesPassTheGateOnlyIfBetter) {
  TrainOptions noise = OptionsFor("multiclass", PlantedClasses(150, 0.9, 1));
  ASSERT_OK(Train(noise));
  const TrainOptions options =
      OptionsFor("multiclass", PlantedClasses(150, 0, 1));
  ASSERT_OK_AND_ASSIGN(const TrainReport better, Train(options));
  EXPECT_EQ(better.version(), 2);
  EXPECT_GT(better.labelled().difference().lower(), 0);
  ASSERT_OK_AND_ASSIGN(const TrainReport again, Train(options));
  EXPECT_FALSE(again.gate_passed());
  EXPECT_EQ(again.labelled().difference().value(), 0);
  // Orders are not classes.
  TrainOptions order = OptionsFor("ranksvm", Planted(150, 0, 1));
  order.set_model("orders");
  ASSERT_OK(Train(order));
  noise.set_model("orders");
  ASSERT_OK_AND_ASSIGN(const TrainReport other, Train(noise));
  EXPECT_THAT(other.labelled().incomparable(), HasSubstr("features"));
}

// Labels mostly stay the same, so that the neighbours have more information
// than the item.
TEST_F(LabelModelsTest, SequencesAreLabelledByTheirNeighbours) {
  TrainOptions chain = OptionsFor("chain", PlantedSequences(200, 1));
  chain.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport with, Train(chain));
  EXPECT_EQ(with.labelled().action(), "label");
  EXPECT_EQ(with.labelled().measure(), "accuracy");
  EXPECT_EQ(with.labelled().new_draws(), 0);
  TrainOptions classes = OptionsFor("multiclass", PlantedSequences(200, 1));
  classes.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport without, Train(classes));
  EXPECT_GT(with.labelled().quality(0).value(),
            without.labelled().quality(0).value() + 0.1);
  EXPECT_GT(with.labelled().new_measure().value(),
            without.labelled().new_measure().value() + 0.1);
}

}  // namespace
}  // namespace sortition
