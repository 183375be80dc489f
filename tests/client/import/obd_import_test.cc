// CSV files in the form of the Open Bandit Dataset.
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kLog[] =
    ",timestamp,item_id,position,click,propensity_score,user_feature_0,"
    "user_feature_1,user-item_affinity_0,user-item_affinity_1,"
    "user-item_affinity_2\n"
    "0,2019-11-24 00:00:16.004101+00:00,2,3,0,0.0125,81ce,2723,0.0,0.0,1.5\n"
    "1,2019-11-24 00:00:17+00:00,0,1,1,0.25,81ce,2720,0.5,0.0,0.0\n"
    "2,2019-11-24 00:00:18.5+00:00,1,2,0,0.325,81cf,2723,0.0,0.0,0.0\n";
constexpr char kItems[] =
    ",item_id,item_feature_0,item_feature_1\n"
    "0,1,-0.5,red\n1,0,0.25,blue\n2,2,0.75,red\n";

class ObdImportTest : public ExchangeFixture {
 protected:
  std::vector<log::v1::BanditTuple> Read(std::vector<std::string> flags) {
    std::filesystem::remove_all(imported());
    flags.push_back("--format=obd");
    EXPECT_OK(ImportText(kLog, flags));
    return ReadAllTuples(imported());
  }
  std::string ItemsFile(const std::string& text) {
    const std::string path = dir_ / "item_context.csv";
    EXPECT_OK(WriteFile(path, text));
    return "--item_context=" + path;
  }
};

TEST_F(ObdImportTest, WhatWasLoggedComesBack) {
  const auto tuples = Read({ItemsFile(kItems)});
  ASSERT_EQ(tuples.size(), 3u);
  const std::vector<std::string> ids = {"obd-3-1", "obd-1-2", "obd-2-3"};
  const std::vector<int> items = {2, 0, 1};
  const std::vector<double> clicks = {0, 1, 0};
  const std::vector<double> propensities = {0.0125, 0.25, 0.325};
  for (size_t i = 0; i < tuples.size(); ++i) {
    const log::v1::Decision& decision = tuples[i].decision();
    EXPECT_EQ(decision.decision_id(), ids[i]);
    EXPECT_THAT(decision.action(), ElementsAre(items[i]));
    EXPECT_EQ(tuples[i].reward(), clicks[i]);
    EXPECT_EQ(decision.log_propensity(), std::log(propensities[i]));
    EXPECT_EQ(decision.num_candidates(), 3u);
    EXPECT_FALSE(decision.can_abstain());
    EXPECT_EQ(decision.attributes().size(), 3u);
    EXPECT_EQ(decision.attributes().at("position"), ids[i].substr(4, 1));
  }
  EXPECT_EQ(tuples[0].decision().time_us(), 1574553616004101);
  EXPECT_EQ(tuples[2].decision().attributes().at("user_feature_0"), "81cf");
}

TEST_F(ObdImportTest, CandidatesHaveItemContextAndAffinity) {
  // Columns: items 0 to 2, item_feature_0, blue, red, affinity.
  const log::v1::Decision decision = Read({ItemsFile(kItems)})[0].decision();
  EXPECT_EQ(decision.num_features(), 7u);
  const auto& sparse = decision.sparse();
  EXPECT_THAT(sparse.row_offsets(), ElementsAre(0, 3, 6, 10));
  EXPECT_THAT(sparse.columns(), ElementsAre(0, 3, 4, 1, 3, 5, 2, 3, 5, 6));
  EXPECT_THAT(sparse.values(),
              ElementsAre(1, 0.25, 1, 1, -0.5, 1, 1, 0.75, 1, 1.5));
}

TEST_F(ObdImportTest, HashedUserFeaturesAreCrossedWithItems) {
  const auto tuples = Read({"--hash_bits=20"});
  const auto columns = [&](size_t tuple, uint32_t item) {
    const auto& sparse = tuples[tuple].decision().sparse();
    return std::set<uint32_t>(
        sparse.columns().begin() + static_cast<int>(sparse.row_offsets(item)) +
            1,
        sparse.columns().begin() +
            static_cast<int>(sparse.row_offsets(item + 1)));
  };
  EXPECT_EQ(tuples[0].decision().num_features(), 3 + 1 + (1u << 20));
  ASSERT_EQ(columns(2, 0).size(), 2u);  // Two user features, no affinity.
  // The same value of user_feature_0 has the same column for an item, and
  // another one for another item.
  const auto first = columns(0, 1);
  const auto second = columns(1, 1);
  std::vector<uint32_t> common;
  std::set_intersection(first.begin(), first.end(), second.begin(),
                        second.end(), std::back_inserter(common));
  EXPECT_EQ(common.size(), 1u);
  EXPECT_NE(columns(2, 0), columns(2, 1));
}

TEST_F(ObdImportTest, OnePositionAlone) {
  const auto tuples = Read({"--position=2"});
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "obd-2-3");
}

TEST_F(ObdImportTest, TheLogRoundTripsThroughCsv) {
  const auto tuples = Read({ItemsFile(kItems), "--hash_bits=10"});
  ASSERT_OK(Export({"--format=csv", imported()}));
  const std::string text = out_;
  std::filesystem::remove_all(imported());
  ASSERT_OK(ImportText(text, {"--format=csv"}));
  EXPECT_EQ(Serialised(ReadAllTuples(imported())), Serialised(tuples));
}

TEST_F(ObdImportTest, BadItemContextsAreRefused) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"item_id,x\n", "has no item"},
           {"item,x\n0,1\n", "'item_id' is missing"},
           {"item_id,x\n0,1\n0,2\n", ":3: item_id is '0'"},
           {"item_id,x\n0,1\n2,2\n", ":3: item_id is '2'"},
           {"item_id,x\n0\n", ":2: the line has 1 fields"}}) {
    EXPECT_THAT(
        ImportText(kLog, {"--format=obd", ItemsFile(text)}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_TRUE(NothingImported());
  }
}

}  // namespace
}  // namespace sortition
