#include "client/logs/log_verify.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "absl/strings/str_replace.h"
#include "client/logs/log_commands.h"
#include "io/files.h"
#include "tests/client/logs/log_fixture.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LogVerifyTest : public LogFixture {
 protected:
  LogVerifyTest() {
    uniform_.set_name("default");
    select_ = Publish(false);
    rank_ = Publish(true);
    model::v1::Policy game;
    game.mutable_game_ranking()->set_discount(model::v1::GameRanking::DCG);
    game_ = Publish(game);
    model::v1::Policy boltzmann;
    auto* orders = boltzmann.mutable_boltzmann_ranking();
    orders->set_rank_weights(model::v1::BoltzmannRanking::DCG);
    boltzmann_ = Publish(boltzmann);
    orders->set_head(2);  // Less than the three eligible candidates.
    orders->set_plackett_luce_mixture(0.3);
    head_ = Publish(boltzmann);
    model::v1::Policy factors;
    for (const double factor : {2.0, 0.5}) {
      factors.mutable_plackett_luce()->add_rank_factors(factor);
    }
    factored_ = Publish(factors);
    model::v1::Policy by_score;
    by_score.mutable_sorted_ranking()->set_swap_probability(0.4);
    by_score.mutable_sorted_ranking()->set_shuffle_probability(0.2);
    by_score.mutable_sorted_ranking()->set_shuffle_ranks(3);
    sorted_ = Publish(by_score);
    model::v1::Policy subset;
    subset.mutable_game_subset()->set_measure(model::v1::GameSubset::F_BETA);
    subset.mutable_game_subset()->set_tolerance(1e-9);
    f_score_ = Publish(subset);
    subset.mutable_game_subset()->set_measure(model::v1::GameSubset::PRECISION);
    subset.mutable_game_subset()->set_k(2);
    precision_ = Publish(subset);
    subset.mutable_independent_subset();
    independent_ = Publish(subset);
  }

  // Returns decision `id` of a model that labels 40 candidates, asked for `k`
  // of them (0: as the model has it), its game stopped after `rounds`.
  static log::v1::Decision Label(const model::v1::Model& model,
                                 const std::string& id, uint32_t k = 0,
                                 std::optional<uint32_t> rounds = {}) {
    log::v1::Decision decision;
    decision.set_decision_id(id);
    decision.set_model(model.name());
    decision.set_version(model.version());
    decision.set_action_kind(log::v1::SUBSET);
    decision.set_num_candidates(40);
    decision.set_num_features(2);
    for (int i = 0; i < 80; ++i) {
      decision.add_dense_values(0.01f * static_cast<float>((i * 37) % 80));
    }
    const bool uniform = model.version() == 0;
    const auto policy =
        uniform ? LinearPolicy::Uniform(ActionKind::kSubset, false)
                : LinearPolicy::Create(model.policy(), {model.weights().begin(),
                                                        model.weights().end()})
                      .value();
    if (!uniform) *decision.mutable_policy() = model.policy();
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked({decision.dense_values().data(), 80}, 2);
    query.top_k = k;
    query.game.rounds = rounds;
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(
        query,
        DecisionKey(decision.model(), decision.version(), id, SaltOf(model)),
        &workspace, &draw);
    decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision.set_log_propensity(draw.log_propensity);
    decision.set_top_k(k > 0 ? k : policy.subset_size());
    EXPECT_EQ(draw.game_rounds, rounds);
    if (rounds.has_value()) decision.set_game_rounds(*rounds);
    return decision;
  }

  // Returns what Difference() says; "" where nothing differs.
  std::string Difference(const log::v1::Decision& decision) {
    DecisionVerifier verifier{ModelStore(store())};
    const auto difference = verifier.Difference(decision);
    EXPECT_OK(difference);
    return difference.ok() ? difference->value_or("") : "error";
  }

  model::v1::Model uniform_;
  model::v1::Model select_;
  model::v1::Model rank_;
  model::v1::Model game_;
  model::v1::Model boltzmann_;
  model::v1::Model head_;
  model::v1::Model factored_;
  model::v1::Model sorted_;
  model::v1::Model f_score_;
  model::v1::Model precision_;
  model::v1::Model independent_;
};

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

TEST_F(LogVerifyTest, CommandCountsWhatItVerified) {
  ASSERT_OK(Write("1", 1,
                  {Spool(Decide(select_, false, "a")),
                   Tuple(Decide(rank_, true, "b"), 1), Feedback("f", "a", 1)})
                ->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_OK(RunLogVerify(options, {log()}, &output));
  EXPECT_THAT(out.str(), HasSubstr("2 decisions verified bit for bit, 0 diff"));
}

TEST_F(LogVerifyTest, CommandNamesTheFirstRecordThatDiffers) {
  log::v1::Decision changed = Decide(select_, false, "changed");
  changed.set_log_propensity(std::nextafter(changed.log_propensity(), 0));
  auto writer = Write("1", 1, {Spool(Decide(select_, false, "a"))});
  const uint64_t offset = writer->bytes();
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  options.set_output("json");
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(log() + "/1.seg offset " +
                               std::to_string(offset) + " decision changed: "),
                     HasSubstr("log_propensity: expected"))));
  EXPECT_THAT(out.str(), AllOf(HasSubstr("\"verified\":1,\"different\":2"),
                               HasSubstr("\"decision_id\":\"changed\"")));
}

TEST_F(LogVerifyTest, MissingModelsAreErrorsNotSkipped) {
  model::v1::Model gone = select_;
  log::v1::Decision decision = Decide(gone, false, "a");
  decision.set_version(99);
  ASSERT_OK(Write("1", 1, {Spool(decision)})->Close());
  DecisionVerifier with_store{ModelStore(store())};
  EXPECT_THAT(VerifyLog({log()}, &with_store).status().message(),
              HasSubstr("decision a: "));
  DecisionVerifier without{std::nullopt};
  EXPECT_THAT(
      VerifyLog({log()}, &without),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--model_store")));
}

TEST_F(LogVerifyTest, SaysThatLabelsAreNotVerified) {
  log::v1::Decision labels = Decide(uniform_, false, "labels");
  labels.set_action_kind(log::v1::LABELS);
  ASSERT_OK(Write("1", 1,
                  {Tuple(Decide(select_, false, "a"), 1), Tuple(labels, 1),
                   Tuple(labels, 1)})
                ->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("2 decisions chose labels and were not verified")));
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr("1 decisions verified"), HasSubstr("0 different"),
                    HasSubstr("2 of labels left out")));
}

TEST_F(LogVerifyTest, AnEmptyLogVerifiesNothing) {
  ASSERT_OK(Write("1", 1, {})->Close());
  std::ostringstream out, error;
  CommandOutput output{out, error};
  EXPECT_THAT(
      RunLogVerify({}, {log()}, &output),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no decisions")));
}

}  // namespace
}  // namespace sortition
