#include "client/logs/log_verify.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_replace.h"
#include "io/files.h"
#include "tests/client/logs/log_verify_fixture.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(LogVerifyTest, AcceptsWhatPoliciesDecided) {
  for (int i = 0; i < 50; ++i) {
    const std::string id = absl::StrCat("d", i);
    EXPECT_EQ(Difference(Decide(select_, false, id)), "");
    EXPECT_EQ(Difference(Decide(rank_, true, id)), "");
    EXPECT_EQ(Difference(Decide(game_, true, id)), "");
    EXPECT_EQ(Difference(Decide(boltzmann_, true, id)), "");
    EXPECT_EQ(Difference(Decide(head_, true, id)), "");
    EXPECT_EQ(Difference(Decide(factored_, true, id)), "");
    EXPECT_EQ(Difference(Decide(sorted_, true, id)), "");
    EXPECT_EQ(Difference(Decide(uniform_, false, id)), "");
    EXPECT_EQ(Difference(Decide(uniform_, true, id)), "");
  }
}

TEST_F(LogVerifyTest, AcceptsSeedsAndSparseFeatures) {
  log::v1::Decision seeded = Decide(select_, false, "a");
  seeded.set_seed(77);
  Complete(select_, false, &seeded);
  EXPECT_EQ(Difference(seeded), "");
  log::v1::Decision sparse = Decide(rank_, true, "b");
  sparse.clear_dense_values();
  for (const uint32_t offset : {0, 1, 1, 3, 4}) {
    sparse.mutable_sparse()->add_row_offsets(offset);
  }
  for (const uint32_t column : {1, 0, 1, 0}) {
    sparse.mutable_sparse()->add_columns(column);
    sparse.mutable_sparse()->add_values(0.5f);
  }
  Complete(rank_, true, &sparse);
  EXPECT_EQ(Difference(sparse), "");
}

TEST_F(LogVerifyTest, AcceptsSubsets) {
  for (int i = 0; i < 30; ++i) {
    const std::string id = absl::StrCat("d", i);
    for (const model::v1::Model* model :
         {&f_score_, &precision_, &independent_, &uniform_}) {
      EXPECT_EQ(Difference(Label(*model, id)), "");
    }
    for (const model::v1::Model* model :
         {&precision_, &independent_, &uniform_}) {
      EXPECT_EQ(Difference(Label(*model, id, 3)), "");
    }
    for (const uint32_t rounds : {0, 1, 2}) {
      EXPECT_EQ(Difference(Label(f_score_, id, 0, rounds)), "");
    }
  }
}

TEST_F(LogVerifyTest, FindsChangesInSubsets) {
  for (const model::v1::Model* model :
       {&f_score_, &precision_, &independent_, &uniform_}) {
    const log::v1::Decision good = Label(*model, "a");
    log::v1::Decision bad = good;
    bad.set_log_propensity(std::nextafter(good.log_propensity(), -1));
    EXPECT_THAT(Difference(bad), HasSubstr("log_propensity"));
    bad = good;
    bad.add_action(40);
    EXPECT_THAT(Difference(bad), HasSubstr("action"));
    bad = good;
    if (bad.action_size() > 0) {
      bad.mutable_action()->RemoveLast();
      EXPECT_THAT(Difference(bad), HasSubstr("action"));
    }
    bad = good;
    bad.set_game_rounds(1000);
    EXPECT_THAT(Difference(bad), "game_rounds: expected none, logged 1000");
    bad = good;
    bad.set_top_k(41);
    EXPECT_THAT(Difference(bad),
                AllOf(HasSubstr("top_k: expected"), HasSubstr("logged 41")));
    bad = good;
    bad.set_action_kind(log::v1::RANK);
    EXPECT_THAT(Difference(bad), testing::Not(""));
  }
  log::v1::Decision ranked = Decide(rank_, true, "a");
  ranked.set_game_rounds(1);
  EXPECT_EQ(Difference(ranked), "game_rounds: expected none, logged 1");
}

// A game of more rounds, or fewer, or all of them has another strategy, and
// with it nearly every propensity differs.
TEST_F(LogVerifyTest, FindsChangedRoundsOfGames) {
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    log::v1::Decision bad = Label(f_score_, absl::StrCat("d", i), 0, 1);
    bad.set_game_rounds(2);
    found += Difference(bad).find("with game_rounds = 2: expected") !=
             std::string::npos;
    bad.clear_game_rounds();
    found += Difference(bad).find("with game_rounds = none: expected") !=
             std::string::npos;
  }
  EXPECT_GT(found, 30);
}

TEST_F(LogVerifyTest, FindsOneBitAnywhere) {
  for (const model::v1::Model& model :
       {rank_, game_, boltzmann_, head_, factored_, sorted_}) {
    const log::v1::Decision good = Decide(model, true, "a");
    log::v1::Decision bad = good;
    bad.set_log_propensity(std::nextafter(good.log_propensity(), 0));
    EXPECT_THAT(Difference(bad), HasSubstr("log_propensity: expected"));
    bad = good;
    bad.set_conditional_log_propensities(
        1, std::nextafter(good.conditional_log_propensities(1), 0));
    EXPECT_THAT(Difference(bad), HasSubstr("conditional_log_propensities[1]"));
    bad = good;
    bad.mutable_action()->SwapElements(0, 1);
    EXPECT_THAT(Difference(bad), HasSubstr("action: expected ["));
    // Changing a score that is far from the others may leave the game
    // unchanged; making two scores equal does not.
    bad = good;
    for (int j = 0; j < 2; ++j)
      bad.set_dense_values(j, bad.dense_values(4 + j));
    EXPECT_NE(Difference(bad), "");
  }
}

// Decides score lists by a draw from their mean.
log::v1::Decision DecideAggregate(bool drawn) {
  log::v1::Decision decision;
  decision.set_decision_id("aggregate-1");
  decision.set_model("aggregate");
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(4);
  decision.set_num_features(2);
  for (int i = 0; i < 8; ++i) {
    decision.add_dense_values(0.25f * static_cast<float>((i * 5) % 8));
  }
  decision.mutable_aggregation()->set_scale(v1::Aggregation::RANK);
  decision.mutable_aggregation()->add_weights(1);
  decision.mutable_aggregation()->add_weights(3);
  if (drawn) {
    *decision.mutable_policy() =
        MakeAggregateDraw(AggregateDivergence::kDcg, 0, 2);
  }
  const AggregatePolicy policy =
      AggregatePolicy::Create(decision.policy()).value();
  AggregateQuery query;
  query.lists.candidates =
      Candidates::DenseUnchecked({decision.dense_values().data(), 8}, 2);
  query.weights = {decision.aggregation().weights().data(), 2};
  query.scale = ScoreScale::kRank;
  AggregateResult result;
  Draw draw;
  EXPECT_OK(policy.Decide(query, DecisionKey("aggregate", 0, "aggregate-1"),
                          &result, &draw));
  decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
  decision.set_top_k(4);
  decision.set_log_propensity(draw.log_propensity);
  decision.mutable_conditional_log_propensities()->Assign(
      draw.conditional_log_propensities.begin(),
      draw.conditional_log_propensities.end());
  return decision;
}

TEST_F(LogVerifyTest, RepeatsAggregationsWithoutAModel) {
  for (const bool drawn : {false, true}) {
    EXPECT_EQ(Difference(DecideAggregate(drawn)), "");
    log::v1::Decision changed = DecideAggregate(drawn);
    changed.set_log_propensity(changed.log_propensity() - 1e-15);
    EXPECT_THAT(Difference(changed), HasSubstr("log_propensity: expected"));
    changed = DecideAggregate(drawn);
    changed.mutable_aggregation()->set_weights(1, -1);
    EXPECT_THAT(Difference(changed), HasSubstr("cannot be recomputed"));
    changed = DecideAggregate(drawn);
    changed.mutable_aggregation()->set_scale(
        static_cast<v1::Aggregation::Scale>(5));
    EXPECT_THAT(Difference(changed), HasSubstr("aggregation.scale is 5"));
    changed = DecideAggregate(drawn);
    changed.set_version(1);
    EXPECT_THAT(Difference(changed), HasSubstr("action_kind and version"));
    changed = DecideAggregate(drawn);
    for (int i = 0; i < 8; ++i) {
      changed.set_dense_values(i, -changed.dense_values(i));
    }
    EXPECT_NE(Difference(changed), "");
  }
  log::v1::Decision drawn = DecideAggregate(true);
  drawn.mutable_policy()->set_inverse_temperature(3);
  EXPECT_THAT(Difference(drawn), HasSubstr("expected"));
}

TEST_F(LogVerifyTest, ASaltThatIsNotTheVersionsIsFound) {
  const log::v1::Decision salted = Decide(select_, false, "a");
  EXPECT_EQ(Difference(salted), "");
  const std::string manifest = absl::StrCat(
      store(), "/default/", select_.version(), "/MANIFEST.textproto");
  ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(manifest));
  const std::string line = absl::StrCat("draw_salt: \"", kDrawSalt, "\"\n");
  ASSERT_THAT(text, HasSubstr(line));
  // A version of a release without salts.
  ASSERT_OK(WriteFile(manifest, absl::StrReplaceAll(text, {{line, ""}})));
  int different = 0;
  for (int i = 0; i < 20; ++i) {
    if (!Difference(Decide(select_, false, absl::StrCat(i))).empty()) {
      ++different;
    }
  }
  EXPECT_GT(different, 0);
}

TEST_F(LogVerifyTest, FindsAPolicyThatIsNotTheModels) {
  log::v1::Decision bad = Decide(select_, false, "a");
  bad.mutable_policy()->set_uniform_mixture(0.2);
  EXPECT_THAT(Difference(bad), HasSubstr("policy: expected"));
  bad = Decide(select_, false, "a");
  bad.set_model(rank_.name());
  bad.set_version(rank_.version());
  EXPECT_THAT(Difference(bad), HasSubstr("policy: expected"));
  bad = Decide(uniform_, false, "a");
  *bad.mutable_policy() = select_.policy();
  EXPECT_THAT(Difference(bad), HasSubstr("policy: expected none"));
  bad = Decide(select_, false, "a");
  bad.set_can_abstain(false);
  EXPECT_THAT(Difference(bad), HasSubstr("can_abstain: expected true"));
}

TEST_F(LogVerifyTest, RecordsThatCannotBeRecomputedDiffer) {
  log::v1::Decision bad = Decide(select_, false, "a");
  bad.set_num_candidates(5);
  EXPECT_THAT(Difference(bad), HasSubstr("num_candidates is 5"));
  bad = Decide(select_, false, "a");
  bad.set_dense_values(3, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(Difference(bad), HasSubstr("nan"));
  bad = Decide(select_, false, "a");
  for (bool& eligible : *bad.mutable_eligible()) eligible = false;
  EXPECT_THAT(Difference(bad), HasSubstr("none is true"));
  bad = Decide(select_, false, "a");
  bad.set_num_features(4);
  bad.set_num_candidates(2);
  EXPECT_THAT(Difference(bad), HasSubstr("num_features: expected 2"));
  bad = Decide(select_, false, "a");
  bad.set_action_kind(log::v1::ACTION_KIND_UNSPECIFIED);
  EXPECT_THAT(Difference(bad), HasSubstr("action_kind"));
}

}  // namespace
}  // namespace sortition
