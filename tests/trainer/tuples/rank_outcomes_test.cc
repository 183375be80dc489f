#include "trainer/tuples/rank_outcomes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/status_macros.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/rank_tuples.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;
using Poem = config::v1::PoemOptions;

constexpr double kHalf = -0.6931471805599453;  // log 1/2

// Three of five candidates are ranked, of which the second is not eligible;
// rows are 0, 2, 3, 4. Each rank has the propensity 1/2 given those above.
log::v1::BanditTuple ThreeRanks() {
  log::v1::BanditTuple tuple;
  log::v1::Decision& decision = *tuple.mutable_decision();
  decision.set_decision_id("d");
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(5);
  decision.set_num_features(1);
  for (int i = 0; i < 5; ++i) {
    decision.add_dense_values(static_cast<float>(i));
    decision.add_eligible(i != 1);
  }
  for (const int32_t document : {3, 0, 4}) {
    decision.add_action(document);
    decision.add_conditional_log_propensities(kHalf);
  }
  decision.set_log_propensity(3 * kHalf);
  decision.mutable_policy()->mutable_plackett_luce();
  return tuple;
}

TrainOptions WeighedBy(Poem::RankWeights weights) {
  TrainOptions options;
  options.mutable_poem()->set_rank_weights(weights);
  options.set_reward_max(4);
  return options;
}

TrainOptions Exposed(const std::vector<double>& examination,
                     const std::vector<double>& offsets) {
  TrainOptions options;
  options.mutable_poem()->set_objective(Poem::EXPOSURE);
  options.mutable_poem()->mutable_examination()->Assign(examination.begin(),
                                                        examination.end());
  options.mutable_poem()->mutable_click_offsets()->Assign(offsets.begin(),
                                                          offsets.end());
  options.set_reward_max(4);
  return options;
}

// Row i is at rank k with the probability (1 + k + i) / 100.
absl::Status Hundredths(const log::v1::Decision&, size_t ranks,
                        std::vector<double>* marginals) {
  marginals->clear();
  for (size_t k = 0; k < ranks; ++k) {
    for (size_t i = 0; i < 4; ++i) {
      marginals->push_back(static_cast<double>(1 + k + i) / 100);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<RankOutcome> Read(
    const log::v1::BanditTuple& logged, const TrainOptions& options,
    Overrides overrides = Overrides::kIntentToTreat,
    RankMarginals marginals = Hundredths, RankUse use = RankUse::kSeen) {
  BanditTuple tuple;
  EXPECT_EQ(ConvertTuple(logged,
                         {.action_kind = ActionKind::kRank,
                          .num_features = logged.decision().num_features(),
                          .rewards = RewardRange::Of(options),
                          .overrides = overrides,
                          .ranks = use},
                         &tuple),
            std::nullopt);
  ASSIGN_OR_RETURN(
      const RankOutcomes outcomes,
      RankOutcomes::Create(options, overrides, use, std::move(marginals)));
  ASSIGN_OR_RETURN(const auto outcome, outcomes.Read(logged, tuple));
  return *outcome;
}

TEST(RankOutcomesTest, LossesAreThoseOfTheRanksThatCount) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(1, 3, &tuple);
  ASSERT_OK_AND_ASSIGN(const RankOutcome all,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_THAT(all.ranks.losses, ElementsAre(0, -0.75, 0));
  EXPECT_THAT(all.ranks.log_conditionals, ElementsAre(kHalf, kHalf, kHalf));
  EXPECT_THAT(all.ranks.log_marginals, IsEmpty());
  EXPECT_TRUE(all.has_rewards);
  EXPECT_FALSE(all.is_one);
  // What a decision earned without a rank is that of the last rank that counts,
  // as are feedback of ranks that were not decided.
  tuple.mutable_shown()->set_seen_ranks(2);
  tuple.set_reward(3.5);
  ASSERT_OK_AND_ASSIGN(const RankOutcome seen,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_THAT(seen.ranks.losses, ElementsAre(0, -0.875));
  EXPECT_THAT(seen.ranks.log_conditionals, ElementsAre(kHalf, kHalf));
  tuple.mutable_rank_rewards(0)->set_rank(9);
  ASSERT_OK_AND_ASSIGN(const RankOutcome undecided,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_THAT(undecided.ranks.losses, ElementsAre(0, 0, -0.875));
  EXPECT_FALSE(undecided.has_rewards);
}

TEST(RankOutcomesTest, MarginalsAreThoseOfWhatWasRanked) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(1, 1, &tuple);
  // Documents 3, 0, 4 are rows 2, 0, 3. The order down to each of them has the
  // probabilities 0.02, 0.01 and 0.005.
  tuple.mutable_decision()->set_conditional_log_propensities(0, std::log(0.02));
  tuple.mutable_decision()->set_log_propensity(std::log(0.02) + 2 * kHalf);
  ASSERT_OK_AND_ASSIGN(const RankOutcome outcome,
                       Read(tuple, WeighedBy(Poem::ITEM_POSITION)));
  EXPECT_THAT(outcome.ranks.log_marginals,
              Pointwise(DoubleNear(1e-12),
                        {std::log(0.03), std::log(0.02), std::log(0.06)}));
  // Nothing was earned: nobody needs to know.
  log::v1::BanditTuple nothing = ThreeRanks();
  const RankMarginals unknown = [](const log::v1::Decision&, size_t,
                                   std::vector<double>*) {
    return absl::FailedPreconditionError("unknown");
  };
  ASSERT_OK_AND_ASSIGN(
      const RankOutcome none,
      Read(nothing, WeighedBy(Poem::ITEM_POSITION), {}, unknown));
  EXPECT_THAT(none.ranks.log_marginals, IsEmpty());
  EXPECT_THAT(Read(tuple, WeighedBy(Poem::ITEM_POSITION), {}, unknown),
              StatusIs(absl::StatusCode::kFailedPrecondition, "unknown"));
}

TEST(RankOutcomesTest, AnItemAtItsRankIsAtLeastAsProbableAsTheOrder) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(2, 1, &tuple);
  const RankMarginals lost = [](const log::v1::Decision&, size_t ranks,
                                std::vector<double>* marginals) {
    marginals->assign(4 * ranks, -1e-17);
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const RankOutcome outcome,
                       Read(tuple, WeighedBy(Poem::ITEM_POSITION), {}, lost));
  EXPECT_THAT(outcome.ranks.log_marginals,
              Pointwise(DoubleNear(1e-12), {kHalf, 2 * kHalf, 3 * kHalf}));
}

TEST(RankOutcomesTest, GainsAreClicksOverExposure) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 2, &tuple);    // One click, twice.
  Reward(1, 0.5, &tuple);  // Half of one.
  tuple.mutable_shown()->set_seen_ranks(2);
  const TrainOptions options = Exposed({0.8, 0.5, 0.4, 0.3}, {0.1, 0.05, 0, 0});
  ASSERT_OK_AND_ASSIGN(const RankOutcome outcome, Read(tuple, options));
  // All three ranks were shown, the fourth was not decided. Row i has 0.8 (1 +
  // i) / 100 + 0.5 (2 + i) / 100 + 0.4 (3 + i) / 100.
  std::vector<double> exposures;
  for (int i = 0; i < 4; ++i) exposures.push_back((3 + 1.7 * i) / 100);
  EXPECT_THAT(outcome.exposed.exposures,
              Pointwise(DoubleNear(1e-12), exposures));
  EXPECT_THAT(outcome.exposed.gains,
              Pointwise(DoubleNear(1e-12),
                        {0.45 / exposures[0], 0.0, 0.9 / exposures[2], 0.0}));
  EXPECT_THAT(outcome.ranks.losses, IsEmpty());
  // What was next to never exposed counts as a thousandth.
  const RankMarginals never = [](const log::v1::Decision&, size_t ranks,
                                 std::vector<double>* marginals) {
    marginals->assign(4 * ranks, 1e-9);
    return absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const RankOutcome rare, Read(tuple, options, {}, never));
  EXPECT_THAT(rare.exposed.exposures, ElementsAre(1e-3, 1e-3, 1e-3, 1e-3));
}

// Over all orders of three candidates, gains of the log times exposures of
// another policy are the clicks of that policy which an interest makes.
TEST(RankOutcomesTest, GainsTimesExposuresAreTheClicksOfAnotherPolicy) {
  const std::vector<double> examination = {0.9, 0.5, 0.2};
  const std::vector<double> offsets = {0.05, 0.1, 0};
  const std::vector<double> interests = {0.3, 0.9, 0.1};
  const std::vector<double> logged_scores = {0.2, -0.7, 0.9};
  const std::vector<double> other_scores = {-1, 1.5, 0.3};
  const RankingDistribution law(1, 0.1);
  const auto for_orders =
      [&](const std::vector<double>& scores,
          const std::function<void(const std::vector<int32_t>&, double)>&
              take) {
        std::vector<int32_t> order = {0, 1, 2};
        ScoredCandidates scored;
        scored.scores = scores;
        scored.top_k = 3;
        do {
          take(order, std::exp(law.LogPropensity(scored, order)));
        } while (std::next_permutation(order.begin(), order.end()));
      };
  const auto marginals_of = [&](const std::vector<double>& scores) {
    std::vector<double> marginals(9, 0);
    for_orders(scores, [&](const std::vector<int32_t>& order, double p) {
      for (size_t k = 0; k < 3; ++k) {
        marginals[k * 3 + static_cast<size_t>(order[k])] += p;
      }
    });
    return marginals;
  };
  const RankMarginals logged = [&](const log::v1::Decision&, size_t ranks,
                                   std::vector<double>* marginals) {
    EXPECT_EQ(ranks, 3);
    *marginals = marginals_of(logged_scores);
    return absl::OkStatus();
  };
  const std::vector<double> other = marginals_of(other_scores);
  std::vector<double> exposures(3, 0);
  double truth = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      exposures[i] += examination[k] * other[k * 3 + i];
    }
    truth += interests[i] * exposures[i];
  }
  double estimate = 0;
  for_orders(logged_scores, [&](const std::vector<int32_t>& order, double p) {
    log::v1::BanditTuple tuple;
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_action_kind(log::v1::RANK);
    decision.set_num_candidates(3);
    decision.set_num_features(1);
    for (int i = 0; i < 3; ++i) decision.add_dense_values(0);
    decision.mutable_action()->Assign(order.begin(), order.end());
    decision.set_log_propensity(std::log(p));
    // Only that they are there matters.
    for (int k = 0; k < 3; ++k) {
      decision.add_conditional_log_propensities(std::log(p) / 3);
    }
    // Gains are linear in clicks, so that means may stand for them.
    for (uint32_t k = 0; k < 3; ++k) {
      Reward(k, examination[k] * interests[size_t(order[k])] + offsets[k],
             &tuple);
    }
    const auto outcome = Read(tuple, Exposed(examination, offsets), {}, logged);
    ASSERT_OK(outcome);
    for (size_t i = 0; i < 3; ++i) {
      estimate += p * outcome->exposed.gains[i] * exposures[i];
    }
  });
  EXPECT_NEAR(estimate, truth, 1e-12);
}

TEST(RankOutcomesTest, OrdersWithoutPropensitiesOfRanksCountAsOne) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 2, &tuple);
  tuple.mutable_decision()->mutable_baseline()->set_model_decided(true);
  ASSERT_OK_AND_ASSIGN(const RankOutcome outcome,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_TRUE(outcome.is_one);
  EXPECT_FALSE(outcome.has_rewards);
  EXPECT_THAT(outcome.ranks.losses, ElementsAre(0, 0, -0.5));
  EXPECT_THAT(outcome.ranks.log_conditionals, ElementsAre(0, 0, 3 * kHalf));
  const auto is_refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("decision 'd' has no propensity of each rank"));
  EXPECT_THAT(Read(tuple, WeighedBy(Poem::ITEM_POSITION)), is_refused);
  EXPECT_THAT(Read(tuple, Exposed({1}, {})), is_refused);
  TrainOptions modelled = WeighedBy(Poem::PREFIXES);
  modelled.mutable_poem()->set_objective(Poem::DOUBLY_ROBUST);
  EXPECT_THAT(Read(tuple, modelled), is_refused);
}

TEST(RankOutcomesTest, OrdersThatWereNotShownCountAsOne) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 2, &tuple);
  tuple.mutable_shown()->add_shown(4);
  ASSERT_OK_AND_ASSIGN(const RankOutcome outcome,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_TRUE(outcome.is_one);
  EXPECT_THAT(outcome.ranks.losses, ElementsAre(0, 0, -0.5));
  // Which add up to log p, and are right for a model, too.
  EXPECT_THAT(outcome.ranks.log_conditionals, ElementsAre(kHalf, kHalf, kHalf));
  const auto is_refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               HasSubstr("something else than decision 'd' was shown, and "
                         "which of its ranks earned 2 is not known"));
  EXPECT_THAT(Read(tuple, WeighedBy(Poem::ITEM_POSITION)), is_refused);
  EXPECT_THAT(Read(tuple, Exposed({1}, {})), is_refused);
  // As shown, nothing is learned of the action.
  ASSERT_OK_AND_ASSIGN(
      const RankOutcome hidden,
      Read(tuple, WeighedBy(Poem::ITEM_POSITION), Overrides::kAsShown));
  EXPECT_THAT(hidden.ranks.losses, ElementsAre(0, 0, 0));
  EXPECT_FALSE(hidden.is_one);
  ASSERT_OK_AND_ASSIGN(const RankOutcome gains,
                       Read(tuple, Exposed({1}, {0.5}), Overrides::kAsShown));
  EXPECT_THAT(gains.exposed.gains, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(gains.exposed.exposures,
              Pointwise(DoubleNear(1e-12), {0.01, 0.02, 0.03, 0.04}));
}

TEST(RankOutcomesTest, RanksMustAddUpToTheReward) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 1, &tuple);
  Reward(1, 1, &tuple);
  tuple.set_reward(1);  // Joined by MAX.
  for (const Poem::RankWeights weights :
       {Poem::PREFIXES, Poem::ITEM_POSITION}) {
    EXPECT_THAT(Read(tuple, WeighedBy(weights)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("reward of decision 'd' is 1, of its ranks "
                                   "2, must be at least as much")));
  }
  tuple.set_reward(3);
  ASSERT_OK_AND_ASSIGN(const RankOutcome last,
                       Read(tuple, WeighedBy(Poem::PREFIXES)));
  EXPECT_THAT(last.ranks.losses, ElementsAre(-0.25, -0.25, -0.25));
  for (const TrainOptions& options :
       {WeighedBy(Poem::ITEM_POSITION), Exposed({1}, {})}) {
    EXPECT_THAT(Read(tuple, options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("reward of decision 'd' is 3, of its ranks "
                                   "2, must be the same")));
  }
  // The same numbers, added up in another order.
  tuple.set_reward(std::nextafter(2, 0));
  EXPECT_OK(Read(tuple, WeighedBy(Poem::ITEM_POSITION)));
}

}  // namespace
}  // namespace sortition
