#include "trainer/tuples/thinning.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using enum LeftOutReason;

// Returns what a log keeps of `all` that keeps the share `probability`.
std::vector<log::v1::BanditTuple> Sample(
    const std::vector<log::v1::BanditTuple>& all, double probability) {
  std::vector<log::v1::BanditTuple> kept;
  for (log::v1::BanditTuple tuple : all) {
    if (KeepNumber("", tuple.decision().decision_id()) >= probability) continue;
    if (probability < 1) tuple.set_keep_probability(probability);
    kept.push_back(std::move(tuple));
  }
  return kept;
}

TupleData Read(const std::string& dir) {
  config::v1::TrainOptions options;
  options.set_tuples(dir);
  return *ReadTuples(options, {});
}

std::multiset<double> Losses(const TupleData& data) {
  std::multiset<double> losses;
  for (const auto* part : {&data.train, &data.validation, &data.test}) {
    for (const BanditTuple& tuple : *part) {
      losses.insert(tuple.log_propensity + 1000 * tuple.loss);
    }
  }
  return losses;
}

class ThinningTest : public testing::Test {
 protected:
  const std::vector<log::v1::BanditTuple> first_ = MakeTuples({}, 600);
  const std::vector<log::v1::BanditTuple> second_ = [] {
    std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 1200);
    tuples.erase(tuples.begin(), tuples.begin() + 600);
    return tuples;
  }();
  const TempDir dir_;
};

// Whichever comes first, what is used is what the smaller share would have kept
// of all.
TEST_F(ThinningTest, MixedLogsAreReadAsOneOfTheSmallestShare) {
  for (const bool is_small_first : {true, false}) {
    const std::string dir = dir_.Sub(is_small_first ? "a" : "b");
    const auto first = Sample(first_, is_small_first ? 0.25 : 1);
    const auto second = Sample(second_, is_small_first ? 0.5 : 0.25);
    WriteSegment(dir, 0, first);
    WriteSegment(dir, 1, second);
    const std::string expected = dir_.Sub(is_small_first ? "c" : "d");
    const auto expected_first = Sample(first_, 0.25);
    const auto expected_second = Sample(second_, 0.25);
    WriteSegment(expected, 0, expected_first);
    WriteSegment(expected, 1, expected_second);
    const TupleData data = Read(dir);
    EXPECT_EQ(Losses(data), Losses(Read(expected)));
    EXPECT_EQ(data.read_tuples, first.size() + second.size());
    EXPECT_EQ(data.left_out(kThinned), first.size() + second.size() -
                                           expected_first.size() -
                                           expected_second.size());
    EXPECT_GT(data.left_out(kThinned), 50u);
  }
}

// A log of one share loses nothing: not even where another hash chose it.
TEST_F(ThinningTest, ALogOfOneShareIsReadWhole) {
  std::vector<log::v1::BanditTuple> tuples = first_;
  for (log::v1::BanditTuple& tuple : tuples) tuple.set_keep_probability(0.25);
  WriteSegment(dir_.Sub("sampled"), 0, tuples);
  WriteSegment(dir_.Sub("whole"), 0, first_);
  const TupleData data = Read(dir_.Sub("sampled"));
  EXPECT_EQ(Losses(data), Losses(Read(dir_.Sub("whole"))));
  EXPECT_EQ(data.left_out(kThinned), 0u);
}

// The tuples of a unit stay or go together.
TEST_F(ThinningTest, ThinsByUnit) {
  std::vector<log::v1::BanditTuple> tuples = first_;
  size_t expected = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const std::string unit = absl::StrCat("u", i / 10);
    tuples[i].mutable_decision()->set_unit_id(unit);
    if (i + 1 == tuples.size()) tuples[i].set_keep_probability(0.5);
    expected += KeepNumber(unit, "") < 0.5 || i + 1 == tuples.size() ? 1 : 0;
  }
  WriteSegment(dir_.Sub("t"), 0, tuples);
  EXPECT_EQ(Losses(Read(dir_.Sub("t"))).size(), expected);
}

// Tuples of other models do not matter.
TEST_F(ThinningTest, OnlyTuplesThatAreReadCount) {
  std::vector<log::v1::BanditTuple> tuples = first_;
  tuples[0].mutable_decision()->set_model("other");
  tuples[0].set_keep_probability(0.01);
  WriteSegment(dir_.Sub("t"), 0, tuples);
  EXPECT_EQ(Losses(Read(dir_.Sub("t"))).size(), tuples.size() - 1);
}

TEST_F(ThinningTest, LeavesOutProbabilitiesThatCannotBe) {
  std::vector<log::v1::BanditTuple> tuples = first_;
  tuples[0].set_keep_probability(-0.5);
  tuples[1].set_keep_probability(1.5);
  tuples[2].set_keep_probability(std::numeric_limits<double>::quiet_NaN());
  tuples[3].set_keep_probability(1);
  WriteSegment(dir_.Sub("t"), 0, tuples);
  const TupleData data = Read(dir_.Sub("t"));
  EXPECT_EQ(data.left_out(kBadKeepProbability), 3u);
  EXPECT_EQ(Losses(data).size(), tuples.size() - 3);
}

// The mean reward of a mixed log is that of all decisions: the rare half, of
// which a tenth is kept, counts as much as the other half.
TEST_F(ThinningTest, MeanOfAMixedLogIsThatOfAllDecisions) {
  std::vector<log::v1::BanditTuple> low;
  std::vector<log::v1::BanditTuple> high;
  for (int i = 0; i < 20000; ++i) {
    log::v1::BanditTuple tuple = first_[static_cast<size_t>(i % 600)];
    tuple.mutable_decision()->set_decision_id(absl::StrCat("x", i));
    tuple.set_reward(i % 2);
    (i % 2 == 0 ? low : high).push_back(tuple);
  }
  WriteSegment(dir_.Sub("t"), 0, Sample(low, 1));
  WriteSegment(dir_.Sub("t"), 1, Sample(high, 0.1));
  const TupleData data = Read(dir_.Sub("t"));
  double sum = 0;
  double count = 0;
  for (const auto* part : {&data.train, &data.validation, &data.test}) {
    for (const BanditTuple& tuple : *part) {
      sum -= tuple.loss;
      ++count;
    }
  }
  // About 2000 tuples are left: the mean of so many coins has deviation
  // 0.5 / √2000 = 0.011; 4 of these.
  EXPECT_NEAR(count, 2000, 200);
  EXPECT_NEAR(sum / count, 0.5, 0.045);
}

}  // namespace
}  // namespace sortition
