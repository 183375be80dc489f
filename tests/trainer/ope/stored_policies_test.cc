// Versions of the store: what serves is what is judged.

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/counterfactual/estimators.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "io/segments/decision_view.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using config::v1::OpeReport;

// Another policy of the same family.
model::v1::Model OtherModel(const SyntheticLog& log) {
  model::v1::Model model = LoggingModel(log);
  for (int j = 0; j < model.weights_size(); ++j) {
    model.set_weights(j, 0.4 - 0.2 * j);
  }
  model.mutable_policy()->set_inverse_temperature(1.5);
  return model;
}

class StoredPoliciesTest : public OpeFixture,
                           public testing::WithParamInterface<ActionKind> {
 protected:
  void Prepare(size_t n) {
    tuples_ = MakeTuples(log_, n);
    WriteLog(tuples_);
    Publish(LoggingModel(log_));
    Publish(OtherModel(log_));
  }
  SyntheticLog log_{.action_kind = GetParam()};
  std::vector<log::v1::BanditTuple> tuples_;
};

TEST_P(StoredPoliciesTest, AVersionOnItsOwnLogEarnsWhatTheLogDid) {
  Prepare(500);
  SetPolicies({"version:1"});
  const OpeReport report = Judge();
  const OpePolicy& policy = report.policies(0);
  EXPECT_EQ(policy.answer().value().value(), report.logged().value());
  EXPECT_EQ(policy.answer().gain().value(), 0);
  EXPECT_EQ(policy.answer().gain().lower(), 0);
  EXPECT_EQ(policy.answer().gain().upper(), 0);
  EXPECT_EQ(policy.overlap().largest_weight(), 1);
  EXPECT_EQ(policy.overlap().effective_sample_size(), 500);
}

TEST_P(StoredPoliciesTest, WeightsAreThoseOfTrain) {
  Prepare(300);
  SetPolicies({"newest"});
  const OpeReport report = Judge();
  std::vector<BanditTuple> converted(tuples_.size());
  for (size_t i = 0; i < tuples_.size(); ++i) {
    ASSERT_FALSE(
        ConvertTuple(tuples_[i],
                     {.action_kind = log_.action_kind,
                      .num_features = log_.num_features,
                      .can_abstain = true,
                      .fixed_size = log_.action_kind == ActionKind::kSubset},
                     &converted[i])
            .has_value());
  }
  const model::v1::Model model = OtherModel(log_);
  const LinearFamily family{
      .action_kind = log_.action_kind,
      .num_features = log_.num_features,
      .can_abstain = log_.action_kind == ActionKind::kSelect,
      .uniform_mixture = model.policy().uniform_mixture(),
      .subset_size = log_.action_kind == ActionKind::kSubset ? log_.top_k : 0};
  const auto parameters = ParametersOf(family, model);
  ASSERT_TRUE(parameters.has_value());
  ASSERT_OK_AND_ASSIGN(const WeightedTuples weighted,
                       WeighLinear(family, *parameters, converted));
  double sum = 0;
  double weights = 0;
  for (size_t i = 0; i < weighted.size(); ++i) {
    sum += std::exp(weighted.log_weights[i]) * weighted.rewards[i];
    weights += std::exp(weighted.log_weights[i]);
  }
  const OpePolicy& policy = report.policies(0);
  EXPECT_NEAR(EstimateOf(policy, "ips").value().value(), sum / 300, 1e-12);
  EXPECT_NEAR(EstimateOf(policy, "snips").value().value(), sum / weights,
              1e-12);
}

TEST_P(StoredPoliciesTest, AFileOfItsProbabilitiesGivesTheSame) {
  Prepare(300);
  const model::v1::Model model = OtherModel(log_);
  const LinearPolicy policy = *LinearPolicy::Create(model);
  std::string file;
  PolicyWorkspace workspace;
  for (const auto& tuple : tuples_) {
    const log::v1::Decision& decision = tuple.decision();
    const PolicyQuery query = QueryOf(decision);
    absl::StrAppend(&file, "{\"decision_id\": \"", decision.decision_id(),
                    "\", ");
    if (log_.action_kind != ActionKind::kSelect) {
      absl::StrAppendFormat(
          &file, "\"log_probability\": %.17g}\n",
          policy.LogPropensity(query, SpanOf(decision.action()), &workspace));
      continue;
    }
    double abstain = 0;
    std::vector<double> probabilities =
        policy.FirstProbabilities(query, &abstain);
    probabilities.push_back(abstain);
    absl::StrAppend(&file, "\"probabilities\": [",
                    absl::StrJoin(probabilities, ", ",
                                  [](std::string* out, double probability) {
                                    absl::StrAppendFormat(out, "%.17g",
                                                          probability);
                                  }),
                    "]}\n");
  }
  SetPolicies({"newest", "text=" + Write("text.jsonl", file)});
  const OpeReport report = Judge();
  const OpePolicy& text = PolicyOf(report, "text");
  for (const auto& estimate : text.estimates()) {
    const auto& stored =
        EstimateOf(PolicyOf(report, "newest"), estimate.estimator());
    EXPECT_NEAR(estimate.value().value(), stored.value().value(), 1e-9);
    EXPECT_NEAR(estimate.gain().value(), stored.gain().value(), 1e-9);
    EXPECT_NEAR(estimate.standard_error(), stored.standard_error(), 1e-9);
    EXPECT_NEAR(estimate.gain_standard_error(), stored.gain_standard_error(),
                1e-9);
  }
  if (log_.action_kind == ActionKind::kSelect) {
    EXPECT_EQ(text.estimates_size(),
              PolicyOf(report, "newest").estimates_size());
  }
}

TEST_P(StoredPoliciesTest, KnownTruthsAreCovered) {
  Prepare(4000);
  SetPolicies({"newest", "uniform", "newest@mixture=0.5"});
  const OpeReport report = Judge();
  // What the others would have earned in these very queries, by drawing anew.
  const model::v1::Model model = OtherModel(log_);
  const LinearPolicy newest = *LinearPolicy::Create(model);
  const LinearPolicy uniform = LinearPolicy::Uniform(
      log_.action_kind, log_.action_kind == ActionKind::kSelect);
  PolicyWorkspace workspace;
  Draw draw;
  const auto truth = [&](const LinearPolicy& policy) {
    constexpr int kDraws = 20;
    double sum = 0;
    for (const auto& tuple : tuples_) {
      log::v1::Decision decision = tuple.decision();
      for (int i = 0; i < kDraws; ++i) {
        policy.Decide(QueryOf(decision),
                      DecisionKey("truth", static_cast<uint64_t>(i),
                                  decision.decision_id()),
                      &workspace, &draw);
        decision.mutable_action()->Assign(draw.action.begin(),
                                          draw.action.end());
        sum += RewardProbability(decision);
      }
    }
    return sum / (kDraws * static_cast<double>(tuples_.size()));
  };
  const double of_newest = truth(newest);
  const double of_uniform = truth(uniform);
  const auto covers = [&](const std::string& name, double expected) {
    const auto& value = PolicyOf(report, name).answer().value();
    EXPECT_LE(value.lower(), expected) << name;
    EXPECT_GE(value.upper(), expected) << name;
    EXPECT_LT(value.upper() - value.lower(), 0.3) << name;
  };
  covers("newest", of_newest);
  covers("uniform", of_uniform);
  // The newest version has 0.1 uniform in it already.
  covers("newest@mixture=0.5",
         of_newest + (0.5 - 0.1) / 0.9 * (of_uniform - of_newest));
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoredPoliciesTest,
                         testing::Values(ActionKind::kSelect, ActionKind::kRank,
                                         ActionKind::kSubset));

TEST_F(OpeFixture, DifferencesOfTwoVersionsArePaired) {
  const SyntheticLog log;
  WriteLog(MakeTuples(log, 1000));
  Publish(LoggingModel(log));
  Publish(OtherModel(log));
  SetPolicies({"version:2", "version:2@mixture=0.11"});
  options_.set_against("version:2");
  const OpeReport report = Judge();
  EXPECT_FALSE(report.policies(0).answer().has_gain());
  const auto& answer = report.policies(1).answer();
  EXPECT_NEAR(
      answer.gain().value(),
      answer.value().value() -
          EstimateOf(report.policies(0), answer.estimator()).value().value(),
      1e-12);
  // They hardly differ: unpaired, errors would add up.
  EXPECT_LT(answer.gain_standard_error(), answer.standard_error() / 10);
}

TEST_F(OpeFixture, BalancedWeightsNeedAllLoggingVersions) {
  SyntheticLog first;
  SyntheticLog second{.version = 2};
  Publish(LoggingModel(first));
  Publish(LoggingModel(second));
  WriteLog(MakeTuples(first, 200));
  WriteLog(MakeTuples(second, 200, "second"));
  SetPolicies({"newest@temperature=0.5"});
  // Both versions are the same policy, so that balanced weights are the others.
  const OpePolicy policy = Judge().policies(0);
  EXPECT_NEAR(EstimateOf(policy, "balanced").value().value(),
              EstimateOf(policy, "ips").value().value(), 1e-9);
  EXPECT_EQ(EstimateOf(policy, "weighted").estimator(), "weighted");
}

TEST_F(OpeFixture, ExplorationCostsWhatTheMixtureDoes) {
  const SyntheticLog log;
  WriteLog(MakeTuples(log, 500));
  Publish(OtherModel(log));
  SetPolicies({"newest", "newest@mixture=0.2"});
  const OpeReport report = Judge();
  ASSERT_EQ(report.exploration_size(), 7);
  const auto& at_fifth = report.exploration(5);
  EXPECT_EQ(at_fifth.mixture(), 0.2);
  EXPECT_NEAR(at_fifth.value().value().value(),
              EstimateOf(PolicyOf(report, "newest@mixture=0.2"),
                         at_fifth.value().estimator())
                  .value()
                  .value(),
              1e-12);
  EXPECT_NEAR(at_fifth.cost(),
              report.exploration(0).value().value().value() -
                  at_fifth.value().value().value(),
              1e-12);
  EXPECT_EQ(report.exploration(0).cost(), 0);
}

TEST_F(OpeFixture, APolicyThatMayHaveLearnedFromTheLogIsNamed) {
  const SyntheticLog log;
  auto tuples = MakeTuples(log, 100);
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].mutable_decision()->set_time_us(
        1700000000000000 + static_cast<int64_t>(i) * 1000000);
  }
  WriteLog(tuples);
  model::v1::Model model = OtherModel(log);
  model.mutable_provenance()->set_learner("poem");
  model.mutable_provenance()->set_created_time_us(1700000030000000);
  Publish(model);
  SetPolicies({"newest"});
  const auto learned = [&](const OpeReport& report) {
    const auto* finding = FindingOf(report.policies(0), "learned_from_log");
    if (finding == nullptr) return std::string();
    EXPECT_EQ(finding->gravity(), model::v1::Finding::UNSUPPORTED);
    return finding->sentence();
  };
  EXPECT_EQ(learned(Judge()).substr(0, 31), "30 of 100 decisions are older t");
  // What the finding says to do helps.
  options_.set_since("2023-11-14T22:13:50+00:00");
  const OpeReport later = Judge();
  EXPECT_EQ(later.decisions(), 70u);
  EXPECT_EQ(learned(later), "");
}

TEST_F(OpeFixture, OverridesCountAsAskedFor) {
  const SyntheticLog log{.can_abstain = false};
  auto tuples = MakeTuples(log, 200);
  for (size_t i = 0; i < tuples.size(); i += 4) {
    tuples[i].mutable_shown()->set_not_shown(true);
  }
  WriteLog(tuples);
  SetPolicies({"uniform"});
  options_.set_reward_model("none");
  const double intended =
      EstimateOf(Judge().policies(0), "ips").value().value();
  double all = 0;
  double shown = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const double term = std::exp(-tuples[i].decision().log_propensity()) / 6 *
                        tuples[i].reward();
    all += term;
    if (i % 4 > 0) shown += term;
  }
  EXPECT_NEAR(intended, all / 200, 1e-12);
  options_.set_overrides("as_shown");
  EXPECT_NEAR(EstimateOf(Judge().policies(0), "ips").value().value(),
              shown / 200, 1e-12);
}

TEST_F(OpeFixture, BalancedWeightsAreLeftOutForManyVersions) {
  const auto has_balanced = [](const OpeReport& report) {
    for (const auto& estimate : report.policies(0).estimates()) {
      if (estimate.estimator() == "balanced") return true;
    }
    return false;
  };
  for (uint64_t version = 1; version <= 9; ++version) {
    const SyntheticLog log{.can_abstain = false, .version = version};
    WriteLog(MakeTuples(log, 20, absl::StrCat(version, "-")));
    Publish(LoggingModel(log));
  }
  SetPolicies({"uniform"});
  const OpeReport nine = Judge();
  EXPECT_EQ(nine.logging_versions_size(), 9);
  EXPECT_FALSE(has_balanced(nine));
  EXPECT_NE(FindingOf(nine, "many_versions"), nullptr);
  options_.set_versions("1,2,3,4,5,6,7,8");
  const OpeReport eight = Judge();
  EXPECT_TRUE(has_balanced(eight));
  EXPECT_EQ(FindingOf(eight, "many_versions"), nullptr);
}

TEST_F(OpeFixture, WhatWasNotShownEarnsNothingForTheLogEither) {
  const SyntheticLog log{.can_abstain = false};
  auto tuples = MakeTuples(log, 200);
  double shown = 0;
  double weighted = 0;
  double weights = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    if (i % 3 == 0) tuples[i].mutable_shown()->set_not_shown(true);
    const double weight = std::exp(-tuples[i].decision().log_propensity()) / 6;
    weights += weight;
    if (i % 3 == 0) continue;
    shown += tuples[i].reward();
    weighted += weight * tuples[i].reward();
  }
  WriteLog(tuples);
  Publish(LoggingModel(log));
  SetPolicies({"version:1", "uniform"});
  options_.set_overrides("as_shown");
  const OpeReport report = Judge();
  EXPECT_NEAR(report.logged().value(), shown / 200, 1e-12);
  const OpePolicy& logging = PolicyOf(report, "version:1");
  for (const auto& estimate : logging.estimates()) {
    // Models are right on average only.
    if (estimate.estimator() != "ips" && estimate.estimator() != "snips") {
      continue;
    }
    EXPECT_EQ(estimate.gain().value(), 0) << estimate.estimator();
  }
  EXPECT_EQ(logging.answer().gain().value(), 0);
  EXPECT_EQ(logging.answer().gain().lower(), 0);
  EXPECT_EQ(logging.answer().gain().upper(), 0);
  const auto& snips = EstimateOf(PolicyOf(report, "uniform"), "snips");
  EXPECT_NEAR(snips.value().value(), weighted / weights, 1e-12);
}

// A version that looked on is judged by what it said.

// Lets `model` look on as `version` at every decision whose number is a
// multiple of `every`.
void LookOn(const model::v1::Model& model, uint64_t version, size_t every,
            std::vector<log::v1::BanditTuple>* tuples) {
  const LinearPolicy policy = *LinearPolicy::Create(model);
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples->size(); i += every) {
    const log::v1::Decision& decision = (*tuples)[i].decision();
    log::v1::ShadowView& said = *(*tuples)[i].add_shadow_views();
    said.set_decision_id(decision.decision_id());
    said.set_model(decision.model());
    said.set_version(version);
    said.set_log_propensity(policy.LogPropensity(
        QueryOf(decision), SpanOf(decision.action()), &workspace));
  }
}

class ShadowPolicyTest : public OpeFixture,
                         public testing::WithParamInterface<ActionKind> {
 protected:
  void ExpectSame(const config::v1::OpePolicy& a,
                  const config::v1::OpePolicy& b) {
    for (const char* estimator : {"ips", "snips"}) {
      EXPECT_EQ(EstimateOf(a, estimator).value().value(),
                EstimateOf(b, estimator).value().value());
      EXPECT_EQ(EstimateOf(a, estimator).gain().value(),
                EstimateOf(b, estimator).gain().value());
      EXPECT_EQ(EstimateOf(a, estimator).gain_standard_error(),
                EstimateOf(b, estimator).gain_standard_error());
    }
    EXPECT_EQ(a.overlap().effective_sample_size(),
              b.overlap().effective_sample_size());
  }

  SyntheticLog log_{.action_kind = GetParam()};
};

TEST_P(ShadowPolicyTest, IsJudgedAsTheStoredVersion) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log_, 400);
  LookOn(OtherModel(log_), 2, 1, &tuples);
  // Another version has another opinion.
  LookOn(LoggingModel(log_), 7, 1, &tuples);
  WriteLog(tuples);
  Publish(LoggingModel(log_));
  Publish(OtherModel(log_));
  SetPolicies({"shadow:2", "version:2"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 400u);
  ExpectSame(PolicyOf(report, "shadow:2"), PolicyOf(report, "version:2"));
}

// All policies are judged by the tuples that the shadow looked on at, and the
// report says so.
TEST_P(ShadowPolicyTest, OnlyWhatItLookedOnAtCounts) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log_, 400);
  std::vector<log::v1::BanditTuple> looked_at;
  for (size_t i = 0; i < tuples.size(); i += 4) looked_at.push_back(tuples[i]);
  Publish(LoggingModel(log_));
  Publish(OtherModel(log_));
  WriteLog(looked_at);
  SetPolicies({"version:2"});
  const OpeReport expected = Judge();

  std::filesystem::remove_all(dir_ / "tuples");
  LookOn(OtherModel(log_), 2, 4, &tuples);
  WriteLog(tuples);
  SetPolicies({"shadow:2", "version:2"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 100u);
  EXPECT_EQ(report.excluded().at("a shadow did not look on at it"), 300u);
  ExpectSame(PolicyOf(report, "shadow:2"), PolicyOf(expected, "version:2"));
  ExpectSame(PolicyOf(report, "version:2"), PolicyOf(expected, "version:2"));
  ASSERT_NE(FindingOf(report, "shadow_views"), nullptr);
  EXPECT_THAT(FindingOf(report, "shadow_views")->sentence(),
              HasSubstr("shadow:2 looked on at 100 of 400 decisions"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShadowPolicyTest,
                         testing::Values(ActionKind::kSelect, ActionKind::kRank,
                                         ActionKind::kSubset));

TEST_F(OpeFixture, AVersionThatNeverLookedOnCannotBeJudged) {
  WriteLog(MakeTuples({}, 20));
  SetPolicies({"shadow:2"});
  EXPECT_THAT(Ope(options_),
              IsFailedPrecondition("0 decisions can be judged",
                                   "20 left out: a shadow did not look on "
                                   "at it"));
}

}  // namespace
}  // namespace sortition
