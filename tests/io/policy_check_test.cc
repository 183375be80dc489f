// What the store refuses of the policies of subsets; those of the other kinds
// are in model_store_test.cc.
#include "io/policy_check.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameSubset;
using model::v1::IndependentSubset;
using testing::HasSubstr;

model::v1::Policy Pairs() {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.mutable_game_subset()->set_measure(GameSubset::PRECISION);
  policy.mutable_game_subset()->set_k(2);
  return policy;
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithAGame) {
  const std::vector<
      std::pair<std::string, std::function<void(GameSubset * game)>>>
      wrong = {
          {"measure is 0, must be PRECISION (1) or F_BETA (2)",
           [](GameSubset* game) { game->clear_measure(); }},
          {"k is 0, must be in [1, 1000000]",
           [](GameSubset* game) { game->set_k(0); }},
          {"k is 1000001", [](GameSubset* game) { game->set_k(1000001); }},
          {"beta is 1000.5, must be in [0.001, 1000], or 0 for the default",
           [](GameSubset* game) { game->set_beta(1000.5); }},
          {"beta is -1", [](GameSubset* game) { game->set_beta(-1); }},
          {"threshold is -1000001",
           [](GameSubset* game) { game->set_threshold(-1000001); }},
          {"threshold is nan",
           [](GameSubset* game) { game->set_threshold(std::nan("")); }},
          {"block_mixing is 1.1, must be in [0, 1]",
           [](GameSubset* game) { game->set_block_mixing(1.1); }},
          {"tolerance is 2, must be in [1e-09, 1]",
           [](GameSubset* game) { game->set_tolerance(2); }},
          {"max_rounds is 1000001",
           [](GameSubset* game) { game->set_max_rounds(1000001); }},
      };
  EXPECT_OK(ValidatePolicy(Pairs()));
  for (const auto& [message, break_it] : wrong) {
    model::v1::Policy policy = Pairs();
    break_it(policy.mutable_game_subset());
    EXPECT_THAT(ValidatePolicy(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("policy.game_subset." + message)));
  }
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithIndependentSubsets) {
  model::v1::Policy policy = Pairs();
  IndependentSubset* subset = policy.mutable_independent_subset();
  subset->set_threshold(-1e6);
  subset->set_k(1000000);
  EXPECT_OK(ValidatePolicy(policy));
  subset->set_k(1000001);
  EXPECT_THAT(ValidatePolicy(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("policy.independent_subset.k is 1000001, "
                                 "must be in [1, 1000000], or 0 for any")));
  subset->set_k(0);
  subset->set_threshold(std::nan(""));
  EXPECT_THAT(
      ValidatePolicy(policy),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("policy.independent_subset.threshold is nan")));
}

}  // namespace
}  // namespace sortition
