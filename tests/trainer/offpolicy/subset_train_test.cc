// Policies learned from logs of subsets, of any and of fixed size; and from
// logs of games, which give some actions probability 0.

#include "tests/trainer/offpolicy/subset_tuples.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using enum LeftOutReason;

class SubsetTrainTest : public TrainFixture {
 protected:
  // The learned policy is better than the one that logged, and the 95 %
  // interval of its estimate has its true reward (fixed seeds; 20,000 fresh
  // queries, whose mean has a standard error below 0.004).
  void ExpectBetter(const SubsetLog& log) {
    Prepare(MakeSubsetTuples(log, 8000), SubsetLoggingModel(log));
    ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
    EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
    ASSERT_OK_AND_ASSIGN(stored_, store_.Load("default", 2));
    const double before = TrueReward(log, SubsetLoggingModel(log), 20000);
    const double after = TrueReward(log, stored_.model, 20000);
    EXPECT_GT(after, before + 0.05);
    const auto& evaluation = report.evaluation();
    EXPECT_NEAR(evaluation.logging_reward().value(), before, 0.02);
    EXPECT_LT(evaluation.ips_reward().lower(), after);
    EXPECT_GT(evaluation.ips_reward().upper(), after);
    EXPECT_LT(evaluation.improvement().lower(), after - before);
    EXPECT_NEAR(evaluation.snips_reward().value(), after, 0.05);
    // Every action could be drawn, so the mean weights of the learned and of
    // the uniform policy are 1.
    const auto& overlap = evaluation.test_overlap();
    EXPECT_NEAR(overlap.mean_weight(), 1, 4 * overlap.mean_weight_error());
    EXPECT_NEAR(overlap.uniform_mean_weight(), 1,
                4 * overlap.uniform_mean_weight_error());
    EXPECT_EQ(overlap.without_full_support_fraction(), 0);
  }

  StoredModel stored_;
};

TEST_F(SubsetTrainTest, LearnsSubsetsOfAnySize) {
  ExpectBetter({});
  const model::v1::Policy& policy = stored_.model.policy();
  ASSERT_TRUE(policy.has_independent_subset());
  EXPECT_EQ(policy.independent_subset().k(), 0);
  EXPECT_NE(policy.independent_subset().threshold(), 0);
  EXPECT_EQ(stored_.warmup.size(), 100);
}

TEST_F(SubsetTrainTest, LearnsSubsetsOfTheModelsSize) {
  ExpectBetter({.size = 2});
  EXPECT_EQ(stored_.model.policy().independent_subset().k(), 2);
  EXPECT_EQ(stored_.model.policy().independent_subset().threshold(), 0);
}

// The policy in the store has subsets of any size, but all requests asked for
// 3: the tuples cannot be used with this parent, but without it they can.
TEST_F(SubsetTrainTest, SizesOfRequestsAndModelsMustAgree) {
  const SubsetLog log{.size = 3, .size_of_request = true};
  Prepare(MakeSubsetTuples(log, 200), SubsetLoggingModel(log));
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("subset of fixed size among those of any"));
  config::v1::TrainOptions read = options_;
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(read, {}));
  EXPECT_EQ(data.subset_size, 3);
  EXPECT_EQ(data.action_kind, ActionKind::kSubset);
  EXPECT_EQ(data.excluded_tuples(), 0);
}

// Version 0, uniform over the sets of the size that each request asks for.
TEST_F(SubsetTrainTest, LearnsFromTheUniformPolicy) {
  const SubsetLog log{.size = 2, .size_of_request = true, .version = 0};
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 6000; ++i) {
    log::v1::BanditTuple tuple = MakeSubsetTuple(log, absl::StrCat("d", i));
    log::v1::Decision* decision = tuple.mutable_decision();
    decision->clear_policy();
    const SubsetQuery query(decision->decision_id());
    const LinearPolicy uniform =
        LinearPolicy::Uniform(ActionKind::kSubset, false);
    Redecide(uniform, decision);
    tuple.set_reward(query.Reward(
        log, {decision->action().begin(), decision->action().end()}));
    tuples.push_back(tuple);
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 1));
  EXPECT_EQ(stored.model.policy().independent_subset().k(), 2);
  // One of 15 pairs.
  EXPECT_NEAR(report.evaluation().test_overlap().smallest_propensity(), 1. / 15,
              1e-12);
}

// Training also starts at the parent's parameters if the parent belongs to the
// family.
TEST_F(SubsetTrainTest, StartsFromAParentOfTheFamilyOnly) {
  const SubsetLog log;
  Prepare(MakeSubsetTuples(log, 400), SubsetLoggingModel(log));
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  EXPECT_EQ(report.evaluation().grid_size(), 3);
  model::v1::Model game = SubsetLoggingModel(log);
  auto* subset = game.mutable_policy()->mutable_game_subset();
  subset->set_measure(model::v1::GameSubset::F_BETA);
  const TempDir other;
  ASSERT_OK(ModelStore(other.Sub("models")).Publish(game, nullptr, {}));
  options_.set_model_store(other.Sub("models"));
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.evaluation().grid_size(), 1);
  EXPECT_EQ(report.evaluation().grid(0).start(), "zero");
}

TEST_F(SubsetTrainTest, DoublyRobustIsRefused) {
  Prepare(MakeSubsetTuples({}, 100), SubsetLoggingModel({}));
  options_.mutable_poem()->set_objective(
      config::v1::PoemOptions::DOUBLY_ROBUST);
  options_.mutable_poem()->clear_lambda();
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("must be another for subsets"));
}

// What was shown is compared as a set: order does not matter, size does.
TEST(SubsetConvertTest, ShownIsASet) {
  log::v1::BanditTuple tuple = MakeSubsetTuple({}, "d1");
  log::v1::Decision* decision = tuple.mutable_decision();
  const TupleExpectation expectation{.action_kind = ActionKind::kSubset,
                                     .num_features = kSubsetFeatures,
                                     .overrides = Overrides::kAsShown};
  const auto shown = [&](const Action& action, std::vector<uint32_t> seen,
                         bool not_shown = false) {
    *decision->mutable_action() = {action.begin(), action.end()};
    *tuple.mutable_shown()->mutable_shown() = {seen.begin(), seen.end()};
    tuple.mutable_shown()->set_not_shown(not_shown);
    BanditTuple result;
    const auto reason = ConvertTuple(tuple, expectation, &result);
    CHECK(!reason.has_value());
    EXPECT_EQ(result.action, action);
    return result.action_shown;
  };
  EXPECT_TRUE(shown({1, 4}, {1, 4}));
  EXPECT_TRUE(shown({1, 4}, {4, 1}));
  EXPECT_FALSE(shown({1, 4}, {1}));
  EXPECT_FALSE(shown({1, 4}, {1, 4, 5}));
  EXPECT_FALSE(shown({1, 4}, {1, 5}));
  EXPECT_FALSE(shown({1, 4}, {}, true));
  EXPECT_TRUE(shown({}, {}));
  EXPECT_TRUE(shown({}, {}, true));
  EXPECT_FALSE(shown({}, {2}));
}

TEST(SubsetConvertTest, LeavesOutWhatIsMalformed) {
  const SubsetLog fixed{.size = 2};
  const auto reason = [](log::v1::BanditTuple tuple, bool fixed_size,
                         const Action& action) {
    *tuple.mutable_decision()->mutable_action() = {action.begin(),
                                                   action.end()};
    BanditTuple result;
    return ConvertTuple(tuple,
                        {.action_kind = ActionKind::kSubset,
                         .num_features = kSubsetFeatures,
                         .fixed_size = fixed_size},
                        &result);
  };
  const log::v1::BanditTuple any = MakeSubsetTuple({}, "d1");
  log::v1::BanditTuple two = MakeSubsetTuple(fixed, "d1");
  EXPECT_EQ(reason(any, false, {0, 5}), std::nullopt);
  EXPECT_EQ(reason(any, false, {}), std::nullopt);
  EXPECT_EQ(reason(any, false, {5, 0}), kBadAction);
  EXPECT_EQ(reason(any, false, {0, 6}), kBadAction);
  EXPECT_EQ(reason(any, false, {kAbstain}), kBadAction);
  EXPECT_EQ(reason(any, false, {3, 3}), kBadAction);
  EXPECT_EQ(reason(any, true, {0, 5}), kOtherSize);
  EXPECT_EQ(reason(two, false, {0, 5}), kOtherSize);
  EXPECT_EQ(reason(two, true, {0, 5}), std::nullopt);
  EXPECT_EQ(reason(two, true, {0}), kBadAction);
  // With one eligible candidate, both are that candidate.
  for (int i = 0; i < 6; ++i) two.mutable_decision()->add_eligible(i == 3);
  EXPECT_EQ(reason(two, true, {3}), std::nullopt);
}

}  // namespace
}  // namespace sortition
