// Times of decisions: which are read, how much they count, and which part they
// are in.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/base/hash.h"
#include "tests/trainer/synthetic_tuples.h"
#include "tests/trainer/tuples/all_tuples.h"
#include "trainer/tuples/scan/time_range.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using enum LeftOutReason;

constexpr int64_t kHour = int64_t{3600} * 1000000;
constexpr int64_t kFirst = 1700000000 * int64_t{1000000};

// The i-th decision is of hour i, and its first feature is i. They come in an
// order of their own.
class TimePartsTest : public testing::Test {
 protected:
  void Write(int num_tuples, int decisions_of_unit, uint64_t version = 1) {
    SyntheticLog log{.version = version};
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
  std::vector<int> hours;
  for (const BanditTuple* tuple : AllTuples(data)) {
    hours.push_back(HourOf(*tuple));
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
              IsFailedPrecondition("can be used (0 tuples read; since = "
                                   "'2026-11-01', until = '36h'): until is"));
  Write(7, 0);
  options_.set_model("other");
  EXPECT_THAT(
      ReadTuples(options_, {}),
      IsFailedPrecondition("(7 tuples read, 7 left out: other model; "));
  // What is malformed is so whatever the log has.
  options_.set_until("0h");
  EXPECT_THAT(ReadTuples(options_, {}), IsInvalidArgument());
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
  EXPECT_THAT(ReadTuples(options_, {}),
              IsInvalidArgument("parts is 'hours', must be unit_hash or"));
  options_.clear_parts();
  options_.set_decay("soon");
  EXPECT_THAT(ReadTuples(options_, {}),
              IsInvalidArgument("decay is 'soon', must be"));
}

constexpr int64_t kSecond = 1000000;
constexpr int64_t kDay = 86400 * kSecond;
// 2026-11-23 12:00 UTC: 20780 days and a half.
constexpr int64_t kNewest = 20780 * kDay + kDay / 2;

TEST(TimeRangeTest, ReadsTimesDatesAndAges) {
  ASSERT_OK_AND_ASSIGN(const TimeRange all, ParseTimeRange("", "", 0));
  EXPECT_FALSE(all.since_us.has_value());
  EXPECT_TRUE(all.Contains(INT64_MIN));
  EXPECT_TRUE(all.Contains(INT64_MAX));
  ASSERT_OK_AND_ASSIGN(
      const TimeRange dates,
      ParseTimeRange("2026-11-22", "2026-11-23T02:00:00+02:00", 0));
  EXPECT_EQ(dates.since_us, 20779 * kDay);
  EXPECT_EQ(dates.until_us, 20780 * kDay);
  EXPECT_FALSE(dates.Contains(20779 * kDay - 1));
  EXPECT_TRUE(dates.Contains(20779 * kDay));
  EXPECT_TRUE(dates.Contains(20780 * kDay - 1));
  EXPECT_FALSE(dates.Contains(20780 * kDay));
  ASSERT_OK_AND_ASSIGN(const TimeRange ages,
                       ParseTimeRange("1.5d", "36m", kNewest));
  EXPECT_EQ(ages.since_us, 20779 * kDay);
  EXPECT_EQ(ages.until_us, kNewest - 36 * 60 * kSecond);
}

TEST(TimeRangeTest, KnowsAges) {
  for (const char* age : {"1s", "90m", "36h", "7d", "2w", "0.5d"}) {
    EXPECT_TRUE(IsAge(age)) << age;
  }
  for (const char* other : {"", "d", "7", "-7d", "7x", "2026-11-23", "1d2d"}) {
    EXPECT_FALSE(IsAge(other)) << other;
  }
  EXPECT_EQ(ParseAge("decay", "2w").value_or(0), 14 * kDay);
}

TEST(TimeRangeTest, KnowsWhatIsWrongWithoutTheNewest) {
  EXPECT_OK(ValidateTimes("", ""));
  // The newest decision may be older than any date.
  EXPECT_OK(ValidateTimes("7d", "2001-01-01"));
  EXPECT_OK(ValidateTimes("2101-01-01", "7d"));
  EXPECT_OK(ValidateTimes("7d", "1d"));
  for (const auto& [since, until] :
       {std::pair("1d", "7d"), std::pair("2026-11-02", "2026-11-01"),
        std::pair("x", "1d"), std::pair("", "0d")}) {
    EXPECT_THAT(ValidateTimes(since, until), IsInvalidArgument());
  }
}

// Sums with ages of a hundred years are times in microseconds, too.
TEST(TimeRangeTest, TimesAreOfTheYears1970To9999) {
  EXPECT_EQ(ParseInstant("from", "1970-01-01").value_or(-1), 0);
  EXPECT_OK(ParseInstant("from", "9999-12-31T23:59:59Z"));
  for (const char* text :
       {"-300000-01-01", "1969-12-31", "10000-01-01", "290000-01-01"}) {
    EXPECT_THAT(ParseInstant("from", text),
                IsInvalidArgument("of the years 1970 to 9999"))
        << text;
  }
}

TEST(TimeRangeTest, NamesWhatIsWrong) {
  for (const char* since :
       {"yesterday", "2026-13-01", "23.11.2026", "-1d", "infinite-past"}) {
    EXPECT_THAT(ParseTimeRange(since, "", kNewest),
                IsInvalidArgument("since is '"))
        << since;
  }
  EXPECT_THAT(ParseTimeRange("", "0d", kNewest),
              IsInvalidArgument("until is '0d', must be a number"));
  EXPECT_THAT(ParseTimeRange("7d", "", 0), IsFailedPrecondition("has a time"));
  EXPECT_THAT(ParseTimeRange("1d", "1d", kNewest),
              IsInvalidArgument("must be after since, '1d'"));
  EXPECT_THAT(ParseAge("decay", "40000d"),
              IsInvalidArgument("decay is '40000d', must be"));
}

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
  for (const BanditTuple* tuple : AllTuples(data)) {
    losses.insert(tuple->log_propensity + 1000 * tuple->loss);
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
  for (const BanditTuple* tuple : AllTuples(data)) sum -= tuple->loss;
  const auto count = static_cast<double>(Kept(data));
  // About 2000 tuples are left: the mean of so many coins has deviation
  // 0.5 / √2000 = 0.011; 4 of these.
  EXPECT_NEAR(count, 2000, 200);
  EXPECT_NEAR(sum / count, 0.5, 0.045);
}

}  // namespace
}  // namespace sortition
