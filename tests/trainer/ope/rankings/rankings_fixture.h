#pragma once
// A log of orders that version 1 drew, which `ope` judges version 2 by.

#include "tests/trainer/ope/ope_fixture.h"
#include "tests/trainer/ope/rankings/ranked_users.h"

namespace sortition {

inline constexpr int kDecisions = 3000;
inline constexpr double kLogged = -1;
inline constexpr double kJudged = 3;

inline const config::v1::OpeEstimate* RowOf(
    const config::v1::OpeRankings& rankings, const std::string& key) {
  for (const config::v1::OpeEstimate& row : rankings.estimates()) {
    if (row.estimator() == key) return &row;
  }
  return nullptr;
}

inline const config::v1::OpeUserTest* TestOf(
    const config::v1::OpeRankings& rankings, const std::string& dependence) {
  for (const auto& test : rankings.tests()) {
    if (test.dependence() == dependence) return &test;
  }
  return nullptr;
}

inline std::string ChosenOf(const config::v1::OpeRankings& rankings) {
  std::string chosen;
  for (const config::v1::OpeEstimate& row : rankings.estimates()) {
    if (row.chosen()) absl::StrAppend(&chosen, row.estimator());
  }
  return chosen;
}

class RankingsOpeTest : public OpeFixture {
 protected:
  RankingsOpeTest() {
    options_.set_reward_max(kRanks);
    SetPolicies({"version:2"});
  }

  std::vector<log::v1::BanditTuple> Draw(User user) {
    return DrawOf(logged_.model(), user);
  }
  // The same log, where the store has another model for the version that
  // logged.
  std::vector<log::v1::BanditTuple> DrawOf(const model::v1::Model& stored,
                                           User user) {
    Publish(stored);
    Publish(judged_.model());
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < kDecisions; ++i) {
      tuples.push_back(logged_.Decide(i, user));
    }
    return tuples;
  }

  static config::v1::OpeRankings RankingsOf(
      const config::v1::OpeReport& report,
      const std::string& policy = "version:2") {
    return PolicyOf(report, policy).rankings();
  }

  // The row is within five standard errors of the value. (Fixed ids.)
  static void ExpectNear(const config::v1::OpeRankings& rankings,
                         const std::string& key, double value) {
    const config::v1::OpeEstimate* const row = RowOf(rankings, key);
    ASSERT_NE(row, nullptr) << key;
    EXPECT_GT(row->standard_error(), 0) << key;
    EXPECT_LT(row->standard_error(), 0.2) << key;
    const double estimate =
        row->has_value_alone() ? row->value_alone() : row->value().value();
    EXPECT_NEAR(estimate, value, 5 * row->standard_error()) << key;
    EXPECT_FALSE(row->assumes().empty()) << key;
  }

  // What weights of items at ranks estimate, whatever users do.
  double ItemPosition(User user) {
    return logged_.Mean([&](const Action& order) {
      const std::vector<double> clicks = MeanClicks(user, order);
      double sum = 0;
      for (size_t k = 0; k < order.size(); ++k) {
        sum += judged_.Marginal(order[k], k) / logged_.Marginal(order[k], k) *
               clicks[k];
      }
      return sum;
    });
  }

  RankVersion logged_{kLogged};
  RankVersion judged_{kJudged};
};

}  // namespace sortition
