// Times of decisions: which are read, how much they count, and which part they
// are in.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/status_codes.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::HasSubstr;

constexpr int64_t kHour = int64_t{3600} * 1000000;
constexpr int64_t kFirst = 1700000000 * int64_t{1000000};

// The i-th decision is of hour i, and its first feature is i. They come in an
// order of their own.
class TimePartsTest : public testing::Test {
 protected:
  void Write(int num_tuples, int decisions_of_unit, uint64_t version = 1) {
    SyntheticLog log;
    log.version = version;
    std::vector<log::v1::BanditTuple> tuples;
    for (int k = 0; k < num_tuples; ++k) {
      const int i = static_cast<int>(int64_t{k} * 7 % num_tuples);
      auto& tuple = tuples.emplace_back(
          MakeTuple(log, absl::StrCat("v", version, "-", i)));
      tuple.mutable_decision()->set_time_us(kFirst + i * kHour);
      tuple.mutable_decision()->set_dense_values(0, static_cast<float>(i));
      if (decisions_of_unit > 0) {
        // The decisions of a unit spread over the whole time.
        tuple.mutable_decision()->set_unit_id(
            absl::StrCat("u", i % (num_tuples / decisions_of_unit)));
      }
    }
    WriteSegment(dir_.Sub("t"), segments_++, tuples);
    options_.set_tuples(dir_.Sub("t"));
  }

  static int HourOf(const BanditTuple& tuple) {
    return static_cast<int>(std::lround(tuple.values[0]));
  }
  static std::vector<int> Hours(const std::vector<BanditTuple>& part) {
    std::vector<int> hours;
    for (const BanditTuple& tuple : part) hours.push_back(HourOf(tuple));
    std::sort(hours.begin(), hours.end());
    return hours;
  }

  TempDir dir_;
  uint64_t segments_ = 0;
  config::v1::TrainOptions options_;
};

TEST_F(TimePartsTest, SinceAndUntilReadPartOfTheLog) {
  Write(100, 0);
  options_.set_since("10h");  // Hours 89 to 99.
  options_.set_until("5h");   // Not hour 94.
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  std::vector<int> hours = Hours(data.train);
  for (const auto* part : {&data.validation, &data.test}) {
    const std::vector<int> more = Hours(*part);
    hours.insert(hours.end(), more.begin(), more.end());
  }
  EXPECT_THAT(hours, testing::UnorderedElementsAre(89, 90, 91, 92, 93));
  EXPECT_EQ(data.left_out(LeftOutReason::kOtherTime), 95);
  options_.clear_until();
  options_.set_since("2023-11-14T22:13:20Z");  // kFirst.
  ASSERT_OK_AND_ASSIGN(const TupleData all, ReadTuples(options_, {}));
  EXPECT_EQ(all.left_out(LeftOutReason::kOtherTime), 0);
}

TEST_F(TimePartsTest, WithoutTimesAnAgeIsRefused) {
  WriteSegment(dir_.Sub("t"), 0, MakeTuples({}, 10));
  options_.set_tuples(dir_.Sub("t"));
  options_.set_since("7d");
  EXPECT_THAT(
      ReadTuples(options_, {}),
      StatusIs(
          absl::StatusCode::kFailedPrecondition,
          absl::StrCat("no tuple of model 'default' in ", options_.tuples(),
                       " can be used (10 tuples read, 10 without a time before "
                       "now; since = '7d', until = ''): since is '7d', an age "
                       "before the newest decision, and none has a time before "
                       "now; must be a time or empty")));
}

TEST_F(TimePartsTest, AnAgeBeforeNoDecisionSaysWhatWasFound) {
  options_.set_tuples(dir_.Sub("t"));
  std::filesystem::create_directory(options_.tuples());
  options_.set_since("2026-11-01");
  options_.set_until("36h");
  EXPECT_THAT(ReadTuples(options_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("can be used (0 tuples read; since = "
                                 "'2026-11-01', until = '36h'): until is")));
  Write(7, 0);
  options_.set_model("other");
  EXPECT_THAT(ReadTuples(options_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("(7 tuples read, 7 left out: other model; ")));
  // What is malformed is so whatever the log has.
  options_.set_until("0h");
  EXPECT_THAT(ReadTuples(options_, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// One clock that is wrong must not make all other decisions old.
TEST_F(TimePartsTest, ADecisionOfTheFutureIsNotTheNewest) {
  Write(100, 0);
  auto future = MakeTuple({}, "future");
  future.mutable_decision()->set_time_us(kFirst + 1000000 * kHour);  // 2137
  future.mutable_decision()->set_dense_values(0, 99);
  WriteSegment(dir_.Sub("t"), segments_++, {future});
  options_.set_since("10h");  // Hours 89 to 99, and the future.
  options_.set_decay("12h");
  options_.set_validation_fraction(0.01);
  options_.set_test_fraction(0.01);
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  EXPECT_EQ(data.left_out(LeftOutReason::kOtherTime), 89);
  EXPECT_GE(data.train.size(), 8);
  for (const BanditTuple& tuple : data.train) {
    EXPECT_NEAR(tuple.recency, std::exp2((HourOf(tuple) - 99) / 12.0), 1e-9);
  }
}

TEST_F(TimePartsTest, OldDecisionsCountLess) {
  Write(100, 0);
  options_.set_decay("12h");
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  for (const BanditTuple& tuple : data.train) {
    EXPECT_NEAR(tuple.recency, std::exp2((HourOf(tuple) - 99) / 12.0), 1e-9);
  }
  // What judges is counted as it will be: every decision alike.
  for (const auto* part : {&data.validation, &data.test}) {
    EXPECT_FALSE(part->empty());
    for (const BanditTuple& tuple : *part) EXPECT_EQ(tuple.recency, 1);
  }
  options_.clear_decay();
  ASSERT_OK_AND_ASSIGN(const TupleData even, ReadTuples(options_, {}));
  for (const BanditTuple& tuple : even.train) EXPECT_EQ(tuple.recency, 1);
}

TEST_F(TimePartsTest, TheNewestDecisionsValidateAndTest) {
  Write(1000, 0);
  options_.set_parts("time");
  options_.set_test_fraction(0.3);
  options_.set_validation_fraction(0.1);
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  // Decisions without unit lose nothing.
  EXPECT_TRUE(data.excluded.empty());
  EXPECT_EQ(data.train.size(), 600);
  EXPECT_EQ(Hours(data.train).back(), 599);
  EXPECT_EQ(
      Hours(data.validation).front() == 600 || Hours(data.test).front() == 600,
      true);
  // Binomial(400, 3/4): mean 300, deviation 8.7; 5 of them.
  EXPECT_NEAR(static_cast<double>(data.test.size()), 300, 44);
  EXPECT_EQ(data.validation.size() + data.test.size(), 400);
}

// Who trains, for ever, does not depend on time: otherwise a parent could have
// seen the users of its child's test.
TEST_F(TimePartsTest, UnitsKeepTheirPart) {
  Write(2000, 10);
  ASSERT_OK_AND_ASSIGN(const TupleData by_hash, ReadTuples(options_, {}));
  options_.set_parts("time");
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, {}));
  const auto units = [](const std::vector<BanditTuple>& part) {
    std::set<uint64_t> result;
    for (const BanditTuple& tuple : part) result.insert(tuple.unit);
    return result;
  };
  EXPECT_EQ(units(data.train), units(by_hash.train));
  EXPECT_EQ(units(data.validation), units(by_hash.validation));
  EXPECT_EQ(units(data.test), units(by_hash.test));
  EXPECT_EQ(Hours(data.train).back() < 1000, true);
  EXPECT_GE(Hours(data.test).front(), 1000);
  EXPECT_GE(Hours(data.validation).front(), 1000);
  // Half of each part is of the wrong time.
  const uint64_t too_new = data.left_out(LeftOutReason::kTooNew);
  const uint64_t too_old = data.left_out(LeftOutReason::kTooOld);
  EXPECT_EQ(too_new, by_hash.train.size() - data.train.size());
  EXPECT_EQ(too_old, by_hash.validation.size() - data.validation.size() +
                         by_hash.test.size() - data.test.size());
  EXPECT_EQ(too_new + too_old, 1000);
}

// An older version that still serves somewhere must not train on the future.
TEST_F(TimePartsTest, OtherVersionsTrainOnWhatIsOlderOnly) {
  Write(1000, 0, 1);
  Write(1000, 0, 2);
  options_.set_parts("time");
  TupleFilter filter;
  filter.baseline_version = 2;
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, filter));
  EXPECT_EQ(data.train.size(), 1000);
  EXPECT_EQ(Hours(data.train).back(), 499);
  EXPECT_EQ(data.left_out(LeftOutReason::kTooNew), 500);
  EXPECT_EQ(data.validation.size() + data.test.size(), 500);
}

TEST_F(TimePartsTest, TheNewestVersionOfTheLogMayBeTheBaseline) {
  Write(300, 0, 1);
  Write(300, 0, 3);
  TupleFilter filter;
  filter.baseline_version = 7;
  filter.baseline_is_of_log = true;
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options_, filter));
  EXPECT_EQ(data.baseline_version, 3);
  // Version 1 only trains.
  EXPECT_GE(data.train.size(), 300);
  EXPECT_NEAR(static_cast<double>(data.test.size()), 75, 38);
}

TEST_F(TimePartsTest, NamesWhatIsWrong) {
  Write(10, 0);
  options_.set_parts("hours");
  EXPECT_THAT(
      ReadTuples(options_, {}),
      StatusIs(kInvalid, HasSubstr("parts is 'hours', must be unit_hash or")));
  options_.clear_parts();
  options_.set_decay("soon");
  EXPECT_THAT(ReadTuples(options_, {}),
              StatusIs(kInvalid, HasSubstr("decay is 'soon', must be")));
}

}  // namespace
}  // namespace sortition
