#include "sidecar/spools/record_wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

log::v1::Decision SomeDecision() {
  log::v1::Decision decision;
  decision.set_decision_id("an id");
  decision.set_time_us(1234567890123);
  decision.set_model("m");
  for (int i = 0; i < 1000; ++i) {
    decision.add_dense_values(static_cast<float>(i));
  }
  return decision;
}

TEST(RecordWireTest, ViewsTheOneFieldOfARecord) {
  log::v1::LogRecord record;
  *record.mutable_decision() = SomeDecision();
  const std::string payload = record.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const RecordView view, ViewRecord(payload));
  EXPECT_EQ(view.kind, log::v1::LogRecord::kDecision);
  EXPECT_EQ(view.bytes, record.decision().SerializeAsString());
}

TEST(RecordWireTest, RefusesWhatIsNotOneField) {
  log::v1::LogRecord record;
  *record.mutable_decision() = SomeDecision();
  const std::string payload = record.SerializeAsString();
  for (const std::string& bad :
       {std::string(), payload.substr(0, payload.size() - 1), payload + "x",
        std::string("\x08\x01"), std::string("\x1a\xff\xff\xff\xff\x0f", 6)}) {
    EXPECT_THAT(ViewRecord(bad), StatusIs(absl::StatusCode::kDataLoss));
  }
}

TEST(RecordWireTest, FindsIdAndTimeOfADecision) {
  const std::string bytes = SomeDecision().SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DecisionWire view, ViewDecision(bytes));
  EXPECT_EQ(view.id, "an id");
  EXPECT_EQ(view.time_us, 1234567890123);
}

// Otherwise a caller that asks again in another trace would have two answers.
TEST(RecordWireTest, TheTraceIsNoPartOfTheAnswer) {
  const auto hash = [](const log::v1::Decision& decision) {
    const std::string bytes = decision.SerializeAsString();
    const auto wire = ViewDecision(bytes);
    const auto action = ViewAction(bytes);
    EXPECT_OK(wire);
    EXPECT_OK(action);
    return HashAnswer(*wire, action->trace_field);
  };
  log::v1::Decision decision = SomeDecision();
  const uint64_t answer = hash(decision);
  ASSERT_FALSE(decision.dense_values().empty());
  for (const char fill : {'a', 'b'}) {
    decision.set_trace_context(std::string(24, fill));
    EXPECT_EQ(hash(decision), answer);
    const std::string bytes = decision.SerializeAsString();
    ASSERT_OK_AND_ASSIGN(const absl::string_view context,
                         ViewTraceContext(bytes));
    EXPECT_EQ(context, decision.trace_context());
  }
  // As the server writes it: features last, behind the trace.
  log::v1::Decision head = decision;
  head.clear_dense_values();
  log::v1::Decision features;
  *features.mutable_dense_values() = decision.dense_values();
  log::v1::Decision untraced = head;
  untraced.clear_trace_context();
  const auto hash_of_bytes = [](const std::string& bytes) {
    return HashAnswer(*ViewDecision(bytes), ViewAction(bytes)->trace_field);
  };
  EXPECT_EQ(
      hash_of_bytes(head.SerializeAsString() + features.SerializeAsString()),
      hash_of_bytes(untraced.SerializeAsString() +
                    features.SerializeAsString()));
  decision.set_log_propensity(decision.log_propensity() - 1);
  EXPECT_NE(hash(decision), answer);
}

TEST(RecordWireTest, ParsesAChoiceWithoutFeatures) {
  log::v1::Decision decision = SomeDecision();
  decision.set_version(3);
  decision.set_action_kind(log::v1::SELECT);
  decision.add_action(-1);
  decision.set_log_propensity(-0.5);
  decision.set_unit_id("u");
  decision.mutable_arm()->set_probability(0.25);
  decision.mutable_baseline()->set_model_log_propensity(-2);
  const log::v1::Decision expected = [&decision] {
    log::v1::Decision choice = decision;
    choice.clear_dense_values();
    return choice;
  }();
  decision.add_candidate_ids("c");
  decision.add_eligible(true);
  decision.mutable_policy()->set_inverse_temperature(1);
  decision.mutable_sparse()->add_columns(1);
  decision.mutable_columns()->set_num_candidates(1);
  (*decision.mutable_attributes())["a"] = "b";
  const std::string bytes = decision.SerializeAsString();
  std::string kept = "something";
  log::v1::Decision choice;
  choice.set_seed(9);  // Of an earlier use.
  ASSERT_OK(ParseChoice(bytes, &kept, &choice));
  EXPECT_EQ(choice.SerializeAsString(), expected.SerializeAsString());
  EXPECT_THAT(ParseChoice(bytes.substr(0, bytes.size() - 1), &kept, &choice),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ParseChoice(bytes + "\x0c", &kept, &choice),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, OfConditionalPropensitiesTheFirstIsKept) {
  log::v1::Decision decision;
  std::string kept;
  log::v1::Decision choice;
  for (const double value : {-0.5, -1.5, -2.5}) {
    decision.add_conditional_log_propensities(value);
    ASSERT_OK(ParseChoice(decision.SerializeAsString(), &kept, &choice));
    ASSERT_EQ(choice.conditional_log_propensities_size(), 1);
    EXPECT_EQ(choice.conditional_log_propensities(0), -0.5);
  }
  // Field 15, with seven bytes: no double.
  EXPECT_THAT(ParseChoice("\x7a\x07" + std::string(7, 'x'), &kept, &choice),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ParseChoice("\x7a\x09" + std::string(8, 'x'), &kept, &choice),
              StatusIs(absl::StatusCode::kDataLoss));
}

// Protobuf allows any order of fields.
TEST(RecordWireTest, FindsIdAndTimeWhereTheyComeLast) {
  log::v1::Decision head;
  head.set_decision_id("an id");
  head.set_time_us(-5);
  log::v1::Decision rest = SomeDecision();
  rest.clear_decision_id();
  rest.clear_time_us();
  const std::string bytes = rest.SerializeAsString() + head.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DecisionWire view, ViewDecision(bytes));
  EXPECT_EQ(view.id, "an id");
  EXPECT_EQ(view.time_us, -5);
}

TEST(RecordWireTest, RefusesADecisionWithoutId) {
  EXPECT_THAT(ViewDecision(""), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ViewDecision("\x10\x05"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(ViewDecision("\x0a\x50short"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, FindsCandidatesAndWhetherNothingIsToBeShown) {
  struct Case {
    log::v1::ActionKind kind;
    std::vector<int32_t> action;
    bool is_empty;
  };
  const Case cases[] = {
      {log::v1::SELECT, {-1}, true},    {log::v1::SELECT, {0}, false},
      {log::v1::SELECT, {5000}, false}, {log::v1::SUBSET, {}, true},
      {log::v1::SUBSET, {0}, false},    {log::v1::RANK, {2, 0}, false},
      {log::v1::LABELS, {}, false},     {log::v1::SELECT, {}, false},
  };
  for (const Case& each : cases) {
    log::v1::Decision decision = SomeDecision();
    decision.set_num_candidates(7000);
    decision.set_action_kind(each.kind);
    decision.mutable_action()->Assign(each.action.begin(), each.action.end());
    const std::string bytes = decision.SerializeAsString();
    ASSERT_OK_AND_ASSIGN(const DecidedAction action, ViewAction(bytes));
    EXPECT_EQ(action.num_candidates, 7000u);
    EXPECT_EQ(action.is_empty, each.is_empty) << decision.ShortDebugString();
  }
  ASSERT_OK_AND_ASSIGN(const DecidedAction none, ViewAction(""));
  EXPECT_EQ(none.num_candidates, 0u);
  EXPECT_THAT(ViewAction("\x0a\x50short"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, FindsTheModelThatDecided) {
  log::v1::Decision decision = SomeDecision();
  std::string bytes = decision.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(DecidingModel model, ViewModel(bytes));
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.version, 0u);
  decision.set_version(12345678901);
  bytes = decision.SerializeAsString();
  // Nothing behind the version is looked at.
  bytes.resize(bytes.size() - 500);
  ASSERT_OK_AND_ASSIGN(model, ViewModel(bytes));
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.version, 12345678901u);
  EXPECT_THAT(ViewModel("\x0a\x50short"),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, FindsWhatTheJoinNeedsOfAView) {
  log::v1::ShadowView view;
  view.set_decision_id("d1");
  view.set_time_us(-5);
  view.set_model("m");
  view.set_version(12345678901);
  view.set_log_propensity(-1.5);
  for (int i = 0; i < 300; ++i) view.add_mode(i);
  const std::string bytes = view.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const ShadowViewWire wire, ViewShadowView(bytes));
  EXPECT_EQ(wire.decision_id, "d1");
  EXPECT_EQ(wire.time_us, -5);
  EXPECT_EQ(wire.version, 12345678901u);
  EXPECT_THAT(ViewShadowView(bytes.substr(0, bytes.size() - 1)),
              StatusIs(absl::StatusCode::kDataLoss));
  view.clear_decision_id();
  EXPECT_THAT(ViewShadowView(view.SerializeAsString()),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, FindsTheUnitWhereverItIs) {
  log::v1::Decision decision = SomeDecision();
  ASSERT_OK_AND_ASSIGN(absl::string_view unit,
                       ViewUnit(decision.SerializeAsString()));
  EXPECT_EQ(unit, "");
  decision.set_unit_id("user 1");
  const std::string bytes = decision.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(unit, ViewUnit(bytes));
  EXPECT_EQ(unit, "user 1");
  // The server writes the features behind it.
  log::v1::Decision values;
  values.add_dense_values(1);
  const std::string served = bytes + values.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(unit, ViewUnit(served));
  EXPECT_EQ(unit, "user 1");
  EXPECT_THAT(ViewUnit("\x0a\x50short"), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RecordWireTest, PrefixAndDecisionMakeATupleRecord) {
  log::v1::BanditTuple tuple;
  tuple.mutable_position()->set_segment("s");
  tuple.mutable_position()->set_offset(300);
  tuple.set_reward(0.5);
  tuple.add_feedback()->set_feedback_id("f");
  const std::string decision = SomeDecision().SerializeAsString();
  const std::string payload = TuplePrefix(tuple, decision.size()) + decision;

  log::v1::LogRecord expected;
  *expected.mutable_tuple() = tuple;
  *expected.mutable_tuple()->mutable_decision() = SomeDecision();
  EXPECT_EQ(payload, expected.SerializeAsString());
  ASSERT_OK_AND_ASSIGN(const RecordView view, ViewRecord(payload));
  ASSERT_OK_AND_ASSIGN(const auto position, ViewPosition(view.bytes));
  EXPECT_EQ(position.segment(), "s");
  EXPECT_EQ(position.offset(), 300u);
}

}  // namespace
}  // namespace sortition
