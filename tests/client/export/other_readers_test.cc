// What readers of others get from exports and from segments: Python, with
// nothing of ours.
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

// Estimates, from tuples, the mean reward of the policy that chooses uniformly.
double UniformIps(const std::vector<log::v1::BanditTuple>& tuples) {
  double sum = 0;
  for (const log::v1::BanditTuple& tuple : tuples) {
    const log::v1::Decision& decision = tuple.decision();
    double left = decision.num_candidates() + (decision.can_abstain() ? 1 : 0);
    double target = 1;
    for (int rank = 0; rank < decision.action_size(); ++rank) target /= left--;
    sum += tuple.reward() * target / std::exp(decision.log_propensity());
  }
  return sum / static_cast<double>(tuples.size());
}

class OtherReadersTest : public ExchangeFixture {
 protected:
  void SetUp() override {
    if (std::system("python3 -c ''") != 0) {
      GTEST_SKIP() << "python3 is not installed";
    }
  }

  // Returns what the script prints.
  std::string Python(const std::string& script, const std::string& argument) {
    const std::string output = dir_ / "printed";
    const std::string command =
        absl::StrCat("python3 '" SORTITION_SCRIPTS "/", script, "' '", argument,
                     "' > '", output, "'");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return ReadFile(output).value_or("");
  }

  void ExpectEstimate(const std::string& printed, double expected) {
    double value = 0;
    ASSERT_TRUE(absl::SimpleAtod(printed, &value)) << printed;
    EXPECT_NEAR(value, expected, 1e-12 * std::abs(expected));
  }
};

TEST_F(OtherReadersTest, DsjsonGivesTheSameEstimate) {
  for (const bool are_orders : {false, true}) {
    const auto tuples = are_orders ? Orders(300) : Selections(300);
    const std::string file = dir_ / "log.dsjson";
    ASSERT_OK(Export({"--format=dsjson", "--output=" + file, Write(tuples)}));
    const double expected = UniformIps(tuples);
    ASSERT_GT(expected, 0.1);
    ExpectEstimate(Python("read_dsjson.py", file), expected);
  }
}

TEST_F(OtherReadersTest, NumpyArraysGiveTheSameEstimate) {
  for (const bool are_orders : {false, true}) {
    auto tuples = are_orders ? Orders(300) : Selections(300);
    size_t ranks = 0;
    for (const auto& tuple : tuples) {
      for (const int32_t action : tuple.decision().action()) {
        ranks += action != kAbstain;
      }
    }
    if (are_orders) {
      // Two of three ranks are shown, of which one is seen.
      ASSERT_EQ(tuples[7].decision().action_size(), 3);
      log::v1::Shown& shown = *tuples[7].mutable_shown();
      for (const int rank : {0, 1}) {
        shown.add_shown(
            static_cast<uint32_t>(tuples[7].decision().action(rank)));
      }
      shown.set_seen_ranks(1);
    }
    const std::string file = dir_ / "log.npz";
    ASSERT_OK(Export({"--format=npz", "--output=" + file, Write(tuples)}));
    const std::vector<std::string> printed =
        absl::StrSplit(Python("read_npz.py", file), '\n', absl::SkipEmpty());
    ASSERT_EQ(printed.size(), 3u);
    EXPECT_EQ(printed[2], are_orders ? absl::StrCat(ranks - 1, " ", ranks - 2)
                                     : absl::StrCat(ranks, " ", ranks));
    // The arrays do not say that "no answer" was an action of the selections,
    // beside six candidates.
    const double expected = UniformIps(tuples) * (are_orders ? 1 : 7.0 / 6);
    ExpectEstimate(printed[0], expected);
    double features = 0;
    for (const auto& tuple : tuples) {
      for (const float value : tuple.decision().dense_values()) {
        features += value;
      }
    }
    ExpectEstimate(printed[1], features);
  }
}

TEST_F(OtherReadersTest, SegmentsAreTfRecords) {
  const auto tuples = Selections(3);
  const std::string dir = Write(tuples);
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir));
  const std::string printed =
      Python("read_tfrecord.py", absl::StrCat(dir, "/", names[0]));
  const std::vector<std::string> lines =
      absl::StrSplit(printed, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), tuples.size() + 2);  // Header and footer.
  for (size_t i = 0; i < tuples.size(); ++i) {
    log::v1::LogRecord record;
    *record.mutable_tuple() = tuples[i];
    std::string hex;
    for (const char c : record.SerializeAsString()) {
      absl::StrAppendFormat(&hex, "%02x", static_cast<unsigned char>(c));
    }
    EXPECT_EQ(lines[i + 1], hex);
  }
}

}  // namespace
}  // namespace sortition
