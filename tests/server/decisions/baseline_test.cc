// Learning modes: what the caller's baseline decides, what is refused of it,
// and what is logged.
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::LearningMode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BaselineTest : public RankingServiceTest {
 protected:
  BaselineTest() {
    options_.mutable_spool()->set_segment_bytes(1 << 24);
    auto subset = MakeModel("subset", {1, 2});
    subset.mutable_policy()->mutable_independent_subset()->set_threshold(0.5);
    Publish(options_.model_store(), subset);
  }

  void SetMode(LearningMode mode, uint32_t explore_parts = 0) {
    for (const char* model : {"pick", "order", "subset"}) {
      EXPECT_OK(registry_->Change(
          model, {"because", "ann"},
          [&](const EditContext&, model::v1::Serving* serving) {
            serving->set_mode(mode);
            serving->set_explore_parts(explore_parts);
            return absl::OkStatus();
          }));
    }
  }

  static v1::Baseline Parse(const std::string& text) {
    v1::Baseline baseline;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &baseline));
    return baseline;
  }

  absl::Status SelectWith(const std::string& baseline) {
    v1::SelectRequest request = GoodSelect();
    *request.mutable_context()->mutable_baseline() = Parse(baseline);
    return Select(request);
  }
  absl::Status RankWith(const std::string& baseline, uint32_t top_k = 0) {
    v1::RankRequest request = GoodRank();
    if (top_k > 0) request.set_top_k(top_k);
    *request.mutable_context()->mutable_baseline() = Parse(baseline);
    return Rank(request);
  }
  absl::Status LabelWith(const std::string& baseline, uint32_t k = 0) {
    v1::LabelRequest request;
    *request.mutable_context() = GoodSelect().context();
    request.mutable_context()->set_model("subset");
    if (k > 0) request.set_k(k);
    *request.mutable_context()->mutable_baseline() = Parse(baseline);
    return service_->Label(request, &scratch_, &label_);
  }
  log::v1::Decision LastLogged() {
    const auto records = Logged();
    EXPECT_THAT(records, Not(IsEmpty()));
    return records.empty() ? log::v1::Decision() : records.back().decision();
  }

  v1::LabelResponse label_;
};

// Three candidates; "pick" can abstain.
TEST_F(BaselineTest, WrongBaselinesAreRefusedByName) {
  SetMode(model::v1::APPRENTICE);
  struct Case {
    std::function<absl::Status()> call;
    std::vector<const char*> words;
  };
  const std::vector<Case> cases = {
      {[&] { return SelectWith("action: 3"); },
       {"context.baseline.action holds 3", "[0, 2]"}},
      {[&] { return SelectWith("action: [0, 1]"); }, {"has 2 entries", "one"}},
      {[&] { return SelectWith("action: 0 abstain: true"); },
       {"has 1 entries", "none with abstain"}},
      {[&] { return RankWith("abstain: true"); },
       {"context.baseline.abstain", "cannot abstain"}},
      {[&] { return RankWith("action: [0, 0, 1]"); }, {"holds 0", "each once"}},
      {[&] { return RankWith("action: [0, 1]"); },
       {"has 2 entries", "at least top_k = 3"}},
      {[&] { return RankWith("action: 0", 2); },
       {"has 1 entries", "at least top_k = 2"}},
      {[&] { return RankWith("action: [0, 1, 4294967295]"); },
       {"holds 4294967295"}},
      {[&] { return LabelWith("action: [2, 2]"); }, {"holds 2", "each once"}},
      {[&] { return LabelWith("action: 0", 2); }, {"has 1 entries", "k = 2"}},
      {[&] { return LabelWith("abstain: true"); }, {"cannot abstain"}},
      {[&] { return SelectWith("action: 1 log_propensity: 0.1"); },
       {"context.baseline.log_propensity = 0.1", "0]"}},
      {[&] { return SelectWith("action: 1 log_propensity: nan"); },
       {"log_propensity = nan"}},
      {[&] { return SelectWith("action: 1 log_propensity: -inf"); },
       {"log_propensity = -inf"}},
      {[&] { return SelectWith("action: 1 log_propensity: -1e9"); },
       {"log_propensity = -1e+09"}},
      {[&] {
         v1::SelectRequest request = GoodSelect();
         for (const bool eligible : {true, false, true}) {
           request.mutable_context()->add_eligible(eligible);
         }
         request.mutable_context()->mutable_baseline()->add_action(1);
         return Select(request);
       },
       {"holds 1", "eligible candidates"}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const absl::Status status = cases[i].call();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << i << status;
    for (const char* word : cases[i].words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word)) << i;
    }
  }
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(BaselineTest, OnlineIgnoresIt) {
  ASSERT_OK(Select(GoodSelect()));
  const v1::SelectResponse without = select_;
  ASSERT_OK(SelectWith("action: 77"));
  EXPECT_EQ(select_.SerializeAsString(), without.SerializeAsString());
  EXPECT_FALSE(select_.result().is_baseline());
}

TEST_F(BaselineTest, ApprenticesServeTheBaselineAndLogTheModelBesideIt) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_return_probabilities(true);
  ASSERT_OK(Select(request));
  const double model = select_.result().probabilities(1);
  SetMode(model::v1::APPRENTICE);
  ASSERT_OK(SelectWith("action: 1"));
  EXPECT_EQ(select_.selected(), 1u);
  EXPECT_TRUE(select_.result().is_baseline());
  EXPECT_EQ(select_.result().log_propensity(), 0);  // The caller is certain.
  const log::v1::Decision logged = LastLogged();
  EXPECT_EQ(logged.baseline().mode(), model::v1::APPRENTICE);
  EXPECT_THAT(logged.baseline().action(), ElementsAre(1));
  EXPECT_NEAR(std::exp(logged.baseline().model_log_propensity()), model, 1e-12);
  EXPECT_FALSE(logged.baseline().model_decided());
  EXPECT_FALSE(logged.baseline().has_log_propensity());
}

// Probabilities that are returned are those of the answer, not of a model that
// has no part in it. Of a caller's own draw only that of its choice is known.
TEST_F(BaselineTest, ReturnedProbabilitiesAreThoseOfTheWholeChoice) {
  SetMode(model::v1::APPRENTICE);
  v1::SelectRequest select = GoodSelect();
  select.mutable_context()->set_return_probabilities(true);
  select.mutable_context()->mutable_baseline()->add_action(1);
  ASSERT_OK(Select(select));
  EXPECT_THAT(select_.result().probabilities(), ElementsAre(0, 1, 0));
  EXPECT_EQ(select_.abstain_probability(), 0);
  select.mutable_context()->mutable_baseline()->set_log_propensity(-0.5);
  ASSERT_OK(Select(select));
  EXPECT_THAT(select_.result().probabilities(), IsEmpty());

  // Of rankings those of the first rank, of subsets those of being chosen.
  SetMode(model::v1::ONLINE);
  v1::RankRequest rank = GoodRank();
  rank.mutable_context()->set_return_probabilities(true);
  ASSERT_OK(Rank(rank));
  const auto of_model = rank_.result().probabilities();
  SetMode(model::v1::EXPLORE_ABOVE_BASELINE, 4000);
  for (const int document : {2, 0, 1}) {
    rank.mutable_context()->mutable_baseline()->add_action(document);
  }
  ASSERT_OK(Rank(rank));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(rank_.result().probabilities(i),
                0.4 * of_model[i] + (i == 2 ? 0.6 : 0), 1e-12);
  }
  EXPECT_NEAR(rank_.result().probabilities(static_cast<int>(rank_.order(0))),
              std::exp(rank_.conditional_log_propensities(0)), 1e-12);
}

TEST_F(BaselineTest, TheCallersOwnPropensityIsLogged) {
  SetMode(model::v1::APPRENTICE);
  ASSERT_OK(SelectWith("abstain: true log_propensity: -0.5"));
  EXPECT_TRUE(select_.abstained());
  EXPECT_EQ(select_.result().log_propensity(), -0.5);
  const log::v1::Decision logged = LastLogged();
  EXPECT_THAT(logged.action(), ElementsAre(-1));
  EXPECT_EQ(logged.log_propensity(), -0.5);
  EXPECT_EQ(logged.baseline().log_propensity(), -0.5);
}

// What a caller decides is none of the version's propensities and abstentions,
// though it answers.
TEST_F(BaselineTest, DrawsOfABaselineAreNotCountedAsTheVersions) {
  const MetricLabels labels = {{"model", "pick"}, {"version", "1"}};
  const auto counted = [this, &labels] {
    const MetricSamples samples = metrics_.Read();
    uint64_t propensities = 0;
    for (const MetricSample& sample :
         samples.at("sortition_version_propensity")) {
      if (sample.labels != labels) continue;
      for (const uint64_t bin : sample.counts) propensities += bin;
    }
    return propensities;
  };
  ASSERT_OK(Select(GoodSelect()));
  EXPECT_EQ(counted(), 1u);
  MetricCounter* const abstentions =
      metrics_.Counter("sortition_version_abstentions_total", "", labels);
  const double before = abstentions->value();
  SetMode(model::v1::APPRENTICE);
  ASSERT_OK(SelectWith("abstain: true log_propensity: -0.5"));
  EXPECT_TRUE(select_.abstained());
  EXPECT_EQ(abstentions->value(), before);
  EXPECT_EQ(counted(), 1u);
}

TEST_F(BaselineTest, RankingsTakeTheFirstRanks) {
  SetMode(model::v1::APPRENTICE);
  ASSERT_OK(RankWith("action: [2, 0, 1]", 2));
  EXPECT_THAT(rank_.order(), ElementsAre(2, 0));
  EXPECT_THAT(rank_.conditional_log_propensities(), ElementsAre(0, 0));
}

TEST_F(BaselineTest, SubsetsAreSorted) {
  SetMode(model::v1::APPRENTICE);
  ASSERT_OK(LabelWith("action: [2, 0]"));
  EXPECT_THAT(label_.chosen(), ElementsAre(0, 2));
  ASSERT_OK(LabelWith(""));  // None given is none chosen.
  EXPECT_THAT(label_.chosen(), IsEmpty());
  ASSERT_OK(LabelWith("", 2));
  EXPECT_THAT(label_.chosen(), ElementsAre(0, 1));
}

TEST_F(BaselineTest, WithoutOneCandidatesStayAsTheyCome) {
  SetMode(model::v1::APPRENTICE);
  v1::RankRequest request = GoodRank();
  for (const bool eligible : {false, true, true}) {
    request.mutable_context()->add_eligible(eligible);
  }
  ASSERT_OK(Rank(request));
  EXPECT_THAT(rank_.order(), ElementsAre(1, 2));
}

// p = w m + (1 - w) [is the baseline], for every action; their sum is 1.
TEST_F(BaselineTest, ExplorersLogTheMixture) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_return_probabilities(true);
  ASSERT_OK(Select(request));
  const auto model = select_.result().probabilities();
  const double w = 0.3;
  SetMode(model::v1::EXPLORE_ABOVE_BASELINE, 3000);
  request.mutable_context()->mutable_baseline()->add_action(0);
  int by_model = 0;
  constexpr int kDecisions = 2000;
  for (int i = 0; i < kDecisions; ++i) {
    request.mutable_context()->set_decision_id(absl::StrCat("id-", i));
    ASSERT_OK(Select(request));
    by_model += select_.result().is_baseline() ? 0 : 1;
    const double propensity = std::exp(select_.result().log_propensity());
    const auto& whole = select_.result().probabilities();
    EXPECT_NEAR(std::accumulate(whole.begin(), whole.end(),
                                select_.abstain_probability()),
                1, 1e-12);
    if (select_.abstained()) {
      EXPECT_NEAR(select_.abstain_probability(), propensity, 1e-12);
      continue;
    }
    const uint32_t chosen = select_.selected();
    EXPECT_NEAR(whole[static_cast<int>(chosen)], propensity, 1e-12);
    EXPECT_NEAR(propensity,
                w * model[static_cast<int>(chosen)] + (chosen == 0 ? 1 - w : 0),
                1e-12);
    if (select_.result().is_baseline()) {
      EXPECT_EQ(chosen, 0u);
    }
  }
  // Of a binomial with mean 600 and standard deviation 20.5; the ids are fixed.
  EXPECT_NEAR(by_model, kDecisions * w, 80);
}

TEST_F(BaselineTest, ExplorersNeedABaselineThatIsCertain) {
  SetMode(model::v1::EXPLORE_ABOVE_BASELINE, 100);
  EXPECT_THAT(SelectWith("action: 0 log_propensity: -1"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("context.baseline.log_propensity = -1"),
                             HasSubstr("must be unset"))));
}

TEST_F(BaselineTest, ShadowsAndOffServeTheBaselineAlone) {
  for (const auto mode : {model::v1::SHADOW, model::v1::OFF}) {
    SetMode(mode);
    ASSERT_OK(SelectWith("action: 2"));
    EXPECT_EQ(select_.selected(), 2u);
    EXPECT_TRUE(select_.result().is_baseline());
    EXPECT_EQ(select_.result().log_propensity(), 0);
  }
  for (const log::v1::LogRecord& record : Logged()) {
    EXPECT_FALSE(record.decision().baseline().has_model_log_propensity());
  }
}

// Nothing is scored, so that there are no scores to return.
TEST_F(BaselineTest, WithoutAModelNothingIsScored) {
  SetMode(model::v1::OFF);
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_return_scores(true);
  request.mutable_context()->set_return_probabilities(true);
  request.mutable_context()->mutable_baseline()->add_action(1);
  ASSERT_OK(Select(request));
  EXPECT_THAT(select_.result().scores(), IsEmpty());
  EXPECT_THAT(select_.result().probabilities(), IsEmpty());
}

TEST_F(BaselineTest, TheUniformPolicyIsAnApprenticeToo) {
  EXPECT_OK(
      registry_->Change("default", {"because", "ann"},
                        [](const EditContext&, model::v1::Serving* serving) {
                          serving->set_mode(model::v1::APPRENTICE);
                          return absl::OkStatus();
                        }));
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->clear_model();
  request.mutable_context()->mutable_baseline()->add_action(2);
  ASSERT_OK(Select(request));
  EXPECT_EQ(select_.selected(), 2u);
  EXPECT_NEAR(LastLogged().baseline().model_log_propensity(), std::log(1.0 / 3),
              1e-12);
}

// A model without a version: "default".
class ColdStartTest : public BaselineTest {
 protected:
  v1::SelectRequest ColdSelect(const std::string& baseline) {
    v1::SelectRequest request = GoodSelect();
    request.mutable_context()->clear_model();
    *request.mutable_context()->mutable_baseline() = Parse(baseline);
    return request;
  }
  void Explore(double share) {
    config::v1::ColdStartOptions options;
    options.set_explore(share);
    service_ = std::make_unique<RankingService>(
        options_.limits(), registry_.get(), spool_.get(), &metrics_, nullptr,
        nullptr, options);
  }
};

// Of three candidates the baseline's has 1 - w + w/3, and the others w/3 each.
TEST_F(ColdStartTest, MostlyTheBaselineDecides) {
  const double w = 0.3;
  Explore(w);
  v1::SelectRequest request = ColdSelect("action: 1");
  int by_chance = 0;
  constexpr int kDecisions = 2000;
  for (int i = 0; i < kDecisions; ++i) {
    request.mutable_context()->set_decision_id(absl::StrCat("id-", i));
    ASSERT_OK(Select(request));
    by_chance += select_.result().is_baseline() ? 0 : 1;
    EXPECT_NEAR(std::exp(select_.result().log_propensity()),
                w / 3 + (select_.selected() == 1 ? 1 - w : 0), 1e-12);
  }
  // Of a binomial with mean 600 and standard deviation 20.5; the ids are fixed.
  EXPECT_NEAR(by_chance, kDecisions * w, 80);
  const log::v1::BaselineChoice logged = LastLogged().baseline();
  EXPECT_EQ(logged.mode(), model::v1::EXPLORE_ABOVE_BASELINE);
  EXPECT_EQ(logged.model_probability(), w);
  EXPECT_NEAR(logged.model_log_propensity(), std::log(1.0 / 3), 1e-12);
}

// An empty baseline is the candidates as they come.
TEST_F(ColdStartTest, RankingsKeepTheOrderThatCame) {
  Explore(1e-9);
  v1::RankRequest request;
  *request.mutable_context() = ColdSelect("").context();
  ASSERT_OK(Rank(request));
  EXPECT_THAT(rank_.order(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(rank_.result().is_baseline());
  EXPECT_EQ(rank_.result().degraded(),
            "no model loaded: the baseline, with some of the uniform policy");
  // Of six orders, with the probability w / 6 more.
  EXPECT_NEAR(rank_.result().log_propensity(), 0, 1e-8);
  ASSERT_EQ(rank_.conditional_log_propensities_size(), 3);
}

TEST_F(ColdStartTest, AnUnusableBaselineIsRefused) {
  EXPECT_THAT(Select(ColdSelect("action: 77")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("context.baseline.action holds 77")));
}

TEST_F(ColdStartTest, ThoseWhoWantTheUniformPolicyGetIt) {
  const double uniform = std::log(1.0 / 3);
  v1::SelectRequest named = ColdSelect("action: 1");
  named.mutable_context()->set_version(0);
  v1::SelectRequest without = ColdSelect("");
  without.mutable_context()->clear_baseline();
  // The probability that a caller's own draw gives other actions is unknown.
  const v1::SelectRequest drawn = ColdSelect("action: 1 log_propensity: -0.5");
  for (const v1::SelectRequest& request : {named, without, drawn}) {
    ASSERT_OK(Select(request));
    EXPECT_NEAR(select_.result().log_propensity(), uniform, 1e-12);
    EXPECT_FALSE(select_.result().is_baseline());
  }
  Explore(1);
  ASSERT_OK(Select(ColdSelect("action: 1")));
  EXPECT_NEAR(select_.result().log_propensity(), uniform, 1e-12);
}

TEST_F(ColdStartTest, TheFirstVersionEndsIt) {
  Publish(options_.model_store(), MakeSelectModel("default", {1, 2}));
  registry_->Refresh();
  ASSERT_OK(Select(ColdSelect("action: 1")));
  EXPECT_EQ(select_.result().model().version(), 1u);
  EXPECT_FALSE(LastLogged().has_baseline());
}

}  // namespace
}  // namespace sortition
