#include "trainer/tuples/tuple_reader.h"

#include <fstream>
#include <limits>

#include "tests/trainer/synthetic_tuples.h"
#include "tests/trainer/tuples/all_tuples.h"
#include "trainer/tuples/scan/overrides.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using enum LeftOutReason;
using testing::Optional;

class TupleReaderTest : public testing::Test {
 protected:
  TupleReaderTest() { options_.set_tuples(dir_.Sub("t")); }

  void Write(const std::vector<log::v1::BanditTuple>& tuples) {
    WriteSegment(dir_.Sub("t"), num_segments_++, tuples);
  }
  TupleData Read(const TupleFilter& filter = {}) {
    auto data = ReadTuples(options_, filter);
    EXPECT_OK(data);
    return data.ok() ? *std::move(data) : TupleData();
  }

  const TempDir dir_;
  uint64_t num_segments_ = 0;
  config::v1::TrainOptions options_;
};

TEST_F(TupleReaderTest, SplitsByDecisionIdInTheAskedShares) {
  Write(MakeTuples({}, 2000));
  const TupleData data = Read();
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
TEST_F(TupleReaderTest, PassesOverASegmentThatIsGone) {
  Write(MakeTuples({}, 40));
  std::filesystem::create_symlink("nowhere", dir_ / "t/00-gone.seg");
  const TupleData data = Read();
  EXPECT_EQ(Kept(data), 40);
}

TEST_F(TupleReaderTest, LeavesOutCensoredTuplesWithFeedbackOrWithout) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 40);
  tuples[1].add_censored(log::v1::LOST);
  tuples[1].set_has_feedback(true);
  tuples[2].add_censored(log::v1::LOST);
  tuples[2].add_censored(log::v1::CLOCK_STEP);
  tuples[2].set_has_feedback(false);
  tuples[3].add_censored(log::v1::WRITER_AWAY);
  Write(tuples);
  const TupleData data = Read();
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
  EXPECT_THAT(even.Warnings(), IsEmpty());
  EXPECT_THAT(by_version.Warnings(),
              ElementsAre(HasSubstr("depends on the version")));
  EXPECT_THAT(by_action.Warnings(),
              ElementsAre(HasSubstr("23.1 % of those of action 4, 3.3 % of")));
  EXPECT_THAT(CensoredShare().Warnings(), IsEmpty());
}

TEST_F(TupleReaderTest, CountsWhatItLeavesOutByReason) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 40);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  tuples[1].mutable_decision()->set_model("another");
  tuples[2].mutable_decision()->set_version(7);
  tuples[3].mutable_decision()->set_log_propensity(0.5);
  tuples[4].mutable_decision()->set_log_propensity(nan);
  tuples[5].mutable_decision()->set_log_propensity(-inf);
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
  tuples[17].mutable_decision()->set_log_propensity(inf);
  tuples[18].set_reward(-inf);
  tuples[19].mutable_decision()->clear_action();
  tuples[20].mutable_decision()->set_num_candidates(0);
  tuples[20].mutable_decision()->clear_dense_values();
  // With all the features that it says it has.
  tuples[21].mutable_decision()->set_num_features(6);
  tuples[21].mutable_decision()->mutable_dense_values()->Resize(36, 0);
  Write(tuples);
  options_.set_versions("1, 2");
  const TupleData data = Read();
  EXPECT_EQ(data.read_tuples, 40);
  EXPECT_EQ(Kept(data), 21);
  EXPECT_EQ(data.excluded_tuples(), 19);
  EXPECT_EQ(data.overridden.count(), 2);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kOtherModel), 1},
      {ReasonText(kOtherVersion), 1},
      {ReasonText(kBadPropensity), 4},
      {ReasonText(kOtherAction), 1},
      {ReasonText(kOtherFeatures) + ": 6", 2},
      {ReasonText(kBadFeatures), 3},
      {ReasonText(kBadAction), 3},
      {ReasonText(kBadReward), 2},
      {ReasonText(kSeeded), 2}};
  EXPECT_EQ(data.excluded, expected);
}

TEST_F(TupleReaderTest, TakesKindAndFeaturesFromTheFirstUsableTuple) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 10);
  // Of another kind, and with another number of features; neither is usable.
  tuples[0].mutable_decision()->set_num_features(6);
  tuples[1].mutable_decision()->set_action_kind(log::v1::RANK);
  tuples[1].mutable_decision()->set_log_propensity(0.5);
  tuples[2].mutable_decision()->set_action_kind(
      log::v1::ACTION_KIND_UNSPECIFIED);
  Write(tuples);
  const TupleData data = Read();
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
TEST_F(TupleReaderTest, TheNewestShapeTrains) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 10);
  for (int i = 0; i < 2; ++i) {
    auto* decision = tuples[i].mutable_decision();
    decision->set_num_features(2);
    decision->mutable_dense_values()->Resize(
        static_cast<int>(2 * decision->num_candidates()), 0.5f);
  }
  Write({tuples.begin(), tuples.begin() + 4});
  Write({tuples.begin() + 4, tuples.end()});
  const TupleData data = Read();
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
  auto tuples = MakeTuples(
      {.action_kind = ActionKind::kRank, .num_features = 3, .version = 0}, n,
      "a");
  for (auto& tuple : tuples) tuple.mutable_decision()->mutable_aggregation();
  return tuples;
}

// The store is empty. The aggregations come first and last: neither the first
// usable tuple nor the newest shape may make them the log.
TEST_F(TupleReaderTest, AggregationsAreNoBaselineBesideTheUniformPolicy) {
  Write(AggregatedTuples(30));
  Write(MakeTuples({.version = 0}, 20));
  Write(AggregatedTuples(30));
  const TupleData data = Read(WithBaseline(0));
  EXPECT_EQ(Kept(data), 20);
  EXPECT_EQ(data.num_features, 5);
  EXPECT_EQ(data.action_kind, ActionKind::kSelect);
  const std::map<std::string, uint64_t> expected = {
      {ReasonText(kAggregated), 60}};
  EXPECT_EQ(data.excluded, expected);
}

// Somebody learns what each source is worth (docs/aggregation.md).
TEST_F(TupleReaderTest, AggregationsAloneAreALog) {
  std::vector<log::v1::BanditTuple> tuples = AggregatedTuples(30);
  tuples.push_back(MakeTuple({}, "another"));
  tuples.back().mutable_decision()->set_model("another");
  Write(tuples);
  const TupleData data = Read(WithBaseline(0));
  EXPECT_EQ(Kept(data), 30);
  EXPECT_EQ(data.num_features, 3);
  EXPECT_GT(data.validation.size() + data.test.size(), 0u);
}

// With version 1 in the store they are other versions' tuples, which train.
TEST_F(TupleReaderTest, AggregationsTrainBesideAVersion) {
  const SyntheticLog log{.action_kind = ActionKind::kRank, .num_features = 3};
  Write(AggregatedTuples(30));
  Write(MakeTuples(log, 40));
  TupleFilter filter = WithBaseline(1);
  filter.num_features = 3;
  const TupleData data = Read(filter);
  EXPECT_EQ(Kept(data), 70);
  EXPECT_GE(data.train.size(), 30u);
}

// What they earned is not what the version that served would have: they train,
// and only where the log as a whole is compared with do they also judge.
TEST_F(TupleReaderTest, InterleavedOrdersDoNotJudgeTheVersionThatServed) {
  auto tuples = MakeTuples({.action_kind = ActionKind::kRank}, 400);
  for (size_t i = 0; i < tuples.size(); i += 2) {
    tuples[i].mutable_decision()->mutable_interleaving()->set_other_version(2);
  }
  Write(tuples);
  const TupleData all = Read();
  const TupleData of_version = Read(WithBaseline(1));
  TupleFilter filter;
  filter.baseline_is_of_log = true;
  const TupleData of_log = Read(filter);
  EXPECT_EQ(Kept(all), 400);
  EXPECT_EQ(Kept(of_version), 400);  // No unit is known: the others train.
  // A quarter of them tests, by a hash; half of these were interleaved.
  EXPECT_NEAR(static_cast<double>(all.test.size()), 100, 45);
  EXPECT_NEAR(static_cast<double>(of_version.test.size()), 50, 33);
  EXPECT_EQ(of_log.test.size(), of_version.test.size());
  EXPECT_EQ(of_log.validation.size(), of_version.validation.size());
}

TEST_F(TupleReaderTest, RewardOutOfRangeIsAnErrorWithItsValue) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 3);
  tuples[1].set_reward(2.5);
  Write(tuples);
  EXPECT_THAT(ReadTuples(options_, {}),
              IsInvalidArgument("'d1' is 2.5, must be in [0, 1]"));
  options_.set_clamp_rewards(true);
  const TupleData data = Read();
  EXPECT_EQ(Kept(data), 3);
  EXPECT_TRUE(data.excluded.empty());
}

// Reads the tuples without a scratch file.
absl::StatusOr<TupleData> ReadWithinOneMib(
    const std::vector<log::v1::BanditTuple>& tuples) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options;
  options.set_tuples(dir.Sub("t"));
  options.set_memory_mb(1);
  options.set_scratch_mb(0);
  return ReadTuples(options, {});
}

TEST_F(TupleReaderTest, OverTheLimitKeepsASampleThatDoesNotDependOnTheOrder) {
  // 60 candidates with 20 features: 4.8 KB each, 600 tuples are 2.9 MB.
  SyntheticLog log{.num_features = 20, .num_candidates = 60};
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log, 600);
  ASSERT_OK_AND_ASSIGN(const TupleData forward, ReadWithinOneMib(tuples));
  std::reverse(tuples.begin(), tuples.end());
  ASSERT_OK_AND_ASSIGN(const TupleData backward, ReadWithinOneMib(tuples));
  EXPECT_EQ(forward.kept_fraction, 0.25);
  EXPECT_EQ(backward.kept_fraction, 0.25);
  EXPECT_EQ(Kept(forward), Kept(backward));
  // Binomial(600, 1/4): mean 150, deviation 10.6.
  EXPECT_NEAR(static_cast<double>(Kept(forward)), 150, 53);
  EXPECT_LE(TupleBytes(forward), 1 << 20);
  // The sample is independent of the split: each part shrinks alike.
  EXPECT_GT(forward.test.size(), 15);
  EXPECT_GT(forward.validation.size(), 15);
}

TEST_F(TupleReaderTest, WarmupQueriesAreBoundedInBytesWhateverTheOrder) {
  // 4 to 20 KB each: 100 of them are far above the eighth of 1 MiB.
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 200; ++i) {
    SyntheticLog log;
    log.num_candidates = i % 2 == 0 ? 50 : 250;
    log.num_features = 20;
    tuples.push_back(MakeTuple(log, absl::StrCat("d", i)));
    tuples.back().mutable_decision()->set_unit_id(absl::StrCat("user", i));
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
  EXPECT_LE(bytes + TupleBytes(forward), 1 << 20);
}

TEST_F(TupleReaderTest, ADamagedRecordCostsItselfOnly) {
  Write(MakeTuples({}, 50));
  const auto names = ListSegments(dir_.Sub("t"));
  ASSERT_OK(names);
  std::fstream file(dir_.Sub("t") + "/" + (*names)[0],
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(5000);
  file.put('\x55');
  file.put('\xaa');
  file.close();
  const TupleData data = Read();
  EXPECT_EQ(data.damage.corrupt_records, 1);
  EXPECT_EQ(Kept(data), 49);
}

TEST_F(TupleReaderTest, BadOptionsAndMissingDirectoryAreErrors) {
  options_.set_versions("1,x");
  EXPECT_THAT(ReadTuples(options_, {}), IsInvalidArgument("versions is '1,x'"));
  options_.clear_versions();
  options_.set_tuples("/nonexistent/tuples");
  EXPECT_THAT(ReadTuples(options_, {}), IsNotFound());
}

TEST(ConvertTupleTest, KeepsEligibleRowsAndRenumbersTheAction) {
  log::v1::BanditTuple logged;
  logged.set_reward(3);
  log::v1::Decision* decision = logged.mutable_decision();
  decision->set_action_kind(log::v1::RANK);
  decision->set_num_candidates(4);
  decision->set_num_features(2);
  for (const bool eligible : {false, true, true, false}) {
    decision->add_eligible(eligible);
  }
  for (int value = 0; value < 8; ++value) {
    decision->add_dense_values(static_cast<float>(value));
  }
  decision->add_action(2);
  decision->add_action(1);
  decision->set_log_propensity(-0.5);
  const TupleExpectation expectation{.action_kind = ActionKind::kRank,
                                     .num_features = 2,
                                     .rewards = {.min = -1, .max = 7}};
  BanditTuple tuple;
  const auto reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_THAT(tuple.values, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(tuple.action, ElementsAre(1, 0));
  EXPECT_EQ(tuple.loss, -0.5);  // (-1 - 3) / (7 + 1)
  EXPECT_EQ(tuple.log_propensity, -0.5);

  decision->set_action(0, 3);  // Not eligible.
  const auto not_eligible = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(not_eligible, kBadAction);
}

TEST(ConvertTupleTest, KeepsTheRewardOfWhatWasShownInPlaceOfTheAction) {
  log::v1::BanditTuple logged = MakeTuple({}, "d0");
  logged.set_reward(1);
  logged.mutable_decision()->set_action(0, 3);
  const TupleExpectation expectation{.action_kind = ActionKind::kSelect,
                                     .num_features = 5,
                                     .overrides = Overrides::kAsShown};
  BanditTuple tuple;
  const auto is_shown = [&] {
    EXPECT_EQ(ConvertTuple(logged, expectation, &tuple), std::nullopt);
    return tuple.action_shown;
  };
  EXPECT_TRUE(is_shown());  // No record of what was shown.
  logged.mutable_shown()->add_shown(3);
  EXPECT_TRUE(is_shown());
  logged.mutable_shown()->set_shown(0, 2);
  EXPECT_FALSE(is_shown());
  EXPECT_EQ(tuple.loss, -1);
  logged.mutable_shown()->clear_shown();
  logged.mutable_shown()->set_not_shown(true);
  EXPECT_FALSE(is_shown());
  logged.mutable_shown()->set_not_shown(false);
  EXPECT_FALSE(is_shown());  // An empty list: nothing was shown.
  // To show nothing is what an abstention asks for.
  logged.mutable_decision()->set_action(0, kAbstain);
  EXPECT_TRUE(is_shown());
  // Showing something does not.
  logged.mutable_shown()->clear_not_shown();
  logged.mutable_shown()->add_shown(2);
  EXPECT_FALSE(is_shown());
}

TEST(ConvertTupleTest, KeepsSparseRowsSparse) {
  log::v1::BanditTuple logged;
  log::v1::Decision* decision = logged.mutable_decision();
  decision->set_action_kind(log::v1::SELECT);
  decision->set_num_candidates(3);
  decision->set_num_features(9);
  for (const bool eligible : {true, false, true}) {
    decision->add_eligible(eligible);
  }
  auto* sparse = decision->mutable_sparse();
  for (const uint32_t offset : {0, 2, 3, 4}) sparse->add_row_offsets(offset);
  for (const uint32_t column : {1, 8, 0, 5}) sparse->add_columns(column);
  for (const float value : {1.f, 2.f, 3.f, 4.f}) sparse->add_values(value);
  decision->add_action(2);
  const TupleExpectation expectation{.action_kind = ActionKind::kSelect,
                                     .num_features = 9};
  BanditTuple tuple;
  const auto reason = ConvertTuple(logged, expectation, &tuple);
  EXPECT_EQ(reason, std::nullopt);
  EXPECT_THAT(tuple.row_offsets, ElementsAre(0, 2, 3));
  EXPECT_THAT(tuple.columns, ElementsAre(1, 8, 5));
  EXPECT_THAT(tuple.values, ElementsAre(1, 2, 4));
  EXPECT_THAT(tuple.action, ElementsAre(1));
}

log::v1::BanditTuple Decided(uint64_t version, int action, bool is_overridden,
                             int day) {
  log::v1::BanditTuple tuple;
  tuple.mutable_decision()->set_time_us(day * int64_t{86'400'000'000} + 5);
  tuple.mutable_decision()->set_version(version);
  tuple.mutable_decision()->set_action_kind(log::v1::SELECT);
  tuple.mutable_decision()->set_num_candidates(3);
  tuple.mutable_decision()->add_action(action);
  if (is_overridden) tuple.mutable_shown()->add_shown(2);
  return tuple;
}

// Adds 1000 decisions, of which `overridden` are.
void AddThousand(uint64_t version, int action, int overridden,
                 OverriddenShare* share, int day = 20'000) {
  for (int i = 0; i < 1000; ++i) {
    share->Add(Decided(version, action, i < overridden, day));
  }
}

TEST(OverriddenShareTest, WarnsWhereItDependsOnTheVersion) {
  OverriddenShare share;
  EXPECT_EQ(share.Warning(), std::nullopt);
  AddThousand(1, 0, 100, &share);
  AddThousand(2, 0, 110, &share);
  EXPECT_EQ(share.count(), 210);
  EXPECT_EQ(share.Warning(), std::nullopt);  // Noise.
  // 10 %, 11 % and 30 %: 17 % of all.
  AddThousand(3, 0, 300, &share);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("30 % of those of version 3, "
                                                  "17 % with the same")));
}

// An action that is overridden more often than another says nothing about the
// versions that choose it.
TEST(OverriddenShareTest, AllowsForTheActionsThatVersionsChoose) {
  OverriddenShare share;
  for (int i = 0; i < 9; ++i) {
    AddThousand(1, 0, 500, &share);
    AddThousand(2, 1, 10, &share);
  }
  AddThousand(1, 1, 10, &share);
  AddThousand(2, 0, 500, &share);
  EXPECT_EQ(share.Warning(), std::nullopt);
  AddThousand(3, 1, 200, &share);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("20 % of those of version "
                                                  "3")));
}

// Overrides grow from day to day, and so does the share of the new version.
TEST(OverriddenShareTest, AllowsForTheDaysOnWhichVersionsDecide) {
  OverriddenShare share;
  for (int i = 0; i < 9; ++i) AddThousand(1, 0, 100, &share, 20'000);
  AddThousand(2, 0, 100, &share, 20'000);
  AddThousand(1, 0, 300, &share, 20'001);
  for (int i = 0; i < 9; ++i) AddThousand(2, 0, 300, &share, 20'001);
  EXPECT_EQ(share.Warning(), std::nullopt);
}

// Over all days both have 32.5 %, on each day version 2 has 20 % more. Version
// 1 would have 1,000 of 28 % and 9,000 of 37 %.
TEST(OverriddenShareTest, WarnsWhereDaysHideWhatDependsOnTheVersion) {
  OverriddenShare share;
  AddThousand(1, 0, 100, &share, 20'000);
  for (int i = 0; i < 9; ++i) AddThousand(2, 0, 300, &share, 20'000);
  for (int i = 0; i < 9; ++i) AddThousand(1, 0, 350, &share, 20'001);
  AddThousand(2, 0, 550, &share, 20'001);
  EXPECT_THAT(share.Warning(),
              Optional(HasSubstr("32.5 % of those of version 1, 36.1 % with")));
}

TEST(OverriddenShareTest, SaysWhereNobodyCanTell) {
  OverriddenShare share;
  AddThousand(1, 0, 100, &share, 20'000);
  EXPECT_EQ(share.Warning(), std::nullopt);  // One version.
  AddThousand(2, 0, 400, &share, 20'001);
  EXPECT_THAT(share.Warning(), Optional(HasSubstr("Nobody can tell whether")));
  AddThousand(2, 0, 100, &share, 20'000);
  EXPECT_EQ(share.Warning(), std::nullopt);
}

TEST_F(TupleReaderTest, TheOptionSaysWhoseRewardItIs) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 200);
  for (size_t i = 0; i < tuples.size(); i += 4) {
    tuples[i].mutable_shown()->add_shown(
        tuples[i].decision().action(0) == 0 ? 1 : 0);
  }
  Write(tuples);
  const auto hidden = [&] {
    const TupleData data = Read();
    EXPECT_EQ(data.overridden.count(), 50);
    size_t count = 0;
    for (const BanditTuple* tuple : AllTuples(data)) {
      count += !tuple->action_shown;
    }
    return count;
  };
  EXPECT_EQ(hidden(), 0);
  options_.set_overrides("as_shown");
  EXPECT_EQ(hidden(), 50);
  options_.set_overrides("never");
  EXPECT_THAT(
      ReadTuples(options_, {}),
      IsInvalidArgument("overrides is 'never', must be intent_to_treat or"));
}

}  // namespace
}  // namespace sortition
