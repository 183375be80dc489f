// Models that give labels to items, trained by the command.
#include <string>
#include <vector>

#include "core/data/joint_features.h"
#include "core/data/labelled_queries.h"
#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/planted_kinds.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;
using testing::HasSubstr;

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
