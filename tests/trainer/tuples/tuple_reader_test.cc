#include "trainer/tuples/tuple_reader.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {
namespace {

using enum LeftOutReason;
using testing::ElementsAre;
using testing::HasSubstr;

config::v1::TrainOptions Options(const std::string& tuples) {
  config::v1::TrainOptions options;
  options.set_tuples(tuples);
  return options;
}

size_t Kept(const TupleData& data) {
  return data.train.size() + data.validation.size() + data.test.size();
}

TEST(TupleReaderTest, SplitsByDecisionIdInTheAskedShares) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeTuples({}, 2000));
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(data.read_tuples, 2000);
  EXPECT_EQ(Kept(data), 2000);
  EXPECT_EQ(data.kept_fraction, 1);
  // Binomial(2000, 1/4): mean 500, deviation 19.4; 5 of them.
  EXPECT_NEAR(static_cast<double>(data.test.size()), 500, 97);
  EXPECT_NEAR(static_cast<double>(data.validation.size()), 500, 97);
  EXPECT_TRUE(data.can_abstain);
  EXPECT_EQ(data.num_features, 5);
  EXPECT_EQ(data.newest_version, 1);
  EXPECT_EQ(data.warmup.size(), 100);
}

// A sidecar may remove a segment between the look at the directory and the
// reading.
TEST(TupleReaderTest, PassesOverASegmentThatIsGone) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeTuples({}, 40));
  std::filesystem::create_symlink("nowhere", dir / "t/00-gone.seg");
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(Kept(data), 40);
}

TEST(TupleReaderTest, LeavesOutCensoredTuplesWithFeedbackOrWithout) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 40);
  tuples[1].add_censored(log::v1::LOST);
  tuples[1].set_has_feedback(true);
  tuples[2].add_censored(log::v1::LOST);
  tuples[2].add_censored(log::v1::CLOCK_STEP);
  tuples[2].set_has_feedback(false);
  tuples[3].add_censored(log::v1::WRITER_AWAY);
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(Kept(data), 37);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kCensored) + ": lost", 2},
      {ReasonText(kCensored) + ": writer_away", 1}};
  EXPECT_EQ(data.excluded, expected);
}

log::v1::BanditTuple TupleOf(uint64_t version, int action, bool is_censored) {
  log::v1::BanditTuple tuple;
  tuple.mutable_decision()->set_version(version);
  tuple.mutable_decision()->add_action(action);
  if (is_censored) tuple.add_censored(log::v1::LOST);
  return tuple;
}

TEST(CensoredShareTest, WarnsWhereItDependsOnVersionOrAction) {
  CensoredShare even;
  CensoredShare by_version;
  CensoredShare by_action;
  for (int i = 0; i < 10000; ++i) {
    const int action = i % 7;
    const uint64_t version = i % 11 < 5 ? 1 : 2;
    even.Add(TupleOf(version, action, i % 13 == 0));
    by_version.Add(TupleOf(version, action, version == 2 && i % 13 < 3));
    by_action.Add(TupleOf(version, action, action == 4 && i % 13 < 3));
  }
  EXPECT_THAT(even.Warnings(), testing::IsEmpty());
  EXPECT_THAT(by_version.Warnings(),
              ElementsAre(HasSubstr("depends on the version")));
  EXPECT_THAT(by_action.Warnings(),
              ElementsAre(HasSubstr("23.1 % of those of action 4, 3.3 % of")));
  EXPECT_THAT(CensoredShare().Warnings(), testing::IsEmpty());
}

TEST(TupleReaderTest, CountsWhatItLeavesOutByReason) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 40);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  tuples[1].mutable_decision()->set_model("another");
  tuples[2].mutable_decision()->set_version(7);
  tuples[3].mutable_decision()->set_log_propensity(0.5);
  tuples[4].mutable_decision()->set_log_propensity(nan);
  tuples[5].mutable_decision()->set_log_propensity(
      -std::numeric_limits<double>::infinity());
  tuples[6].mutable_decision()->set_action_kind(log::v1::RANK);
  tuples[7].mutable_decision()->set_num_features(6);
  tuples[8].mutable_decision()->mutable_dense_values()->RemoveLast();
  tuples[9].mutable_decision()->set_dense_values(3, std::nanf(""));
  tuples[10].mutable_decision()->set_action(0, 6);
  tuples[11].mutable_decision()->add_action(0);
  tuples[12].set_reward(nan);
  tuples[13].mutable_shown()->set_not_shown(true);
  tuples[14].mutable_shown()->add_shown(
      tuples[14].decision().action(0) == 0 ? 1 : 0);
  tuples[15].mutable_decision()->set_seed(0);
  tuples[16].mutable_decision()->set_seed(7);
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options = Options(dir.Sub("t"));
  options.set_versions("1, 2");
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options, {}));
  EXPECT_EQ(data.read_tuples, 40);
  EXPECT_EQ(Kept(data), 26);
  EXPECT_EQ(data.excluded_tuples(), 14);
  EXPECT_EQ(data.overridden.count(), 2);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kOtherModel), 1},
      {ReasonText(kOtherVersion), 1},
      {ReasonText(kBadPropensity), 3},
      {ReasonText(kOtherAction), 1},
      {ReasonText(kOtherFeatures) + ": 6", 1},
      {ReasonText(kBadFeatures), 2},
      {ReasonText(kBadAction), 2},
      {ReasonText(kBadReward), 1},
      {ReasonText(kSeeded), 2}};
  EXPECT_EQ(data.excluded, expected);
}

TEST(TupleReaderTest, TakesKindAndFeaturesFromTheFirstUsableTuple) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 10);
  // Of another kind, and with another number of features; neither is usable.
  tuples[0].mutable_decision()->set_num_features(6);
  tuples[1].mutable_decision()->set_action_kind(log::v1::RANK);
  tuples[1].mutable_decision()->set_log_propensity(0.5);
  tuples[2].mutable_decision()->set_action_kind(
      log::v1::ACTION_KIND_UNSPECIFIED);
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(Kept(data), 7);
  EXPECT_EQ(data.num_features, 5);
  EXPECT_EQ(data.action_kind, ActionKind::kSelect);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kOtherFeatures) + ": 6", 1},
      {ReasonText(kBadPropensity), 1},
      {ReasonText(kOtherAction), 1}};
  EXPECT_EQ(data.excluded, expected);
}

// One try with other features must not decide for the thousands that follow.
TEST(TupleReaderTest, TheNewestShapeTrains) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 10);
  for (int i = 0; i < 2; ++i) {
    auto* decision = tuples[i].mutable_decision();
    decision->set_num_features(2);
    decision->mutable_dense_values()->Resize(
        static_cast<int>(2 * decision->num_candidates()), 0.5f);
  }
  WriteSegment(dir.Sub("t"), 0, {tuples.begin(), tuples.begin() + 4});
  WriteSegment(dir.Sub("t"), 1, {tuples.begin() + 4, tuples.end()});
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(Kept(data), 8);
  EXPECT_EQ(data.num_features, 5);
  EXPECT_EQ(data.excluded.at(ReasonText(kOtherFeatures) + ": 2"), 2u);
}

// What `train` reads by, if `version` is the newest in the store.
TupleFilter WithBaseline(uint64_t version) {
  TupleFilter filter;
  filter.baseline_version = version;
  return filter;
}

// Orders that Aggregate drew under the name of the model: version 0, and three
// score lists in place of five features.
std::vector<log::v1::BanditTuple> AggregatedTuples(size_t n) {
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t i = 0; i < n; ++i) {
    tuples.push_back(MakeTuple(
        {.action_kind = ActionKind::kRank, .num_features = 3, .version = 0},
        absl::StrCat("a", i)));
    tuples.back().mutable_decision()->mutable_aggregation();
  }
  return tuples;
}

// The store is empty. The aggregations come first and last: neither the first
// usable tuple nor the newest shape may make them the log.
TEST(TupleReaderTest, AggregationsAreNoBaselineBesideTheUniformPolicy) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, AggregatedTuples(30));
  WriteSegment(dir.Sub("t"), 1, MakeTuples({.version = 0}, 20));
  WriteSegment(dir.Sub("t"), 2, AggregatedTuples(30));
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), WithBaseline(0)));
  EXPECT_EQ(Kept(data), 20);
  EXPECT_EQ(data.num_features, 5);
  EXPECT_EQ(data.action_kind, ActionKind::kSelect);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kAggregated), 60}};
  EXPECT_EQ(data.excluded, expected);
}

// Somebody learns what each source is worth (docs/aggregation.md).
TEST(TupleReaderTest, AggregationsAloneAreALog) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = AggregatedTuples(30);
  tuples.push_back(MakeTuple({}, "another"));
  tuples.back().mutable_decision()->set_model("another");
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), WithBaseline(0)));
  EXPECT_EQ(Kept(data), 30);
  EXPECT_EQ(data.num_features, 3);
  EXPECT_GT(data.validation.size() + data.test.size(), 0u);
}

// With version 1 in the store they are other versions' tuples, which train.
TEST(TupleReaderTest, AggregationsTrainBesideAVersion) {
  const TempDir dir;
  const SyntheticLog log{.action_kind = ActionKind::kRank, .num_features = 3};
  WriteSegment(dir.Sub("t"), 0, AggregatedTuples(30));
  WriteSegment(dir.Sub("t"), 1, MakeTuples(log, 40));
  TupleFilter filter = WithBaseline(1);
  filter.num_features = 3;
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), filter));
  EXPECT_EQ(Kept(data), 70);
  EXPECT_GE(data.train.size(), 30u);
}

// What they earned is not what the version that served would have: they train,
// and only where the log as a whole is compared with do they also judge.
TEST(TupleReaderTest, InterleavedOrdersDoNotJudgeTheVersionThatServed) {
  const TempDir dir;
  auto tuples = MakeTuples({.action_kind = ActionKind::kRank}, 400);
  for (size_t i = 0; i < tuples.size(); i += 2) {
    tuples[i].mutable_decision()->mutable_interleaving()->set_other_version(2);
  }
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const TupleData all,
                       ReadTuples(Options(dir.Sub("t")), {}));
  TupleFilter filter;
  filter.baseline_version = 1;
  ASSERT_OK_AND_ASSIGN(const TupleData of_version,
                       ReadTuples(Options(dir.Sub("t")), filter));
  filter.baseline_version.reset();
  filter.baseline_is_of_log = true;
  ASSERT_OK_AND_ASSIGN(const TupleData of_log,
                       ReadTuples(Options(dir.Sub("t")), filter));
  EXPECT_EQ(Kept(all), 400);
  EXPECT_EQ(Kept(of_version), 400);  // No unit is known: the others train.
  // A quarter of them tests, by a hash; half of these were interleaved.
  EXPECT_NEAR(static_cast<double>(all.test.size()), 100, 45);
  EXPECT_NEAR(static_cast<double>(of_version.test.size()), 50, 33);
  EXPECT_EQ(of_log.test.size(), of_version.test.size());
  EXPECT_EQ(of_log.validation.size(), of_version.validation.size());
}

TEST(TupleReaderTest, RewardOutOfRangeIsAnErrorWithItsValue) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 3);
  tuples[1].set_reward(2.5);
  WriteSegment(dir.Sub("t"), 0, tuples);
  EXPECT_THAT(ReadTuples(Options(dir.Sub("t")), {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'d1' is 2.5, must be in [0, 1]")));
  config::v1::TrainOptions options = Options(dir.Sub("t"));
  options.set_clamp_rewards(true);
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options, {}));
  EXPECT_EQ(Kept(data), 3);
  EXPECT_TRUE(data.excluded.empty());
}

// Reads the tuples without a scratch file.
absl::StatusOr<TupleData> ReadWithinOneMib(
    const std::vector<log::v1::BanditTuple>& tuples) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options = Options(dir.Sub("t"));
  options.set_memory_mb(1);
  options.set_scratch_mb(0);
  return ReadTuples(options, {});
}

TEST(TupleReaderTest, OverTheLimitKeepsASampleThatDoesNotDependOnTheOrder) {
  // 60 candidates with 20 features: 4.8 KB each, 600 tuples are 2.9 MB.
  SyntheticLog log;
  log.num_candidates = 60;
  log.num_features = 20;
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log, 600);
  ASSERT_OK_AND_ASSIGN(const TupleData forward, ReadWithinOneMib(tuples));
  std::reverse(tuples.begin(), tuples.end());
  ASSERT_OK_AND_ASSIGN(const TupleData backward, ReadWithinOneMib(tuples));
  EXPECT_EQ(forward.kept_fraction, 0.25);
  EXPECT_EQ(backward.kept_fraction, 0.25);
  EXPECT_EQ(Kept(forward), Kept(backward));
  // Binomial(600, 1/4): mean 150, deviation 10.6.
  EXPECT_NEAR(static_cast<double>(Kept(forward)), 150, 53);
  size_t bytes = 0;
  for (const auto* part :
       {&forward.train, &forward.validation, &forward.test}) {
    for (const BanditTuple& tuple : *part) bytes += tuple.bytes();
  }
  EXPECT_LE(bytes, 1 << 20);
  // The sample is independent of the split: each part shrinks alike.
  EXPECT_GT(forward.test.size(), 15);
  EXPECT_GT(forward.validation.size(), 15);
}

TEST(TupleReaderTest, WarmupQueriesAreBoundedInBytesWhateverTheOrder) {
  // 4 to 20 KB each: 100 of them are far above the eighth of 1 MiB.
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 200; ++i) {
    SyntheticLog log;
    log.num_candidates = i % 2 == 0 ? 50 : 250;
    log.num_features = 20;
    tuples.push_back(MakeTuple(log, absl::StrCat("d", i)));
  }
  ASSERT_OK_AND_ASSIGN(const TupleData forward, ReadWithinOneMib(tuples));
  std::reverse(tuples.begin(), tuples.end());
  ASSERT_OK_AND_ASSIGN(const TupleData backward, ReadWithinOneMib(tuples));
  size_t bytes = 0;
  std::vector<std::string> ids;
  for (const auto& decision : forward.warmup) {
    bytes += decision.SpaceUsedLong();
    ids.push_back(decision.decision_id());
  }
  EXPECT_LE(bytes, (1 << 20) / 8);
  EXPECT_GE(bytes, (1 << 20) / 16);
  ASSERT_EQ(backward.warmup.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(backward.warmup[i].decision_id(), ids[i]);
  }
  // They count towards memory_mb.
  for (const auto* part :
       {&forward.train, &forward.validation, &forward.test}) {
    for (const BanditTuple& tuple : *part) bytes += tuple.bytes();
  }
  EXPECT_LE(bytes, 1 << 20);
}

TEST(TupleReaderTest, ADamagedRecordCostsItselfOnly) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeTuples({}, 50));
  const auto names = ListSegments(dir.Sub("t"));
  ASSERT_OK(names);
  std::fstream file(dir.Sub("t") + "/" + (*names)[0],
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5000);
  file.put('\x55');
  file.put('\xaa');
  file.close();
  ASSERT_OK_AND_ASSIGN(const TupleData data,
                       ReadTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(data.damage.corrupt_records, 1);
  EXPECT_EQ(Kept(data), 49);
}

TEST(TupleReaderTest, BadOptionsAndMissingDirectoryAreErrors) {
  const TempDir dir;
  config::v1::TrainOptions options = Options(dir.Sub("t"));
  options.set_versions("1,x");
  EXPECT_THAT(ReadTuples(options, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("versions is '1,x'")));
  EXPECT_THAT(ReadTuples(Options("/nonexistent/tuples"), {}),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace sortition
