// What policies do with logged orders, against the enumeration of all orders.
#include "trainer/ope/rankings/order_view.h"

#include <cmath>
#include <vector>

#include "core/policies/distribution_factory.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/ope/rankings/ranked_users.h"

namespace sortition {
namespace {

class OrderViewTest : public testing::Test {
 protected:
  OrderViewTest() {
    for (const float click : kClicks) scores_.push_back(3.0 * double{click});
    law_ = {&version_.model().policy(), distribution_.get(), scores_};
  }

  RankVersion version_{3};
  std::vector<double> scores_;
  std::unique_ptr<const ActionDistribution> distribution_ =
      *MakeActionDistribution(version_.model().policy());
  OrderLaw law_;
  OrderViewer viewer_;
};

TEST_F(OrderViewTest, MarginalsAreThoseOfAllOrders) {
  const std::vector<int32_t> order = {2, 0, 3};
  OrderView view;
  ASSERT_OK(
      viewer_.View(law_, {.order = order, .num_marginals = kRanks}, &view));
  ASSERT_EQ(view.log_conditionals.size(), kRanks);
  double sum = 0;
  for (const double log : view.log_conditionals) sum += log;
  EXPECT_NEAR(std::exp(sum),
              version_.Probability(Action(order.begin(), order.end())), 1e-12);
  for (size_t k = 0; k < kRanks; ++k) {
    for (int32_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(view.marginals[k * 4 + static_cast<size_t>(i)],
                  version_.Marginal(i, k), 1e-8);
    }
  }
  EXPECT_EQ(view.marginal_error, 0);
}

// Each conditional probability is a ratio of probabilities of first ranks.
TEST_F(OrderViewTest, ConditionalsAreRatiosOfOrders) {
  ASSERT_TRUE(HasClosedForm(law_));
  const std::vector<int32_t> above = {1, 3};
  std::vector<double> probabilities(4);
  ConditionalsAfter(law_, above, probabilities);
  const double of_above = version_.Mean([&](const Action& order) {
    return order[0] == 1 && order[1] == 3 ? 1.0 : 0.0;
  });
  EXPECT_EQ(probabilities[1], 0);
  EXPECT_EQ(probabilities[3], 0);
  for (const int32_t i : {0, 2}) {
    EXPECT_NEAR(probabilities[static_cast<size_t>(i)],
                version_.Probability({1, 3, i}) / of_above, 1e-12);
  }
  ConditionalsAfter(law_, {}, probabilities);
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(probabilities[static_cast<size_t>(i)], version_.Marginal(i, 0),
                1e-12);
  }
}

TEST_F(OrderViewTest, UniformIsAlikeForAll) {
  const model::v1::Policy none;
  const auto uniform = MakeUniformDistribution(ActionKind::kRank);
  const OrderLaw law = {&none, uniform.get(), scores_};
  const std::vector<int32_t> order = {2, 0, 3};
  OrderView view;
  ASSERT_OK(viewer_.View(law, {.order = order, .num_marginals = 2}, &view));
  EXPECT_NEAR(view.log_conditionals[1], -std::log(3.0), 1e-12);
  for (const double marginal : view.marginals) EXPECT_EQ(marginal, 0.25);
  std::vector<double> probabilities(4);
  ConditionalsAfter(law, std::vector<int32_t>{2}, probabilities);
  EXPECT_NEAR(probabilities[0], 1.0 / 3, 1e-12);
  EXPECT_EQ(probabilities[2], 0);
}

// The ranks from the first impossible one on are impossible, not those above.
TEST_F(OrderViewTest, ImpossibleOrdersArePossibleAtFirst) {
  model::v1::Policy policy;
  policy.mutable_sorted_ranking();
  policy.set_inverse_temperature(1);
  const auto sorted = MakeActionDistribution(policy);
  ASSERT_OK(sorted);
  const OrderLaw law = {&policy, sorted->get(), scores_};
  EXPECT_FALSE(HasClosedForm(law));
  const std::vector<int32_t> order = {1, 3, 0};  // By score: 1, 3, 2.
  OrderView view;
  ASSERT_OK(viewer_.View(law, {.order = order}, &view));
  EXPECT_EQ(view.log_conditionals[0], 0);
  EXPECT_EQ(view.log_conditionals[1], 0);
  EXPECT_EQ(view.log_conditionals[2], -HUGE_VAL);
}

}  // namespace
}  // namespace sortition
