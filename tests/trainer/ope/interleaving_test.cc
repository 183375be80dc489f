// Interleaved orders: who is preferred, against enumerations, and what weights
// by their propensities say.
#include "core/choices/interleaving.h"

#include <algorithm>
#include <functional>

#include "tests/trainer/ope/ope_fixture.h"
#include "tests/trainer/ope/rankings/ranked_users.h"

namespace sortition {
namespace {

using config::v1::OpeInterleaving;
using config::v1::OpeReport;
using model::v1::Interleave;

constexpr int kTeamDecisions = 3000;

// Versions 1 and 2, and orders of three of four candidates that they make.
class Versions {
 public:
  Versions(double first, double second, Interleaver::Method method)
      : models_{RankModel(first), RankModel(second)}, method_(method) {
    for (const model::v1::Model& model : models_) {
      linear_.push_back(
          *LinearPolicy::Create(model.policy(), {model.weights(0)}));
    }
    query_.candidates = Candidates::DenseUnchecked(kClicks, 1);
    query_.top_k = kRanks;
  }
  Versions(const Versions&) = delete;

  const std::vector<model::v1::Model>& models() const { return models_; }

  // Σ over all orders of P(order) f(order).
  double Mean(const std::function<double(const Action&)>& f) {
    double sum = 0;
    std::vector<int32_t> documents = {0, 1, 2, 3};
    do {  // Each order of three comes once, with what is left behind it.
      const Action order(documents.begin(), documents.begin() + kRanks);
      sum += std::exp(LogPropensity(order)) * f(order);
    } while (std::next_permutation(documents.begin(), documents.end()));
    return sum;
  }

  // P(the second version filled the rank | order) - P(the first one did).
  double TeamDifference(const Action& order, size_t rank) {
    LogPropensity(order);
    std::vector<double> log_odds;
    TeamLogOdds(method_, scratch_.conditionals[0], scratch_.conditionals[1],
                &log_odds);
    return 1 - 2 / (1 + std::exp(-log_odds[rank]));
  }
  // What `ope` has to find of users who look.
  double Preference(const Action& order) {
    double sum = 0;
    for (size_t r = 0; r < order.size(); ++r) {
      sum += ClickOf(order[r]) * TeamDifference(order, r);
    }
    return sum;
  }

  double LogPropensity(const Action& order) {
    return Make().LogPropensity(query_, order, {&first_, &second_}, &scratch_);
  }
  double OfSecond(const Action& order) {
    return std::exp(linear_[1].LogPropensity(query_, order, &second_));
  }

  // Draws decision i. Users click on what is at a rank as `kClicks`
  // says, or with probability 0.4 whatever is there.
  log::v1::BanditTuple Decide(int i, bool clicks_by_document) {
    log::v1::BanditTuple tuple = RankedTuple(models_[0], i);
    log::v1::Decision& decision = *tuple.mutable_decision();
    const std::string& id = decision.decision_id();
    Draw draw;
    Make().Decide(query_,
                  InterleavingKey(DecisionKey("default", 1, id),
                                  DecisionKey("default", 2, id)),
                  {&first_, &second_}, &scratch_, &draw);
    SetDraw(draw, &decision);
    decision.mutable_interleaving()->set_other_version(2);
    decision.mutable_interleaving()->set_method(method_);
    decision.mutable_interleaving()->set_probability(1);
    const CounterRandom user(StableHash(HashDomain::kSimulation, {id}));
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const double probability =
          clicks_by_document ? ClickOf(draw.action[rank]) : 0.4;
      if (user.Uniform(rank) >= probability) continue;
      AddClick(rank, &tuple);
    }
    return tuple;
  }

 private:
  Interleaver Make() const {
    return *Interleaver::Create(method_, {&linear_[0], &models_[0].policy()},
                                {&linear_[1], &models_[1].policy()});
  }

  const std::vector<model::v1::Model> models_;
  const Interleaver::Method method_;
  std::vector<LinearPolicy> linear_;
  PolicyQuery query_;
  PolicyWorkspace first_;
  PolicyWorkspace second_;
  InterleavingScratch scratch_;
};

class InterleavingOpeTest
    : public OpeFixture,
      public testing::WithParamInterface<Interleaver::Method> {
 protected:
  InterleavingOpeTest() {
    options_.set_reward_max(kRanks);
    options_.set_reward_model("none");
    SetPolicies({"version:2"});
  }

  std::vector<log::v1::BanditTuple> Log(Versions* versions,
                                        bool clicks_by_document) {
    for (const model::v1::Model& model : versions->models()) Publish(model);
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < kTeamDecisions; ++i) {
      tuples.push_back(versions->Decide(i, clicks_by_document));
    }
    return tuples;
  }
};

// The preference and the value of the second version, which never logged alone,
// within five standard errors of the enumeration. (Fixed ids.)
TEST_P(InterleavingOpeTest, FindsWhatUsersPrefer) {
  Versions versions(-1, 3, GetParam());
  WriteLog(Log(&versions, true));
  const OpeReport report = Judge();
  ASSERT_EQ(report.interleavings_size(), 1);
  const OpeInterleaving& found = report.interleavings(0);
  EXPECT_EQ(found.version(), 1u);
  EXPECT_EQ(found.other_version(), 2u);
  EXPECT_EQ(found.method(), Interleave::Method_Name(GetParam()));
  EXPECT_EQ(found.decisions(), static_cast<uint64_t>(kTeamDecisions));
  EXPECT_EQ(report.interleaved(), static_cast<uint64_t>(kTeamDecisions));
  const double expected = versions.Mean(
      [&](const Action& order) { return versions.Preference(order); });
  EXPECT_GT(expected, 0.05);
  EXPECT_NEAR(found.preference().value(), expected, 5 * found.standard_error());
  EXPECT_GT(found.preference().lower(), 0);
  EXPECT_EQ(found.interval(), "empirical_likelihood");
  EXPECT_THAT(found.verdict(),
              HasSubstr("Users prefer version 2 to version 1"));
  EXPECT_GT(found.needed(), 0u);
  const double value = versions.Mean([&](const Action& order) {
    double clicks = 0;
    for (const int32_t d : order) clicks += ClickOf(d);
    return versions.OfSecond(order) / std::exp(versions.LogPropensity(order)) *
           clicks;
  });
  const auto& ips = EstimateOf(PolicyOf(report, "version:2"), "ips");
  EXPECT_NEAR(ips.value().value(), value, 5 * ips.standard_error());
  EXPECT_EQ(FindingOf(report, "other_propensities"), nullptr);
  EXPECT_EQ(FindingOf(report, "unranked_feedback"), nullptr);
}

// By hand: the mean over decisions of what each one's ranks say.
TEST_P(InterleavingOpeTest, ThePreferenceIsTheMeanOfCredits) {
  Versions versions(-1, 3, GetParam());
  const auto tuples = Log(&versions, true);
  WriteLog(tuples);
  options_.set_units("same");
  double sum = 0;
  double credited = 0;
  for (const auto& tuple : tuples) {
    const Action order(tuple.decision().action().begin(),
                       tuple.decision().action().end());
    for (const auto& rank : tuple.rank_rewards()) {
      sum += rank.reward() * versions.TeamDifference(order, rank.rank());
      credited += rank.reward();
    }
  }
  const OpeInterleaving found = Judge().interleavings(0);
  EXPECT_NEAR(found.preference().value(), sum / kTeamDecisions, 1e-12);
  EXPECT_NEAR(found.credited(), credited / kTeamDecisions, 1e-12);
}

// Whoever clicks without looking prefers nobody.
TEST_P(InterleavingOpeTest, ClicksThatAreBlindPreferNobody) {
  Versions versions(-1, 3, GetParam());
  WriteLog(Log(&versions, false));
  options_.set_confidence(0.9999);  // That of a right one fails as seldom.
  const OpeInterleaving found = Judge().interleavings(0);
  EXPECT_LT(std::abs(found.preference().value()), 5 * found.standard_error());
  EXPECT_LT(found.preference().lower(), 0);
  EXPECT_GT(found.preference().upper(), 0);
  EXPECT_THAT(found.verdict(), HasTexts("cannot tell whether users prefer",
                                        "decisions like these"));
}

TEST_P(InterleavingOpeTest, EqualVersionsGetEqualCredit) {
  Versions versions(2, 2, GetParam());
  WriteLog(Log(&versions, true));
  const OpeInterleaving found = Judge().interleavings(0);
  EXPECT_EQ(found.preference().value(), 0);
  EXPECT_LE(found.preference().lower(), 0);
  EXPECT_GE(found.preference().upper(), 0);
}

TEST_P(InterleavingOpeTest, FeedbackWithoutRanksCreditsNobody) {
  Versions versions(-1, 3, GetParam());
  auto tuples = Log(&versions, true);
  for (auto& tuple : tuples) tuple.clear_rank_rewards();
  WriteLog(tuples);
  const OpeReport report = Judge();
  const OpeInterleaving& found = report.interleavings(0);
  EXPECT_FALSE(found.has_preference());
  EXPECT_EQ(found.with_rank_rewards(), 0u);
  EXPECT_THAT(found.verdict(), HasSubstr("has feedback that names its rank"));
  ASSERT_NE(FindingOf(report, "unranked_feedback"), nullptr);
}

TEST_P(InterleavingOpeTest, AStoreThatSaysOtherwiseIsAFinding) {
  Versions versions(-1, 3, GetParam());
  auto tuples = Log(&versions, true);
  auto& decision = *tuples[7].mutable_decision();
  decision.set_log_propensity(decision.log_propensity() + 0.01);
  WriteLog(tuples);
  const OpeReport report = Judge();
  ASSERT_NE(FindingOf(report, "other_propensities"), nullptr);
  EXPECT_THAT(FindingOf(report, "other_propensities")->sentence(),
              HasSubstr("In 1 of 3,000"));
  EXPECT_EQ(report.interleavings(0).decisions(),
            static_cast<uint64_t>(kTeamDecisions - 1));
}

TEST_P(InterleavingOpeTest, WithoutTheVersionsNobodyGetsCredit) {
  Versions versions(-1, 3, GetParam());
  WriteLog(Log(&versions, true));
  options_.clear_model_store();
  SetPolicies({"uniform"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.interleavings_size(), 0);
  EXPECT_EQ(report.interleaved_unknown(),
            static_cast<uint64_t>(kTeamDecisions));
  ASSERT_NE(FindingOf(report, "unknown_teams"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, InterleavingOpeTest,
    testing::Values(Interleave::TEAM_DRAFT, Interleave::PROBABILISTIC),
    [](const auto& test) {
      return std::string(
          test.param == Interleave::TEAM_DRAFT ? "TeamDraft" : "Probabilistic");
    });

}  // namespace
}  // namespace sortition
