#include "trainer/tuples/rank_outcomes.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/status_macros.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "tests/trainer/rank_tuples.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using testing::DoubleNear;
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

RankOutcome Outcome(const log::v1::BanditTuple& logged,
                    const TrainOptions& options,
                    Overrides overrides = Overrides::kIntentToTreat,
                    RankMarginals marginals = Hundredths) {
  auto outcome = Read(logged, options, overrides, std::move(marginals));
  EXPECT_OK(outcome);
  return outcome.value_or(RankOutcome());
}

// Ranks read 1, 1 and -1 in [-1, 1]. Sums down to each rank are 1, 2 and 1,
// clamped 1, 1 and 1, whose losses (-1 - S) / 2 are all -1: the second click
// adds nothing, and nothing is taken back.
TEST(RankOutcomesTest, ClampedSumsBelongToTheRanksThatReachThem) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 1, &tuple);
  Reward(1, 1, &tuple);
  Reward(2, -1, &tuple);
  TrainOptions options = WeighedBy(Poem::PREFIXES);
  options.set_reward_min(-1);
  options.set_reward_max(1);
  options.set_clamp_rewards(true);
  EXPECT_THAT(Outcome(tuple, options).ranks.losses, ElementsAre(-1, 0, 0));
  // 1 and then -1: sums 1, 0, 0; losses -1, -1/2, -1/2. The thumb down takes
  // back half of what the range can lose.
  log::v1::BanditTuple regretted = ThreeRanks();
  Reward(0, 1, &regretted);
  Reward(1, -1, &regretted);
  EXPECT_THAT(Outcome(regretted, options).ranks.losses,
              ElementsAre(-1, 0.5, 0));
  // Nothing at all is worth 0, half of the range: known before any rank.
  EXPECT_THAT(Outcome(ThreeRanks(), options).ranks.losses,
              ElementsAre(-0.5, 0, 0));
  // An order that counts as one action has all of it at its last rank.
  regretted.mutable_shown()->add_shown(2);
  EXPECT_THAT(Outcome(regretted, options).ranks.losses,
              ElementsAre(0, 0, -0.5));
}

// What a rank earned is weighed by itself: no sum of ranks is clamped there.
TEST(RankOutcomesTest, WeighedByItselfARankIsNotClamped) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 1, &tuple);
  Reward(1, 1, &tuple);
  Reward(2, -1, &tuple);
  TrainOptions options = WeighedBy(Poem::ITEM_POSITION);
  options.set_reward_min(-1);
  options.set_reward_max(1);
  options.set_clamp_rewards(true);
  EXPECT_THAT(Outcome(tuple, options).ranks.losses,
              ElementsAre(-0.5, -0.5, 0.5));
}

TEST(RankOutcomesTest, LogSmoothingRefusesLossesAboveZero) {
  TrainOptions options = WeighedBy(Poem::PREFIXES);
  options.mutable_poem()->set_objective(Poem::LOG_SMOOTHING);
  options.set_reward_min(-1);
  EXPECT_THAT(Read(ThreeRanks(), options),
              IsInvalidArgument("while reward_min is -1: it needs rewards by "
                                "rank of at least 0"));
  options.set_reward_min(0);
  options.set_clamp_rewards(true);
  EXPECT_THAT(Read(ThreeRanks(), options),
              IsInvalidArgument("while clamp_rewards is true"));
}

TEST(RankOutcomesTest, LossesAreThoseOfTheRanksThatCount) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(1, 3, &tuple);
  const RankOutcome all = Outcome(tuple, WeighedBy(Poem::PREFIXES));
  EXPECT_THAT(all.ranks.losses, ElementsAre(0, -0.75, 0));
  EXPECT_THAT(all.ranks.log_conditionals, ElementsAre(kHalf, kHalf, kHalf));
  EXPECT_THAT(all.ranks.log_marginals, IsEmpty());
  EXPECT_TRUE(all.has_rewards);
  EXPECT_FALSE(all.is_one);
  // What a decision earned without a rank is that of the last rank that counts,
  // as are feedback of ranks that were not decided.
  tuple.mutable_shown()->set_seen_ranks(2);
  tuple.set_reward(3.5);
  const RankOutcome seen = Outcome(tuple, WeighedBy(Poem::PREFIXES));
  EXPECT_THAT(seen.ranks.losses, ElementsAre(0, -0.875));
  EXPECT_THAT(seen.ranks.log_conditionals, ElementsAre(kHalf, kHalf));
  tuple.mutable_rank_rewards(0)->set_rank(9);
  const RankOutcome undecided = Outcome(tuple, WeighedBy(Poem::PREFIXES));
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
  const RankOutcome outcome = Outcome(tuple, WeighedBy(Poem::ITEM_POSITION));
  EXPECT_THAT(outcome.ranks.log_marginals,
              Pointwise(DoubleNear(1e-12),
                        {std::log(0.03), std::log(0.02), std::log(0.06)}));
  // Nothing was earned: nobody needs to know.
  log::v1::BanditTuple nothing = ThreeRanks();
  const RankMarginals unknown = [](const log::v1::Decision&, size_t,
                                   std::vector<double>*) {
    return absl::FailedPreconditionError("unknown");
  };
  const RankOutcome none =
      Outcome(nothing, WeighedBy(Poem::ITEM_POSITION), {}, unknown);
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
  const RankOutcome outcome =
      Outcome(tuple, WeighedBy(Poem::ITEM_POSITION), {}, lost);
  EXPECT_THAT(outcome.ranks.log_marginals,
              Pointwise(DoubleNear(1e-12), {kHalf, 2 * kHalf, 3 * kHalf}));
}

TEST(RankOutcomesTest, GainsAreClicksOverExposure) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 2, &tuple);    // One click, twice.
  Reward(1, 0.5, &tuple);  // Half of one.
  tuple.mutable_shown()->set_seen_ranks(2);
  const TrainOptions options = Exposed({0.8, 0.5, 0.4, 0.3}, {0.1, 0.05, 0, 0});
  const RankOutcome outcome = Outcome(tuple, options);
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
  const RankOutcome rare = Outcome(tuple, options, {}, never);
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
  // The log has the model's, and the baseline had a part.
  tuple.mutable_decision()->mutable_baseline()->set_model_decided(true);
  tuple.mutable_decision()->set_log_propensity(2 * kHalf);
  const RankOutcome outcome = Outcome(tuple, WeighedBy(Poem::PREFIXES));
  EXPECT_TRUE(outcome.is_one);
  EXPECT_FALSE(outcome.has_rewards);
  EXPECT_THAT(outcome.ranks.losses, ElementsAre(0, 0, -0.5));
  EXPECT_THAT(outcome.ranks.log_conditionals, ElementsAre(0, 0, 2 * kHalf));
  const auto is_refused =
      IsFailedPrecondition("decision 'd' has no propensity of each rank");
  EXPECT_THAT(Read(tuple, WeighedBy(Poem::ITEM_POSITION)), is_refused);
  EXPECT_THAT(Read(tuple, Exposed({1}, {})), is_refused);
  TrainOptions modelled = WeighedBy(Poem::PREFIXES);
  modelled.mutable_poem()->set_objective(Poem::DOUBLY_ROBUST);
  EXPECT_THAT(Read(tuple, modelled), is_refused);
}

// An order of two of three documents: with probability 0.6 the baseline 0, 1,
// otherwise any of the six. Users read from the top, so that what rank 1 earns
// depends on what is above. Over all orders, weights of prefixes give the value
// of another policy.
TEST(RankOutcomesTest, PrefixesOfAMixtureWithTheBaselineAreWeighed) {
  constexpr double kModel = 0.4;
  constexpr double kRewardMax = 4;
  const double first_reward[] = {0.1, 0.5, 0.3};
  const double first_target[] = {0.2, 0.5, 0.3};
  double value = 0;
  double truth = 0;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      if (a == b) continue;
      const double second_reward = (1 - first_reward[a]) * 0.2 * (b + 1);
      const double p_first = kModel / 3 + (a == 0 ? 1 - kModel : 0);
      const double p = kModel / 6 + (a == 0 && b == 1 ? 1 - kModel : 0);
      log::v1::BanditTuple tuple = ThreeRanks();
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.clear_eligible();
      decision.mutable_baseline()->set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
      decision.clear_action();
      decision.add_action(a);
      decision.add_action(b);
      decision.clear_conditional_log_propensities();
      decision.add_conditional_log_propensities(std::log(p_first));
      decision.add_conditional_log_propensities(std::log(p / p_first));
      decision.set_log_propensity(std::log(p));
      Reward(0, first_reward[a], &tuple);
      Reward(1, second_reward, &tuple);
      const RankOutcome outcome = Outcome(tuple, WeighedBy(Poem::PREFIXES));
      EXPECT_FALSE(outcome.is_one);
      const double q = first_target[a] / 2;  // The second rank is uniform.
      const auto& logged = outcome.ranks.log_conditionals;
      value -=
          p * (first_target[a] / std::exp(logged[0]) * outcome.ranks.losses[0] +
               q / std::exp(logged[0] + logged[1]) * outcome.ranks.losses[1]);
      truth += q * (first_reward[a] + second_reward) / kRewardMax;
    }
  }
  EXPECT_NEAR(value, truth, 1e-12);
}

TEST(RankOutcomesTest, OrdersThatWereNotShownCountAsOne) {
  log::v1::BanditTuple tuple = ThreeRanks();
  Reward(0, 2, &tuple);
  tuple.mutable_shown()->add_shown(4);
  const RankOutcome outcome = Outcome(tuple, WeighedBy(Poem::PREFIXES));
  EXPECT_TRUE(outcome.is_one);
  EXPECT_THAT(outcome.ranks.losses, ElementsAre(0, 0, -0.5));
  // Which add up to log p, and are right for a model, too.
  EXPECT_THAT(outcome.ranks.log_conditionals, ElementsAre(kHalf, kHalf, kHalf));
  const auto is_refused = IsFailedPrecondition(
      "something else than decision 'd' was shown, and "
      "which of its ranks earned 2 is not known");
  EXPECT_THAT(Read(tuple, WeighedBy(Poem::ITEM_POSITION)), is_refused);
  EXPECT_THAT(Read(tuple, Exposed({1}, {})), is_refused);
  // As shown, nothing is learned of the action.
  const RankOutcome hidden =
      Outcome(tuple, WeighedBy(Poem::ITEM_POSITION), Overrides::kAsShown);
  EXPECT_THAT(hidden.ranks.losses, ElementsAre(0, 0, 0));
  EXPECT_FALSE(hidden.is_one);
  const RankOutcome gains =
      Outcome(tuple, Exposed({1}, {0.5}), Overrides::kAsShown);
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
                IsInvalidArgument("reward of decision 'd' is 1, of its ranks "
                                  "2, must be at least as much"));
  }
  tuple.set_reward(3);
  const RankOutcome last = Outcome(tuple, WeighedBy(Poem::PREFIXES));
  EXPECT_THAT(last.ranks.losses, ElementsAre(-0.25, -0.25, -0.25));
  for (const TrainOptions& options :
       {WeighedBy(Poem::ITEM_POSITION), Exposed({1}, {})}) {
    EXPECT_THAT(Read(tuple, options),
                IsInvalidArgument("reward of decision 'd' is 3, of its ranks "
                                  "2, must be the same"));
  }
  // The same numbers, added up in another order.
  tuple.set_reward(std::nextafter(2, 0));
  EXPECT_OK(Read(tuple, WeighedBy(Poem::ITEM_POSITION)));
}

// What the reader keeps of the ranks of orders.

class RankReadingTest : public testing::Test {
 protected:
  RankReadingTest() : tuples_(MakeRankTuples(log_, ReaderOf("cascade"), 400)) {
    options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  }

  absl::StatusOr<TupleData> Data(const TupleFilter& filter = {}) {
    const std::string dir = dir_.Sub(absl::StrCat("tuples", num_++));
    WriteSegment(dir, 0, tuples_);
    options_.set_tuples(dir);
    return ReadTuples(options_, filter);
  }

  const SyntheticLog log_{.action_kind = ActionKind::kRank};
  std::vector<log::v1::BanditTuple> tuples_;
  const TempDir dir_;
  int num_ = 0;
  TrainOptions options_;
};

TEST_F(RankReadingTest, EveryTrainingTupleHasItsRanks) {
  ASSERT_OK_AND_ASSIGN(const TupleData data, Data());
  ASSERT_EQ(data.train_ranks.size(), data.train.size());
  EXPECT_THAT(data.train_exposed, IsEmpty());
  uint64_t with_rewards = 0;
  for (size_t i = 0; i < data.train.size(); ++i) {
    const RankedTuple& ranks = data.train_ranks[i];
    ASSERT_EQ(ranks.num_shown(), log_.top_k);
    EXPECT_EQ(std::accumulate(ranks.losses.begin(), ranks.losses.end(), 0.0),
              data.train[i].loss);
    EXPECT_NEAR(std::accumulate(ranks.log_conditionals.begin(),
                                ranks.log_conditionals.end(), 0.0),
                data.train[i].log_propensity, 1e-9);
    with_rewards += data.train[i].loss != 0;
  }
  EXPECT_EQ(data.with_rank_rewards, with_rewards);
  EXPECT_GT(with_rewards, 0);
  EXPECT_EQ(data.orders_as_one, 0);
  options_.mutable_poem()->clear_rank_weights();
  ASSERT_OK_AND_ASSIGN(const TupleData plain, Data());
  EXPECT_EQ(plain.train.size(), data.train.size());
  EXPECT_THAT(plain.train_ranks, IsEmpty());
}

// Wherever a tuple goes at the end: without units, those that do not evaluate
// train; by time nobody knows before all have been read.
TEST_F(RankReadingTest, EveryTrainingTupleHasItsRanksInAnyPart) {
  for (size_t i = 0; i < tuples_.size(); ++i) {
    log::v1::Decision& decision = *tuples_[i].mutable_decision();
    decision.set_version(1 + i % 2);
    if (i % 3 == 0) decision.set_unit_id(absl::StrCat("u", i / 6));
    decision.set_time_us(1'700'000'000'000'000 + static_cast<int64_t>(i));
  }
  for (const uint64_t baseline : {1, 2}) {
    for (const bool is_of_log : {false, true}) {
      for (const char* const parts : {"unit_hash", "time"}) {
        options_.set_parts(parts);
        TupleFilter filter;
        filter.baseline_version = baseline;
        filter.baseline_is_of_log = is_of_log;
        ASSERT_OK_AND_ASSIGN(const TupleData data, Data(filter));
        ASSERT_EQ(data.train_ranks.size(), data.train.size());
        for (size_t i = 0; i < data.train.size(); ++i) {
          EXPECT_EQ(data.train_ranks[i].num_shown(), log_.top_k);
        }
      }
    }
  }
}

TEST_F(RankReadingTest, RewardsOfRanksOutsideTheRangeLeaveADecisionOut) {
  tuples_[7].clear_rank_rewards();
  Reward(0, -0.5, &tuples_[7]);
  Reward(1, 1, &tuples_[7]);
  tuples_[7].set_reward(0.5);
  ASSERT_OK_AND_ASSIGN(const TupleData data, Data());
  EXPECT_EQ(data.left_out(LeftOutReason::kRewardOutside), 1);
  // More than 1 % are an error.
  for (int i = 0; i < 20; ++i) tuples_[i] = tuples_[7];
  for (int i = 0; i < 20; ++i) {
    tuples_[i].mutable_decision()->set_decision_id(absl::StrCat("bad", i));
  }
  EXPECT_THAT(Data(), IsInvalidArgument("reward of decision 'bad0' is -0.5 at "
                                        "rank 0, must be in [0, 1]"));
}

// A tuple takes some 540 bytes, and its ranks some 300 more if it may train:
// 1500 tuples fit 0.875 MiB only without them.
TEST_F(RankReadingTest, RanksCountTowardsMemory) {
  tuples_ = MakeRankTuples(log_, ReaderOf("cascade"), 1500);
  options_.set_memory_mb(1);
  options_.set_scratch_mb(0);
  ASSERT_OK_AND_ASSIGN(const TupleData ranked, Data());
  options_.mutable_poem()->clear_rank_weights();
  ASSERT_OK_AND_ASSIGN(const TupleData plain, Data());
  EXPECT_LT(ranked.kept_fraction, plain.kept_fraction);
  EXPECT_EQ(ranked.train_ranks.size(), ranked.train.size());
}

// Four of six candidates are ranked, each with the propensity 1/2 given those
// above.
log::v1::BanditTuple FourRanks() {
  log::v1::BanditTuple tuple;
  log::v1::Decision& decision = *tuple.mutable_decision();
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(6);
  for (const int32_t document : {4, 0, 5, 2}) {
    decision.add_action(document);
    decision.add_conditional_log_propensities(std::log(0.5));
  }
  decision.set_log_propensity(4 * std::log(0.5));
  return tuple;
}

void Show(const std::vector<uint32_t>& documents, log::v1::BanditTuple* tuple) {
  tuple->mutable_shown()->mutable_shown()->Assign(documents.begin(),
                                                  documents.end());
}

void ExpectRanks(const log::v1::BanditTuple& tuple, RankUse use, size_t ranks) {
  const RankPrefix prefix = PrefixOf(tuple, use);
  EXPECT_EQ(prefix.ranks, ranks);
  EXPECT_DOUBLE_EQ(prefix.log_propensity,
                   static_cast<double>(ranks) * std::log(0.5));
}

TEST(RankUseTest, CountsWhatTheUserSaw) {
  log::v1::BanditTuple tuple = FourRanks();
  for (const RankUse use : {RankUse::kAll, RankUse::kShown, RankUse::kSeen}) {
    ExpectRanks(tuple, use, 4);  // Nothing is known of what was shown.
  }
  Show({4, 0, 5}, &tuple);
  ExpectRanks(tuple, RankUse::kAll, 4);
  ExpectRanks(tuple, RankUse::kShown, 3);
  ExpectRanks(tuple, RankUse::kSeen, 4);  // A filter may have dropped the last.
  tuple.mutable_shown()->set_seen_ranks(2);
  ExpectRanks(tuple, RankUse::kAll, 4);
  ExpectRanks(tuple, RankUse::kShown, 3);
  ExpectRanks(tuple, RankUse::kSeen, 2);
  // Feedback about a rank says more than the viewport did.
  tuple.add_rank_rewards()->set_rank(2);
  ExpectRanks(tuple, RankUse::kSeen, 3);
  // The report of a page is lost, and the user looked beyond it.
  tuple.mutable_shown()->set_seen_ranks(4);
  ExpectRanks(tuple, RankUse::kSeen, 4);
}

// What was shown at a rank that counts is not the action.
TEST(RankUseTest, OrdersThatWereNotShownCountWhole) {
  log::v1::BanditTuple tuple = FourRanks();
  Show({4, 5, 0}, &tuple);
  tuple.mutable_shown()->set_seen_ranks(2);
  for (const RankUse use : {RankUse::kSeen, RankUse::kShown}) {
    ExpectRanks(tuple, use, 4);
    EXPECT_TRUE(PrefixOf(tuple, use).shown_otherwise);
  }
  // Below what was seen it does not matter, whatever it depends on.
  tuple.mutable_shown()->set_seen_ranks(1);
  ExpectRanks(tuple, RankUse::kSeen, 1);
  EXPECT_FALSE(PrefixOf(tuple, RankUse::kSeen).shown_otherwise);
}

TEST(RankUseTest, CountsTheWholeWithoutPropensitiesOfRanks) {
  log::v1::BanditTuple tuple = FourRanks();
  Show({4}, &tuple);
  tuple.mutable_shown()->set_seen_ranks(1);
  ExpectRanks(tuple, RankUse::kSeen, 1);
  log::v1::BanditTuple without = tuple;
  without.mutable_decision()->clear_conditional_log_propensities();
  ExpectRanks(without, RankUse::kSeen, 4);
  // The propensities of a mixture with the baseline are as good as others.
  tuple.mutable_decision()->mutable_baseline()->set_model_decided(true);
  ExpectRanks(tuple, RankUse::kSeen, 1);
  // The propensity of the whole choice is not that of the model's ranks.
  tuple.mutable_decision()->set_log_propensity(-0.1);
  EXPECT_EQ(PrefixOf(tuple, RankUse::kSeen).ranks, 4);
}

TEST(RankUseTest, NamesAreReadAndWritten) {
  for (const char* const text : {"all", "shown", "seen"}) {
    ASSERT_OK_AND_ASSIGN(const RankUse use, ParseRankUse(text, false));
    EXPECT_EQ(RankUseText(use), text);
  }
  EXPECT_EQ(ParseRankUse("", false).value(), RankUse::kSeen);
  EXPECT_EQ(ParseRankUse("", true).value(), RankUse::kAll);
  EXPECT_EQ(ParseRankUse("seen", true).value(), RankUse::kSeen);
  EXPECT_THAT(ParseRankUse("some", false),
              IsInvalidArgument("ranks is 'some', must be all, shown or"));
}

// A user reads from the top, is satisfied at a rank with a probability that
// depends on what stands there, and stops. Over all orders and all users,
// weights of the ranks that were seen have the mean 1 and give the value of the
// other policy, and vary less than weights of whole orders.
TEST(RankUseTest, WeightsOfSeenRanksGiveTheValueOfAnotherPolicy) {
  constexpr int kItems = 4;
  const std::vector<double> logged_scores = {0.3, -0.8, 1.1, 0};
  const std::vector<double> other_scores = {-1.2, 0.9, 0.4, 0.7};
  const std::vector<double> satisfies = {0.6, 0.1, 0.3, 0.8};
  const RankingDistribution logging(1, 0.1);
  const RankingDistribution other(1, 0.05);
  DistributionScratch scratch;
  const auto scored = [&](const std::vector<double>& scores, size_t ranks) {
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.top_k = static_cast<uint32_t>(ranks);
    candidates.scratch = &scratch;
    return candidates;
  };

  struct Sums {
    double weight = 0, value = 0, squares = 0;
  };
  Sums seen, whole;
  double truth = 0;
  std::vector<int32_t> order(kItems);
  std::iota(order.begin(), order.end(), 0);
  do {
    log::v1::BanditTuple tuple;
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_action_kind(log::v1::RANK);
    decision.mutable_action()->Assign(order.begin(), order.end());
    decision.set_log_propensity(
        logging.LogPropensity(scored(logged_scores, kItems), order));
    std::vector<double> conditionals;
    logging.ConditionalLogPropensities(scored(logged_scores, kItems), order,
                                       &conditionals);
    decision.mutable_conditional_log_propensities()->Assign(
        conditionals.begin(), conditionals.end());
    double goes_on = 1;
    for (uint32_t rank = 0; rank <= kItems; ++rank) {
      // The last one is the user whom nothing satisfied.
      const bool is_satisfied = rank < kItems;
      const double probability =
          is_satisfied ? goes_on * satisfies[order[rank]] : goes_on;
      const double reward = is_satisfied ? 1.0 / (rank + 1) : 0;
      Show({order.begin(), order.end()}, &tuple);
      tuple.mutable_shown()->set_seen_ranks(
          std::min<uint32_t>(rank + 1, kItems));
      const double p = probability * std::exp(decision.log_propensity());
      for (Sums* const sums : {&seen, &whole}) {
        const RankPrefix prefix =
            PrefixOf(tuple, sums == &seen ? RankUse::kSeen : RankUse::kAll);
        const double weight =
            std::exp(other.LogPropensity(scored(other_scores, prefix.ranks),
                                         std::span(order).first(prefix.ranks)) -
                     prefix.log_propensity);
        sums->weight += p * weight;
        sums->value += p * weight * reward;
        sums->squares += p * weight * weight * reward * reward;
      }
      truth +=
          probability * reward *
          std::exp(other.LogPropensity(scored(other_scores, kItems), order));
      if (is_satisfied) goes_on *= 1 - satisfies[order[rank]];
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(seen.weight, 1, 1e-12);
  EXPECT_NEAR(whole.weight, 1, 1e-12);
  EXPECT_NEAR(seen.value, truth, 1e-12);
  EXPECT_NEAR(whole.value, truth, 1e-12);
  EXPECT_LT(seen.squares, 0.9 * whole.squares);
}

}  // namespace
}  // namespace sortition
