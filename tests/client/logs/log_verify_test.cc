#include "client/logs/log_verify.h"

#include "absl/strings/str_replace.h"
#include "client/logs/choice_verify.h"
#include "client/logs/log_commands.h"
#include "io/files.h"
#include "io/segments/decision_view.h"
#include "tests/client/logs/log_verify_fixture.h"
#include "tests/testing/column_model.h"

namespace sortition {
namespace {

TEST_F(LogVerifyTest, AcceptsWhatPoliciesDecided) {
  for (int i = 0; i < 50; ++i) {
    const std::string id = absl::StrCat("d", i);
    for (const auto* model : {&select_, &uniform_}) {
      EXPECT_EQ(Difference(Decide(*model, false, id)), "");
    }
    for (const auto* model : {&rank_, &game_, &boltzmann_, &head_, &factored_,
                              &sorted_, &uniform_}) {
      EXPECT_EQ(Difference(Decide(*model, true, id)), "");
    }
  }
}

// Before the first version the baseline decides, with some of the uniform
// policy; who decides follows from the id.
TEST_F(LogVerifyTest, RecomputesAColdStart) {
  bool explored = false;
  for (int i = 0; i < 50; ++i) {
    log::v1::Decision decision = Decide(uniform_, true, absl::StrCat("d", i));
    log::v1::BaselineChoice& baseline = *decision.mutable_baseline();
    baseline.set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
    baseline.set_model_probability(0.2);
    for (const int32_t document : decision.action()) {
      baseline.add_action(document);
    }
    const BaselinePlan plan = PlanOf(baseline);
    ASSERT_OK_AND_ASSIGN(const DecisionView view, ViewDecision(decision));
    const LinearPolicy policy = LinearPolicy::Uniform(ActionKind::kRank, false);
    PolicyWorkspace workspace;
    Draw draw;
    const BaselineOutcome outcome = DecideWithBaseline(
        plan, policy,
        {view.candidates, view.eligible, view.top_k, {}, view.columns},
        DecisionKey(decision.model(), 0, decision.decision_id(), ""),
        BaselineNumber(decision.model(), "", decision.decision_id()),
        &workspace, &draw);
    baseline.set_model_decided(outcome.model_decided);
    baseline.set_model_log_propensity(*outcome.model_log_propensity);
    SetDraw(draw, &decision);
    EXPECT_EQ(Difference(decision), "");
    explored |= outcome.model_decided;
    // Another share gives another probability, or another decider.
    baseline.set_model_probability(0.3);
    EXPECT_THAT(Difference(decision), HasSubstr("expected"));
  }
  EXPECT_TRUE(explored);
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
    EXPECT_THAT(Difference(bad), HasTexts("top_k: expected", "logged 41"));
    bad = good;
    bad.set_action_kind(log::v1::RANK);
    EXPECT_THAT(Difference(bad), Not(""));
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

class AggregateVerifyTest : public LogFixture {
 protected:
  // Decides score lists by a draw from their mean.
  static log::v1::Decision DecideAggregate(bool drawn) {
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
    decision.set_top_k(4);
    SetDraw(draw, &decision);
    return decision;
  }
};

TEST_F(AggregateVerifyTest, RepeatsAggregationsWithoutAModel) {
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

TEST_F(LogVerifyTest, WhatIsNotTheModelsOrCannotBeRecomputedDiffers) {
  using Decision = log::v1::Decision;
  const struct {
    std::function<void(Decision*)> change;
    std::string difference;
  } kCases[] = {
      {[](Decision* d) { d->mutable_policy()->set_uniform_mixture(0.2); },
       "policy: expected"},
      {[&](Decision* d) {
         d->set_model(rank_.name());
         d->set_version(rank_.version());
       },
       "policy: expected"},
      {[](Decision* d) { d->set_can_abstain(false); },
       "can_abstain: expected true"},
      {[](Decision* d) { d->set_num_candidates(5); }, "num_candidates is 5"},
      {[](Decision* d) { d->set_dense_values(3, std::nanf("")); }, "nan"},
      {[](Decision* d) {
         for (bool& eligible : *d->mutable_eligible()) eligible = false;
       },
       "none is true"},
      {[](Decision* d) {
         d->set_num_features(4);
         d->set_num_candidates(2);
       },
       "num_features: expected 2"},
      {[](Decision* d) { d->clear_action_kind(); }, "action_kind"},
  };
  for (const auto& [change, difference] : kCases) {
    Decision bad = Decide(select_, false, "a");
    change(&bad);
    EXPECT_THAT(Difference(bad), HasSubstr(difference));
  }
  Decision uniform = Decide(uniform_, false, "a");
  *uniform.mutable_policy() = select_.policy();
  EXPECT_THAT(Difference(uniform), HasSubstr("policy: expected none"));
}

// `log verify` over whole logs.

using LogVerifyCommandTest = LogVerifyTest;

TEST_F(LogVerifyCommandTest, CommandCountsWhatItVerified) {
  ASSERT_OK(Write("1", 1,
                  {Spool(Decide(select_, false, "a")),
                   Tuple(Decide(rank_, true, "b"), 1), Feedback("f", "a", 1)})
                ->Close());
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_OK(RunLogVerify(options, {log()}, &output_));
  EXPECT_THAT(out_.str(),
              HasSubstr("2 decisions verified bit for bit, 0 diff"));
}

TEST_F(LogVerifyCommandTest, CommandNamesTheFirstRecordThatDiffers) {
  log::v1::Decision changed = Decide(select_, false, "changed");
  changed.set_log_propensity(std::nextafter(changed.log_propensity(), 0));
  auto writer = Write("1", 1, {Spool(Decide(select_, false, "a"))});
  const uint64_t offset = writer->bytes();
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Append(Tuple(changed, 1)));
  ASSERT_OK(writer->Close());
  config::v1::LogOptions options;
  options.set_model_store(store());
  options.set_output("json");
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output_),
      StatusIs(absl::StatusCode::kDataLoss,
               HasTexts(log() + "/1.seg offset " + std::to_string(offset) +
                            " decision changed: ",
                        "log_propensity: expected")));
  EXPECT_THAT(out_.str(), HasTexts("\"verified\":1,\"different\":2",
                                   "\"decision_id\":\"changed\""));
}

TEST_F(LogVerifyCommandTest, MissingModelsAreErrorsNotSkipped) {
  model::v1::Model gone = select_;
  log::v1::Decision decision = Decide(gone, false, "a");
  decision.set_version(99);
  ASSERT_OK(Write("1", 1, {Spool(decision)})->Close());
  DecisionVerifier with_store{ModelStore(store())};
  EXPECT_THAT(VerifyLog({log()}, &with_store).status().message(),
              HasSubstr("decision a: "));
  DecisionVerifier without{std::nullopt};
  EXPECT_THAT(VerifyLog({log()}, &without), IsInvalidArgument("--model_store"));
}

TEST_F(LogVerifyCommandTest, SaysThatLabelsAreNotVerified) {
  log::v1::Decision labels = Decide(uniform_, false, "labels");
  labels.set_action_kind(log::v1::LABELS);
  ASSERT_OK(Write("1", 1,
                  {Tuple(Decide(select_, false, "a"), 1), Tuple(labels, 1),
                   Tuple(labels, 1)})
                ->Close());
  config::v1::LogOptions options;
  options.set_model_store(store());
  EXPECT_THAT(
      RunLogVerify(options, {log()}, &output_),
      StatusIs(absl::StatusCode::kUnimplemented,
               HasSubstr("2 decisions chose labels and were not verified")));
  EXPECT_THAT(out_.str(), HasTexts("1 decisions verified", "0 different",
                                   "2 of labels left out"));
}

// Nothing is wrong with an imported log, and nothing can be recomputed.
TEST_F(LogVerifyCommandTest, SaysThatImportedDecisionsAreOfNoPolicyHere) {
  log::v1::Decision other = Decide(uniform_, false, "other");
  other.set_log_propensity(-0.125);
  log::v1::Decision unknown = Decide(select_, false, "unknown");
  unknown.set_version(99);
  const auto write = [&](const std::string& options) {
    SegmentWriter::Options segment;
    segment.dir = log();
    segment.name = options.empty() ? "1.seg" : "2.seg";
    segment.header.set_format_version(1);
    segment.header.set_kind(log::v1::SegmentHeader::TUPLES);
    segment.preallocate_bytes = 65536;
    segment.header.set_incarnation("i");
    segment.header.set_writer_id("import");
    segment.header.set_first_sequence(1);
    segment.header.set_options(options);
    auto writer = SegmentWriter::Create(segment);
    ASSERT_OK(writer);
    for (const log::v1::Decision& decision :
         {other, unknown, Decide(uniform_, false, "ours")}) {
      ASSERT_OK((*writer)->Append(Tuple(decision, 1)));
    }
    ASSERT_OK((*writer)->Close());
  };
  write("format: \"csv\" columns: \"p=prob\"");
  EXPECT_OK(RunLogVerify({}, {log()}, &output_));
  EXPECT_THAT(out_.str(), HasTexts("1 decisions verified", "0 different",
                                   "2 not a Sortition policy (imported)"));
  out_.str("");
  config::v1::LogOptions options;
  options.set_output("json");
  EXPECT_OK(RunLogVerify(options, {log()}, &output_));
  EXPECT_THAT(out_.str(), HasSubstr("\"imported\":2"));
  // What a sidecar wrote beside it is verified as ever.
  write("");
  options.set_model_store(store());
  const absl::Status status = RunLogVerify(options, {log()}, &output_);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("1.seg"));
}

TEST_F(LogVerifyCommandTest, AnEmptyLogVerifiesNothing) {
  ASSERT_OK(Write("1", 1, {})->Close());
  EXPECT_THAT(RunLogVerify({}, {log()}, &output_),
              IsNotFound("holds no decisions"));
}

// Decisions about named columns, recomputed from what was logged of them.

class ColumnVerifyTest : public LogFixture {
 protected:
  // Publishes a model that was learned with this version of Unicode; empty:
  // with that of this program.
  model::v1::Model PublishColumns(const std::string& unicode_version) {
    model::v1::Model model = MakeColumnModel("columns", 3);
    if (!unicode_version.empty()) {
      model.mutable_features()->mutable_learned()->set_unicode_version(
          unicode_version);
    }
    return Publish(model);
  }

  // A decision as a server would have logged it.
  static log::v1::Decision DecideColumns(const model::v1::Model& model) {
    const Schema schema =
        Schema::Create(model.features().spec().schema()).value();
    RandomSequence random(SeedKey(8));
    log::v1::Decision decision;
    decision.set_decision_id("a");
    decision.set_model(model.name());
    decision.set_version(model.version());
    *decision.mutable_policy() = model.policy();
    decision.set_action_kind(log::v1::SELECT);
    decision.set_num_candidates(4);
    *decision.mutable_columns() = MakeUpColumns(schema, 4, &random);
    decision.set_can_abstain(true);
    const LinearPolicy policy = LinearPolicy::Create(model).value();
    PolicyQuery query;
    query.columns = &decision.columns();
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(
        query, DecisionKey(model.name(), model.version(), "a", SaltOf(model)),
        &workspace, &draw);
    EXPECT_OK(workspace.refusal);
    SetDraw(draw, &decision);
    return decision;
  }
};

TEST_F(ColumnVerifyTest, RecomputesFeaturesOfColumns) {
  log::v1::Decision decision = DecideColumns(PublishColumns(""));
  EXPECT_EQ(Difference(decision), "");
  // Another text has other features. It says nothing of Unicode.
  for (v1::Column& column : *decision.mutable_columns()->mutable_candidate()) {
    if (column.name() != "price") continue;
    const double price = column.numbers().values(0);
    column.mutable_numbers()->set_values(0, price + 1);
  }
  EXPECT_THAT(Difference(decision), HasSubstr("expected"));
  EXPECT_THAT(Difference(decision), Not(HasSubstr("Unicode")));
}

TEST_F(ColumnVerifyTest, NamesTheUnicodeThatMayBeTheReason) {
  log::v1::Decision decision = DecideColumns(PublishColumns("1.1"));
  EXPECT_EQ(Difference(decision), "");
  decision.set_log_propensity(decision.log_propensity() / 2);
  EXPECT_THAT(Difference(decision),
              HasTexts("log_propensity (",
                       "texts were split into words by Unicode 1.1"));
}

}  // namespace
}  // namespace sortition
