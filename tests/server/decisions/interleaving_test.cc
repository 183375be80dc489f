// Rankings that two versions make together: who gets them, what is answered,
// logged and verified.
#include "core/choices/interleaving.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/logs/log_verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::Interleave;
using testing::HasSubstr;
using testing::SizeIs;

// "order" has versions 1, 2 and 3 with different weights; 2 is pinned, and the
// first 3 of 10 parts of the units get rankings of 2 and 3 together. Version 4
// is no Plackett-Luce ranking.
class InterleavedRankTest : public RankingServiceTest {
 protected:
  void SetUp() override {
    for (const auto& weights :
         std::vector<std::vector<double>>{{3, -1}, {-2, 1.5}}) {
      auto order = MakeRankModel("order", weights);
      order.mutable_policy()->set_uniform_mixture(0.1);
      Publish(options_.model_store(), order);
    }
    auto other = MakeRankModel("order", {1, 2});
    other.mutable_policy()->mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::LINEAR);
    Publish(options_.model_store(), other);
    options_.mutable_spool()->set_segment_bytes(1 << 24);
    RankingServiceTest::SetUp();
    ASSERT_OK(Change([](model::v1::Serving* serving) {
      serving->set_pinned_version(2);
      auto& label = *serving->add_labels();
      label.set_name("old");
      label.set_version(1);
      SetInterleave(3, Interleave::TEAM_DRAFT, 3000, serving);
    }));
  }

  static void SetInterleave(uint64_t version, Interleave::Method method,
                            uint32_t parts, model::v1::Serving* serving) {
    Interleave& interleave = *serving->mutable_interleave();
    interleave.set_version(version);
    interleave.set_method(method);
    interleave.set_parts(parts);
    interleave.set_salt(kDrawSalt);
  }

  absl::Status Change(const std::function<void(model::v1::Serving*)>& edit) {
    return registry_
        ->Change("order", {"because", "ann"},
                 [&](const EditContext&, model::v1::Serving* serving) {
                   edit(serving);
                   return absl::OkStatus();
                 })
        .status();
  }

  static bool IsInterleaved(const std::string& unit) {
    return InterleavingPlace("order", kDrawSalt, unit, "") < 3000;
  }
  // Returns the i-th unit that gets such rankings, or does not.
  static std::string UnitOf(bool is_interleaved, int i = 0) {
    for (int u = 0;; ++u) {
      const std::string unit = absl::StrCat("u", u);
      if (IsInterleaved(unit) == is_interleaved && i-- == 0) return unit;
    }
  }

  absl::Status RankFor(const std::string& unit, const std::string& id) {
    v1::RankRequest request = GoodRank();
    request.mutable_context()->set_unit_id(unit);
    request.mutable_context()->set_decision_id(id);
    return Rank(request);
  }
};

TEST_F(InterleavedRankTest, AShareOfTheUnitsGetsThemAndStays) {
  std::map<std::string, bool> before;
  for (int i = 0; i < 200; ++i) {
    const std::string unit = absl::StrCat("u", i % 100);
    ASSERT_OK(RankFor(unit, absl::StrCat("d", i)));
    EXPECT_EQ(rank_.result().model().version(), 2u);
    EXPECT_EQ(rank_.result().interleaved_version(),
              IsInterleaved(unit) ? 3u : 0u);
    EXPECT_EQ(rank_.result().arm_probability(), 0);
    before[unit] = rank_.result().interleaved_version() > 0;
  }
  ASSERT_OK(Change([](model::v1::Serving* serving) {
    SetInterleave(3, Interleave::PROBABILISTIC, 6000, serving);
  }));
  int more = 0;
  for (const auto& [unit, was_interleaved] : before) {
    ASSERT_OK(RankFor(unit, absl::StrCat("later-", unit)));
    const bool is_interleaved = rank_.result().interleaved_version() > 0;
    EXPECT_TRUE(is_interleaved || !was_interleaved) << unit;
    more += is_interleaved && !was_interleaved ? 1 : 0;
  }
  EXPECT_GT(more, 10);  // About 30.
}

TEST_F(InterleavedRankTest, RequestsThatNameAVersionAreNotInterleaved) {
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_unit_id(UnitOf(true));
  request.mutable_context()->set_version(2);
  ASSERT_OK(Rank(request));
  EXPECT_EQ(rank_.result().interleaved_version(), 0u);
  request.mutable_context()->clear_version();
  request.mutable_context()->set_label("old");
  ASSERT_OK(Rank(request));
  EXPECT_EQ(rank_.result().model().version(), 1u);
  EXPECT_EQ(rank_.result().interleaved_version(), 0u);
}

// First probabilities are the mean of both versions'; scores are those of the
// version that serves.
TEST_F(InterleavedRankTest, AnswersAreThoseOfBothVersions) {
  std::map<uint64_t, v1::RankResponse> alone;
  v1::RankRequest request = GoodRank();
  request.mutable_context()->set_unit_id(UnitOf(true));
  request.mutable_context()->set_return_probabilities(true);
  request.mutable_context()->set_return_scores(true);
  for (const uint64_t version : {2, 3}) {
    request.mutable_context()->set_version(version);
    ASSERT_OK(Rank(request));
    alone[version] = rank_;
  }
  request.mutable_context()->clear_version();
  ASSERT_OK(Rank(request));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(rank_.result().probabilities(i),
                (alone[2].result().probabilities(i) +
                 alone[3].result().probabilities(i)) /
                    2,
                1e-12);
    EXPECT_EQ(rank_.result().scores(i), alone[2].result().scores(i));
  }
  double sum = 0;
  for (const double each : rank_.conditional_log_propensities()) sum += each;
  EXPECT_EQ(rank_.result().log_propensity(), sum);
}

// By hand from the propensities of both versions, and by `log verify`.
TEST_F(InterleavedRankTest, TheRecordSaysHowAndIsVerified) {
  std::map<std::string, v1::RankResponse> answers;
  for (int i = 0; i < 60; ++i) {
    const std::string id = absl::StrCat("d", i);
    ASSERT_OK(RankFor(UnitOf(true, i % 7), id));
    answers[id] = rank_;
  }
  v1::RankRequest seeded = GoodRank();
  seeded.mutable_context()->set_unit_id(UnitOf(true));
  seeded.mutable_context()->set_decision_id("seeded");
  seeded.mutable_context()->set_seed(77);
  seeded.set_top_k(2);
  ASSERT_OK(Rank(seeded));
  answers["seeded"] = rank_;
  ASSERT_OK(RankFor(UnitOf(false), "plain"));

  DecisionVerifier verifier{ModelStore(options_.model_store())};
  std::set<std::vector<int32_t>> orders;
  int interleaved = 0;
  for (const log::v1::LogRecord& record : Logged()) {
    const log::v1::Decision& decision = record.decision();
    const auto difference = verifier.Difference(decision);
    ASSERT_OK(difference);
    EXPECT_EQ(difference->value_or(""), "") << decision.decision_id();
    EXPECT_EQ(decision.version(), 2u);
    EXPECT_FALSE(decision.has_arm());
    if (!decision.has_interleaving()) {
      EXPECT_EQ(decision.decision_id(), "plain");
      continue;
    }
    ++interleaved;
    EXPECT_EQ(decision.interleaving().other_version(), 3u);
    EXPECT_EQ(decision.interleaving().method(), Interleave::TEAM_DRAFT);
    EXPECT_EQ(decision.interleaving().probability(), 0.3);
    EXPECT_EQ(decision.interleaving().salt(), kDrawSalt);
    EXPECT_EQ(decision.log_propensity(),
              answers.at(decision.decision_id()).result().log_propensity());
    orders.insert(std::vector<int32_t>(decision.action().begin(),
                                       decision.action().end()));
  }
  EXPECT_EQ(interleaved, 61);
  EXPECT_GT(orders.size(), 3u);
}

TEST_F(InterleavedRankTest, TheCountOfThemIsAMetric) {
  ASSERT_OK(RankFor(UnitOf(true), "a"));
  ASSERT_OK(RankFor(UnitOf(true), "b"));
  ASSERT_OK(RankFor(UnitOf(false), "c"));
  EXPECT_EQ(metrics_
                .Counter("sortition_interleaved_total",
                         "Rank decisions whose order two versions made "
                         "together")
                ->value(),
            2);
}

// What makes no sense is refused, and what serves goes on.
TEST_F(InterleavedRankTest, WhatMakesNoSenseIsRefusedByName) {
  const std::vector<
      std::pair<std::function<void(model::v1::Serving*)>, std::string>>
      cases = {{[](auto* serving) {
                  SetInterleave(4, Interleave::TEAM_DRAFT, 1, serving);
                },
                "interleave: version 4: policy is boltzmann_ranking"},
               {[](auto* serving) { serving->set_pinned_version(4); },
                "interleave: version 4: policy is boltzmann_ranking"},
               {[](auto* serving) { serving->set_pinned_version(3); },
                "interleave beside pinned_version = 3"},
               {[](auto* serving) { serving->set_mode(model::v1::SHADOW); },
                "interleave beside mode = SHADOW"},
               {[](auto* serving) {
                  auto& arm = *serving->mutable_split()->add_arms();
                  arm.set_version(1);
                  arm.add_ranges()->set_end(1);
                  serving->mutable_split()->set_salt(kDrawSalt);
                },
                "interleave beside split.arms"}};
  for (const auto& [edit, words] : cases) {
    const absl::Status status = Change(edit);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    ASSERT_OK(RankFor(UnitOf(true), "d"));
    EXPECT_EQ(rank_.result().interleaved_version(), 3u);
  }
}

// Features that only the other version makes too large scores of.
TEST_F(InterleavedRankTest, ScoresThatOneCannotDrawAreRefusedAndNotLogged) {
  ASSERT_EQ(Publish(options_.model_store(), MakeRankModel("order", {1e6, 1e6})),
            5u);
  ASSERT_OK(Change([](model::v1::Serving* serving) {
    SetInterleave(5, Interleave::TEAM_DRAFT, 10000, serving);
  }));
  v1::RankRequest request = GoodRank();
  SetDense(2, {1e4f, 0, 0, 1, 1, 1}, request.mutable_context());
  EXPECT_THAT(Rank(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("overflow")));
  request.mutable_context()->set_version(2);
  EXPECT_OK(Rank(request));
  EXPECT_THAT(Logged(), SizeIs(1));
}

}  // namespace
}  // namespace sortition
