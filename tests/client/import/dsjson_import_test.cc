// dsjson of Vowpal Wabbit: features by name, outcomes, what is not known here.
#include "client/import/dsjson_features.h"
#include "gmock/gmock.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An event as the documentation of Vowpal Wabbit shows it.
constexpr char kEvent[] =
    R"({"_label_cost":-1.5,"_label_probability":0.8166667,"_label_Action":2,)"
    R"("_labelIndex":1,"o":[{"v":1.5,"EventId":"13118d9b"}],)"
    R"("Timestamp":"2021-02-04T16:31:29.2460000Z","Version":"1",)"
    R"("EventId":"13118d9b","a":[2,1],"c":{"GUser":{"id":"a","major":"eng",)"
    R"("age":7},"_multi":[{"TAction":{"a1":"f1"}},{"TAction":{"a2":"f2",)"
    R"("w":0.25,"on":true,"off":false}}]},"p":[0.8166667,0.1833333],)"
    R"("VWState":{"m":"ff0744c1aa494e1ab39ba0c78d048146/550c12cbd3aa47f0"}})";

class DsjsonImportTest : public ExchangeFixture {
 protected:
  log::v1::BanditTuple Read(const std::string& line,
                            const std::string& hash_bits) {
    std::filesystem::remove_all(imported());
    EXPECT_OK(
        ImportText(line, {"--format=dsjson", "--hash_bits=" + hash_bits}));
    const auto tuples = ReadAllTuples(imported());
    EXPECT_EQ(tuples.size(), 1u);
    return tuples.empty() ? log::v1::BanditTuple() : tuples[0];
  }
};

TEST_F(DsjsonImportTest, AnEventOfVowpalWabbitIsRead) {
  const log::v1::BanditTuple tuple = Read(kEvent, "20");
  const log::v1::Decision& decision = tuple.decision();
  EXPECT_EQ(decision.decision_id(), "13118d9b");
  EXPECT_EQ(decision.time_us(), 1612456289246000);
  EXPECT_EQ(decision.model(), "default");  // The name is no model/version.
  EXPECT_EQ(decision.action_kind(), log::v1::SELECT);
  EXPECT_FALSE(decision.can_abstain());
  EXPECT_THAT(decision.action(), ElementsAre(1));
  EXPECT_EQ(decision.log_propensity(), std::log(0.8166667));
  EXPECT_EQ(tuple.reward(), 1.5);
  EXPECT_TRUE(tuple.has_feedback());
  EXPECT_EQ(decision.num_features(), 1u << 20);
  // Three shared features, of which each candidate has its own copy; one, and
  // three that are not 0, of the candidates.
  EXPECT_THAT(decision.sparse().row_offsets(), ElementsAre(0, 4, 10));
}

TEST_F(DsjsonImportTest, AFeatureKeepsItsColumn) {
  const log::v1::Decision decision = Read(kEvent, "20").decision();
  std::map<uint32_t, float> second;
  for (int k = 4; k < 10; ++k) {
    second[decision.sparse().columns(k)] = decision.sparse().values(k);
  }
  EXPECT_EQ(second[HashedColumn("GUser", "id=a", 20)], 1);
  EXPECT_EQ(second[HashedColumn("GUser", "age", 20)], 7);
  EXPECT_EQ(second[HashedColumn("TAction", "a2=f2", 20)], 1);
  EXPECT_EQ(second[HashedColumn("TAction", "w", 20)], 0.25);
  EXPECT_EQ(second[HashedColumn("TAction", "on", 20)], 1);
  // Columns are the same in every release: models refer to them.
  EXPECT_EQ(HashedColumn("TAction", "w", 20), 326198u);
}

TEST_F(DsjsonImportTest, FeaturesThatCollideAddUp) {
  const log::v1::Decision decision = Read(kEvent, "1").decision();
  float sum = 0;
  const auto& sparse = decision.sparse();
  for (uint32_t k = sparse.row_offsets(1); k < sparse.row_offsets(2); ++k) {
    sum += sparse.values(static_cast<int>(k));
  }
  EXPECT_EQ(sum, 1 + 1 + 7 + 1 + 0.25f + 1);
}

TEST_F(DsjsonImportTest, WithoutOutcomesThereWasNoFeedback) {
  std::string line = kEvent;
  const size_t begin = line.find("\"o\":");
  line.erase(begin, line.find("\"Timestamp\"") - begin);
  EXPECT_FALSE(Read(line, "18").has_feedback());
}

TEST_F(DsjsonImportTest, CostsOfSlotsAddUp) {
  const log::v1::BanditTuple tuple = Read(
      R"({"EventId":"e","_outcomes":[{"_a":[2,0,1],"_p":[0.5,0.3,0.2],)"
      R"("_label_cost":-1},{"_a":[0,1],"_p":[0.25,0.75],"_label_cost":-2}],)"
      R"("c":{"_multi":[{"f":[1]},{"f":[2]},{"f":[3]}]}})",
      "0");
  EXPECT_EQ(tuple.reward(), 3);
  EXPECT_EQ(tuple.decision().action_kind(), log::v1::RANK);
  EXPECT_THAT(tuple.decision().action(), ElementsAre(2, 0));
  EXPECT_DOUBLE_EQ(tuple.decision().log_propensity(), std::log(0.125));
  EXPECT_THAT(tuple.decision().dense_values(), ElementsAre(1, 2, 3));
  ASSERT_EQ(tuple.rank_rewards_size(), 2);
  EXPECT_EQ(tuple.rank_rewards(1).rank(), 1u);
  EXPECT_EQ(tuple.rank_rewards(1).reward(), 2);
}

TEST_F(DsjsonImportTest, RanksShownAndSeenAreChecked) {
  const auto read = [this](const std::string& ranks) {
    std::filesystem::remove_all(imported());
    return ImportText(
        R"({"EventId":"e","_outcomes":[{"_a":[2],"_p":[0.5],"_label_cost":0},)"
        R"({"_a":[0],"_p":[0.25],"_label_cost":0}],)"
        R"("c":{"_multi":[{"f":[1]},{"f":[2]},{"f":[3]}]},)" +
            ranks + "}",
        {"--format=dsjson", "--hash_bits=0"});
  };
  EXPECT_OK(read("\"_shown_ranks\":1,\"_seen_ranks\":1"));
  EXPECT_THAT(read("\"_shown_ranks\":3"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("number of ranks shown is 3, must be in "
                                 "[0, 2]")));
  EXPECT_THAT(read("\"_shown_ranks\":-1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("_shown_ranks is -1, must be at least 0")));
  EXPECT_THAT(read("\"_seen_ranks\":0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("seen_ranks is 0, must be at least 1")));
}

}  // namespace
}  // namespace sortition
