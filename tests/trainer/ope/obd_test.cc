// A log in the layout of the Open Bandit Dataset, through the programs.
#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr size_t kItems = 5;
constexpr std::array<double, kItems> kLogged = {0.4, 0.3, 0.1, 0.1, 0.1};
constexpr std::array<double, kItems> kTarget = {0.05, 0.05, 0.1, 0.3, 0.5};
constexpr std::array<double, kItems> kItemClicks = {0.1, 0.2, 0.3, 0.2, 0.4};
constexpr int kImpressions = 4000;
constexpr int kPositions = 3;

// Clicks fall with the position.
double ClickProbability(size_t item, int position) {
  return kItemClicks[item] / position;
}

TEST(ObdTest, ThreeCommandsJudgeAFileOfProbabilities) {
  // A row for each position of an impression, with equal times and equal
  // propensities of some items.
  std::string log =
      ",timestamp,item_id,position,click,propensity_score,user_feature_0\n";
  std::string policy = "decision_id,document_index,probability\n";
  double truth = 0;
  RandomSequence random(StableHash(HashDomain::kSimulation, {"obd"}));
  int row = 0;
  for (int i = 0; i < kImpressions; ++i) {
    for (int position = 1; position <= kPositions; ++position) {
      double left = random.Uniform();
      size_t item = 0;
      while (item + 1 < kItems && left >= kLogged[item]) {
        left -= kLogged[item++];
      }
      const bool click = random.Uniform() < ClickProbability(item, position);
      absl::StrAppend(&log, row, ",2019-11-24 00:", i / 60 % 60 / 10,
                      i / 60 % 10, ":", i % 60 / 10, i % 10, "+00:00,", item,
                      ",", position, ",", click ? 1 : 0, ",", kLogged[item],
                      ",u", i % 7, "\n");
      ++row;
      for (size_t k = 0; k < kItems; ++k) {
        absl::StrAppend(&policy, "obd-", position, "-", row, ",", k, ",",
                        kTarget[k], "\n");
        truth += kTarget[k] * ClickProbability(k, position) /
                 (kImpressions * kPositions);
      }
    }
  }
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "all.csv", log));
  ASSERT_OK(WriteFile(dir / "mine.csv", policy));
  ASSERT_OK_AND_ASSIGN(
      const FinishedProcess import,
      RunToEnd({BinaryPath("sortition"), "log", "import", "--format=obd",
                absl::StrCat("--num_actions=", kItems),
                "--tuples=" + dir.Sub("tuples"), dir / "all.csv"}));
  ASSERT_EQ(import.exit_code, 0) << import.stderr_text;
  ASSERT_OK_AND_ASSIGN(const FinishedProcess ope,
                       RunToEnd({BinaryPath("sortition-trainer"), "ope",
                                 "--tuples=" + dir.Sub("tuples"),
                                 "--policies=mine=" + (dir / "mine.csv"),
                                 "--report=" + (dir / "judged.json"),
                                 "--page=" + (dir / "judged.html")}));
  ASSERT_EQ(ope.exit_code, 0) << ope.stderr_text;
  EXPECT_THAT(ope.stdout_text, HasSubstr("'mine' is better than the log"));
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(dir / "judged.json"));
  config::v1::OpeReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.decisions(), kImpressions * kPositions);
  ASSERT_EQ(report.policies_size(), 1);
  const auto& value = report.policies(0).answer().value();
  EXPECT_LE(value.lower(), truth);
  EXPECT_GE(value.upper(), truth);
  // Weights up to 5, clicks in a seventh: the standard error is about
  // √(5 · 0.18 / 12000) = 0.009.
  EXPECT_LT(value.upper() - value.lower(), 0.05);
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(dir / "judged.html"));
  EXPECT_THAT(page, HasSubstr("mine"));
}

}  // namespace
}  // namespace sortition
