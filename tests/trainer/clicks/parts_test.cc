// Rooms of the command on their own: links of ranks, keys of items, differences
// by units.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "trainer/clicks/item_keys.h"
#include "trainer/clicks/model_fits.h"
#include "trainer/clicks/rank_links.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;
using ::testing::ElementsAre;
using Items = std::vector<uint32_t>;
using Clicks = std::vector<uint8_t>;

ClicksReport::Model Unidentified(const ClickSessions& sessions,
                                 ClickModelKind kind) {
  ClicksReport::Model model;
  RankLinks(sessions).AppendUnidentified(kind, true,
                                         model.mutable_unidentified());
  return model;
}

// Item 0 links ranks 0 and 1, item 1 ranks 1 and 2; nobody clicked item 2,
// which links rank 3 with rank 0.
TEST(RankLinksTest, FollowsItemsThatWereMovedAndClicked) {
  ClickSessions sessions = *ClickSessions::Create(5);
  ASSERT_OK(sessions.Add(Items{0, 1, 3, 2}, Clicks{1, 1, 0, 0}));
  ASSERT_OK(sessions.Add(Items{2, 0, 1, 4}, Clicks{0, 0, 0, 1}));
  EXPECT_EQ(RankLinks(sessions).moved_items(), 3u);
  const auto position = Unidentified(sessions, ClickModelKind::kPositionBased);
  ASSERT_EQ(position.unidentified_size(), 1);
  EXPECT_THAT(position.unidentified(0).ranks(), ElementsAre(3));
  // One item is not enough for two numbers.
  const auto trust = Unidentified(sessions, ClickModelKind::kTrustBias);
  ASSERT_EQ(trust.unidentified_size(), 2);
  EXPECT_THAT(trust.unidentified(0).ranks(), ElementsAre(1, 2, 3));
  EXPECT_EQ(trust.unidentified(1).parameter(), "offset");
  EXPECT_THAT(trust.unidentified(1).ranks(), ElementsAre(0));
  // Clicks at ranks 0, 1; that at rank 3 has no rank below.
  const auto dependent =
      Unidentified(sessions, ClickModelKind::kDependentClick);
  ASSERT_EQ(dependent.unidentified_size(), 1);
  EXPECT_THAT(dependent.unidentified(0).ranks(), ElementsAre(2, 3));
  // Items 2 (as it was first), 0, 1 and 4 were examined, but not 3.
  const auto cascade = Unidentified(sessions, ClickModelKind::kCascade);
  ASSERT_EQ(cascade.unidentified_size(), 1);
  EXPECT_EQ(cascade.unidentified(0).items(), 1u);
  // Clicked above the last rank: 0 and 1.
  const auto network = Unidentified(sessions, ClickModelKind::kBayesianNetwork);
  ASSERT_EQ(network.unidentified_size(), 1);
  EXPECT_EQ(network.unidentified(0).items(), 3u);
}

TEST(RankLinksTest, TwoItemsLinkTrust) {
  ClickSessions sessions = *ClickSessions::Create(2);
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 1}));
  ASSERT_OK(sessions.Add(Items{1, 0}, Clicks{1, 0}));
  const auto trust = Unidentified(sessions, ClickModelKind::kTrustBias);
  ASSERT_EQ(trust.unidentified_size(), 1);
  EXPECT_EQ(trust.unidentified(0).parameter(), "offset");
}

// Differences 1, 2, 3 of two units: the mean is 2, sums of the rest are -1 and
// 1.
TEST(DifferenceByUnitsTest, ByHand) {
  const UnitDifference difference =
      DifferenceByUnits({1, 2, 3}, {0, 0, 0}, {0, 0, 1}, 2);
  EXPECT_DOUBLE_EQ(difference.difference, 2);
  EXPECT_DOUBLE_EQ(difference.standard_error, std::sqrt(2. * 2) / 3);
  EXPECT_EQ(DifferenceByUnits({1, 2}, {0, 0}, {0, 0}, 1).standard_error, 0);
}

log::v1::Decision Query(const std::vector<float>& values,
                        const std::vector<std::string>& ids) {
  log::v1::Decision decision;
  decision.set_num_features(2);
  decision.set_num_candidates(static_cast<uint32_t>(ids.size()));
  decision.mutable_dense_values()->Add(values.begin(), values.end());
  for (const std::string& id : ids) decision.add_candidate_ids(id);
  return decision;
}

std::vector<Hash128> KeysOf(ClickItems items,
                            const log::v1::Decision& decision) {
  ItemKeys keys(items, nullptr);
  EXPECT_FALSE(keys.Read(decision).has_value());
  std::vector<Hash128> result;
  for (uint32_t i = 0; i < keys.num_candidates(); ++i) {
    result.push_back(keys.KeyOf(i));
  }
  return result;
}

TEST(ItemKeysTest, IdsBelongToTheirQuery) {
  const auto one = KeysOf(ClickItems::kIds, Query({1, 2, 3, 4}, {"a", "b"}));
  const auto turned = KeysOf(ClickItems::kIds, Query({3, 4, 1, 2}, {"b", "a"}));
  const auto other = KeysOf(ClickItems::kIds, Query({1, 2, 3, 5}, {"a", "b"}));
  EXPECT_EQ(one[0], turned[1]);
  EXPECT_EQ(one[1], turned[0]);
  EXPECT_FALSE(one[0] == one[1]);
  EXPECT_FALSE(one[0] == other[0]);
}

TEST(ItemKeysTest, FeaturesAreTheSameDenseAndSparse) {
  const auto dense =
      KeysOf(ClickItems::kFeatures, Query({0, 2, 3, 4, 0, 2}, {"a", "b", "c"}));
  EXPECT_EQ(dense[0], dense[2]);
  EXPECT_FALSE(dense[0] == dense[1]);
  log::v1::Decision sparse;
  sparse.set_num_features(2);
  sparse.set_num_candidates(1);
  sparse.mutable_sparse()->add_row_offsets(0);
  sparse.mutable_sparse()->add_row_offsets(1);
  sparse.mutable_sparse()->add_columns(1);
  sparse.mutable_sparse()->add_values(2);
  EXPECT_EQ(KeysOf(ClickItems::kFeatures, sparse)[0], dense[0]);
}

// Columns of the query tell queries apart, whatever the candidates.
TEST(ItemKeysTest, ColumnsOfTheQueryTellQueriesApart) {
  const auto decide = [](const std::string& question, double price) {
    log::v1::Decision decision;
    decision.set_num_candidates(1);
    decision.add_candidate_ids("a");
    auto* const columns = decision.mutable_columns();
    columns->set_num_candidates(1);
    auto* const query = columns->add_query();
    query->set_name("question");
    query->mutable_texts()->add_values(question);
    auto* const candidate = columns->add_candidate();
    candidate->set_name("price");
    candidate->mutable_numbers()->add_values(price);
    return decision;
  };
  const auto key = [&](ClickItems items, const std::string& question,
                       double price) {
    return KeysOf(items, decide(question, price))[0];
  };
  EXPECT_EQ(key(ClickItems::kIds, "who", 1), key(ClickItems::kIds, "who", 2));
  EXPECT_FALSE(key(ClickItems::kIds, "who", 1) ==
               key(ClickItems::kIds, "what", 1));
  EXPECT_FALSE(key(ClickItems::kFeatures, "who", 1) ==
               key(ClickItems::kFeatures, "who", 2));
  ItemKeys regression(ClickItems::kRegression, nullptr);
  EXPECT_EQ(regression.Read(decide("who", 1)), LeftOutReason::kColumns);
  log::v1::Decision short_of_values = decide("who", 1);
  short_of_values.mutable_columns()->mutable_candidate(0)->clear_numbers();
  short_of_values.mutable_columns()->mutable_candidate(0)->mutable_texts();
  ItemKeys keys(ClickItems::kFeatures, nullptr);
  EXPECT_EQ(keys.Read(short_of_values), LeftOutReason::kBadFeatures);
}

}  // namespace
}  // namespace sortition
