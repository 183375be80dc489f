#include "trainer/tuples/rank_use.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/policies/distributions/ranking_distribution.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

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
  // The propensity of the whole choice is not that of the model's ranks.
  tuple.mutable_decision()->mutable_baseline()->set_model_decided(true);
  ExpectRanks(tuple, RankUse::kSeen, 4);
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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ranks is 'some', must be all, shown or")));
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
