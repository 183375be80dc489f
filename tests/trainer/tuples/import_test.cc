// tools/import_tuples.py, which converts logs of other systems to tuples for
// training.
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::ElementsAre;

class ImportTest : public testing::Test {
 protected:
  // Returns the exit status of the program.
  int Import(const std::string& lines, const std::string& flags = "") {
    const std::string input = dir_.Sub("input") + "/log.jsonl";
    EXPECT_OK(WriteFile(input, lines));
    return std::system(absl::StrCat("python3 " SORTITION_TOOLS
                                    "/import_tuples.py --output='",
                                    output_, "' ", flags, " < '", input, "'")
                           .c_str());
  }

  // Reads all tuples, which must be in the training part.
  absl::StatusOr<TupleData> Read() {
    config::v1::TrainOptions options;
    options.set_tuples(output_);
    return ReadTuples(options, {.action_kind = std::nullopt,
                                .num_features = std::nullopt,
                                .can_abstain = std::nullopt,
                                .baseline_version = 99});
  }

  TempDir dir_;
  const std::string output_ = dir_.Sub("tuples");
};

TEST_F(ImportTest, ADecisionComesBackAsItWas) {
  ASSERT_EQ(Import(R"({"id": "a", "features": [[0.5, -1], [0, 2], [3, 4]],)"
                   R"( "action": [1], "propensity": 0.125, "reward": 0.25}
{"id": "b", "features": [[1, 1]], "action": [-1], "propensity": 1, "reward": 0}
)"),
            0);
  ASSERT_OK_AND_ASSIGN(const TupleData data, Read());
  EXPECT_TRUE(data.excluded.empty());
  EXPECT_EQ(data.damage.corrupt_records, 0);
  EXPECT_TRUE(data.can_abstain);
  EXPECT_EQ(data.action_kind, ActionKind::kSelect);
  ASSERT_EQ(data.train.size(), 2);
  const BanditTuple& first = data.train[0];
  EXPECT_THAT(first.values, ElementsAre(0.5, -1, 0, 2, 3, 4));
  EXPECT_EQ(first.num_features, 2);
  EXPECT_THAT(first.action, ElementsAre(1));
  EXPECT_DOUBLE_EQ(first.log_propensity, std::log(0.125));
  EXPECT_EQ(first.loss, -0.25);
  EXPECT_THAT(data.train[1].action, ElementsAre(kAbstain));
  EXPECT_EQ(data.train[1].log_propensity, 0);
}

TEST_F(ImportTest, RankingsKeepTheirOrder) {
  ASSERT_EQ(Import(R"({"id": "a", "features": [[0], [1], [2]], )"
                   R"("action": [2, 0], "propensity": 0.1, "reward": 1})",
                   "--action=rank --model=other --version=300"),
            0);
  config::v1::TrainOptions options;
  options.set_tuples(output_);
  options.set_model("other");
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(options, {.action_kind = std::nullopt,
                                            .num_features = std::nullopt,
                                            .can_abstain = std::nullopt,
                                            .baseline_version = 99}));
  EXPECT_EQ(data.newest_version, 300);
  EXPECT_EQ(data.action_kind, ActionKind::kRank);
  ASSERT_EQ(data.train.size(), 1);
  EXPECT_THAT(data.train[0].action, ElementsAre(2, 0));
}

TEST_F(ImportTest, ABadLineWritesNothing) {
  const std::string good =
      R"({"id": "a", "features": [[1]], "action": [0], "propensity": 0.5,)"
      R"( "reward": 1})";
  for (
      const char* bad : {
          R"({"id": "a", "features": [[1]], "action": [0], "propensity": 0.5, "reward": 1})",
          R"({"id": "b", "features": [[1]], "action": [0], "propensity": 0, "reward": 1})",
          R"({"id": "b", "features": [[1]], "action": [0], "propensity": 1.5, "reward": 1})",
          R"({"id": "b", "features": [[1]], "action": [0], "propensity": NaN, "reward": 1})",
          R"({"id": "b", "features": [[1], [1, 2]], "action": [0], "propensity": 0.5, "reward": 1})",
          R"({"id": "b", "features": [[1]], "action": [1], "propensity": 0.5, "reward": 1})",
          R"({"id": "b", "features": [[1]], "action": [0], "propensity": 0.5})",
          R"({"id": "b", "features": [[1)",
      }) {
    EXPECT_NE(Import(absl::StrCat(good, "\n", bad, "\n")), 0) << bad;
    EXPECT_TRUE(std::filesystem::is_empty(output_)) << bad;
  }
}

}  // namespace
}  // namespace sortition
