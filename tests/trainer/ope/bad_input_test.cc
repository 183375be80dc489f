// What is wrong is named with its value and what is permitted.
#include <functional>

#include "gmock/gmock.h"
#include "tests/trainer/ope/ope_fixture.h"

namespace sortition {
namespace {

using config::v1::OpeOptions;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(OpeFixture, BadOptionsAreNamed) {
  WriteLog(MakeTuples({}, 20));
  Publish(LoggingModel({}));
  const struct {
    std::function<void(OpeOptions*)> set;
    std::string message;
  } kCases[] = {
      {[](auto* o) { o->add_policies("best"); },
       "policies has 'best', must be newest, version:N, shadow:N, uniform, "
       "constant or"},
      {[](auto* o) { o->add_policies("version:0"); },
       "policies has 'version:0', must be version:N"},
      {[](auto* o) { o->add_policies("shadow:x"); },
       "policies has 'shadow:x', must be shadow:N"},
      {[](auto* o) { o->add_policies("shadow:2@mixture=0.1"); },
       "policies has 'shadow:2@mixture=0.1', must be shadow:N, without"},
      {[](auto* o) { o->add_policies("log=file.csv"); },
       "policies has 'log=file.csv', must be"},
      {[](auto* o) { o->add_policies("newest@mixture=1.5"); },
       "policies has 'newest@mixture=1.5', must be with a mixture in [0, 1]"},
      {[](auto* o) { o->add_policies("newest@temperature=0"); },
       "must be with a temperature in [1e-06, 1e+06]"},
      {[](auto* o) { o->add_policies("newest@mixture=0@mixture=1"); },
       "at most once"},
      {[](auto* o) { o->add_policies("uniform@mixture=1"); },
       "must be uniform, without"},
      {[](auto* o) { o->add_policies("constant@temperature=2"); },
       "must be constant, without"},
      {[](auto* o) {
         o->add_policies("newest");
         o->add_policies("newest");
       },
       "policies has 'newest', must be the only one of its name"},
      {[](auto* o) { o->set_against("version:1"); },
       "against is 'version:1', must be log or one of: newest, uniform, "
       "constant"},
      {[](auto* o) { o->set_estimator("median"); },
       "estimator is 'median', must be auto, ips, "},
      {[](auto* o) { o->set_interval("wald"); },
       "interval is 'wald', must be auto, student, "},
      {[](auto* o) { o->set_reward_model("forest"); },
       "reward_model is 'forest', must be ridge, trees, best or none"},
      {[](auto* o) { o->set_units("all"); },
       "units is 'all', must be new or same"},
      {[](auto* o) { o->set_overrides("never"); }, "overrides is 'never'"},
      {[](auto* o) { o->set_output("xml"); },
       "output is 'xml', must be text or json"},
      {[](auto* o) { o->set_reward_min(1); },
       "reward_min is 1, must be less than reward_max, which is 1"},
      {[](auto* o) { o->set_reward_max(0.5); }, "reward of decision"},
      {[](auto* o) { o->set_categories("feature:5"); },
       "categories is 'feature:5', must be ids, or feature:N with N in [0, 5)"},
      {[](auto* o) { o->set_categories("ids"); },
       "has 0 candidate_ids, must have 6"},
      {[](auto* o) { o->add_segments("device"); },
       "segments has 'device', must be an attribute of the log"},
      {[](auto* o) { o->set_since("yesterday"); }, "since is 'yesterday'"},
      {[](auto* o) { o->set_versions("x"); }, "versions is 'x'"},
      {[](auto* o) { o->add_rewards("clicks"); },
       "rewards has 'clicks', must be NAME=FILE"},
      {[](auto* o) { o->add_guardrails("clicks:0"); },
       "guardrails has 'clicks:0', must be of one of the rewards"},
      {[](auto* o) {
         o->add_rewards("clicks=clicks.csv");
         o->add_reward_ranges("clicks:0.5:1");
       },
       "reward_ranges has 'clicks:0.5:1', must be NAME:MIN:MAX with numbers "
       "-1e9 <= MIN <= 0 <= MAX <= 1e9, MIN < MAX"},
      {[](auto* o) {
         o->add_rewards("clicks=clicks.csv");
         o->add_reward_ranges("visits:0:1");
       },
       "reward_ranges has 'visits:0:1', must be of one of the rewards: clicks"},
      {[](auto* o) { o->set_model("a/b"); }, "a/b"},
      {[](auto* o) {
         o->clear_model_store();
         o->add_policies("newest");
       },
       "model_store is empty, must be a directory: policies has 'newest'"},
  };
  for (const auto& bad : kCases) {
    OpeOptions options = options_;
    bad.set(&options);
    EXPECT_THAT(Ope(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr(bad.message)));
  }
}

TEST_F(OpeFixture, WhatIsNotThereIsNotFound) {
  WriteLog(MakeTuples({}, 20));
  Publish(LoggingModel({}));
  SetPolicies({"version:7"});
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("7")));
  SetPolicies({"mine=/nowhere/mine.csv"});
  EXPECT_THAT(Ope(options_), StatusIs(absl::StatusCode::kNotFound,
                                      HasSubstr("/nowhere/mine.csv")));
  SetPolicies({"uniform"});
  options_.set_tuples("/nowhere");
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
}

TEST_F(OpeFixture, FilesThatDoNotFitTheLogAreNamedWithTheirLine) {
  auto tuple = SelectionTuple("a", {0.5, 0.5}, 0, 1);
  tuple.mutable_decision()->add_eligible(true);
  tuple.mutable_decision()->add_eligible(false);
  WriteLog({tuple, SelectionTuple("b", {0.5, 0.5}, 1, 0)});
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {"decision_id,p0\na,1\nb,1\n",
       ":2: decision 'a' has 1 probabilities, must have 2, one for each "
       "candidate"},
      {"decision_id,p0,p1\na,0.5,0.5\nb,1,0\n",
       ":2: decision 'a' gives candidate 1 the probability 0.5, must be 0: it "
       "is not eligible"},
      {"decision_id,p0,p1,p2\na,1,0,\nb,0,0.5,0.5\n",
       ":3: decision 'b' has 3 probabilities, must have 2"},
      {"decision_id,s0\na,1\nb,1\n", ":2: decision 'a' has 1 scores"},
      {"decision_id,document_index,probability\na,0,1\nb,2,1\n",
       ":3: decision 'b' has document_index 2, must be in [-1, 2)"},
      {"decision_id,document_index,probability\na,0,1\nb,-1,1\n",
       ":3: decision 'b' abstains with probability 1, must be 0"},
  };
  for (const auto& bad : kCases) {
    const std::string path = Write("mine.csv", bad.text);
    SetPolicies({"mine=" + path});
    EXPECT_THAT(Ope(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr(path + bad.message)));
  }
  SetPolicies({"mine=" + Write("mine.csv", "decision_id,p0,p1\na,1,0\n")});
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("1 of 2 decisions have no line, must be at "
                                 "most 1 %")));
}

TEST_F(OpeFixture, PoliciesMustFitTheKindOfAction) {
  WriteLog(MakeTuples({.action_kind = ActionKind::kRank}, 20));
  SetPolicies({"constant"});
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("policies has 'constant', but the log has "
                                 "rankings, must have selections")));
  // By default there is none.
  SetPolicies({});
  EXPECT_EQ(Judge().policies_size(), 1);
  // A version of another kind finds no decision.
  Publish(LoggingModel({}));
  SetPolicies({"newest"});
  EXPECT_THAT(Ope(options_), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("0 decisions"),
                                            HasSubstr("20 left out"))));
}

}  // namespace
}  // namespace sortition
