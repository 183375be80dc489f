// Logs larger than memory_mb: read, and trained on, through a scratch file.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/learners/counterfactual/feature_block.h"
#include "tests/trainer/synthetic_tuples.h"
#include "tests/trainer/tuples/all_tuples.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::ElementsAreArray;

constexpr size_t kTuples = 600;
// 60 candidates with 20 features: 4.8 kB each, 2.9 MB.
constexpr uint64_t kFeatureBytes = 60 * 20 * sizeof(float);

SyntheticLog LargeTuples() {
  return {.num_features = 20, .num_candidates = 60};
}

class SpillTest : public testing::Test {
 protected:
  SpillTest() {
    std::vector<log::v1::BanditTuple> tuples =
        MakeTuples(LargeTuples(), kTuples);
    WriteSegment(dir_.Sub("forward"), 0, tuples);
    std::reverse(tuples.begin(), tuples.end());
    WriteSegment(dir_.Sub("backward"), 0, tuples);
    scratch_ = dir_.Sub("scratch");
  }

  config::v1::TrainOptions Options(uint64_t memory_mb, uint64_t scratch_mb) {
    config::v1::TrainOptions options;
    options.set_tuples(dir_.Sub("forward"));
    options.set_memory_mb(memory_mb);
    options.set_scratch(scratch_);
    options.set_scratch_mb(scratch_mb);
    return options;
  }

  // The tuples of each part, in the order of reading.
  static std::vector<std::vector<float>> Features(const TupleData& data) {
    std::vector<std::vector<float>> features;
    FeatureBlock block;
    for (const BanditTuple* tuple : AllTuples(data)) {
      const auto values = block.Load(*tuple).values();
      features.emplace_back(values.begin(), values.end());
    }
    return features;
  }

  const TempDir dir_;
  std::string scratch_;
};

TEST_F(SpillTest, KeepsEveryTupleInLessMemory) {
  ASSERT_OK_AND_ASSIGN(const TupleData memory, ReadTuples(Options(64, 64), {}));
  ASSERT_OK_AND_ASSIGN(const TupleData spilled, ReadTuples(Options(1, 64), {}));
  EXPECT_EQ(memory.spilled_bytes, 0);
  EXPECT_EQ(memory.spill, nullptr);
  EXPECT_GT(TupleBytes(memory), kTuples * kFeatureBytes);
  EXPECT_EQ(spilled.kept_fraction, 1);
  EXPECT_EQ(spilled.spilled_bytes, kTuples * kFeatureBytes);
  EXPECT_EQ(spilled.scratch, scratch_);
  EXPECT_LT(TupleBytes(spilled), 1 << 20);
  EXPECT_EQ(Features(spilled), Features(memory));
  EXPECT_OK(spilled.ReadStatus());
  // There is no visible file, so that nothing is left whatever happens to this
  // process.
  EXPECT_TRUE(std::filesystem::is_empty(scratch_));
}

TEST_F(SpillTest, OverBothLimitsKeepsASampleThatDoesNotDependOnTheOrder) {
  config::v1::TrainOptions options = Options(1, 1);
  ASSERT_OK_AND_ASSIGN(const TupleData forward, ReadTuples(options, {}));
  options.set_tuples(dir_.Sub("backward"));
  ASSERT_OK_AND_ASSIGN(const TupleData backward, ReadTuples(options, {}));
  // 2.9 MB for a limit of 1.05 MB: half of it, about 1.4 MB, is too much.
  EXPECT_EQ(forward.kept_fraction, 0.25);
  EXPECT_EQ(backward.kept_fraction, 0.25);
  EXPECT_GT(forward.spilled_bytes, 0);
  EXPECT_LE(forward.spilled_bytes, 1 << 20);
  std::vector<std::vector<float>> features = Features(forward);
  EXPECT_EQ(forward.spilled_bytes, features.size() * kFeatureBytes);
  // Features that were moved within the file are still those that were logged.
  std::vector<std::vector<float>> others = Features(backward);
  std::sort(features.begin(), features.end());
  std::sort(others.begin(), others.end());
  EXPECT_EQ(features, others);
  ASSERT_OK_AND_ASSIGN(const TupleData memory, ReadTuples(Options(64, 0), {}));
  std::vector<std::vector<float>> all = Features(memory);
  std::sort(all.begin(), all.end());
  EXPECT_TRUE(
      std::includes(all.begin(), all.end(), features.begin(), features.end()));
}

TEST_F(SpillTest, WhatStaysInMemoryIsBoundedToo) {
  // A tuple has 120 bytes of features and more than 200 other bytes: 4000
  // tuples exceed 0.75 MiB even without their features; half of them may not.
  WriteSegment(dir_.Sub("small"), 0, MakeTuples({}, 4000));
  config::v1::TrainOptions options = Options(1, 64);
  options.set_tuples(dir_.Sub("small"));
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options, {}));
  EXPECT_LT(data.kept_fraction, 1);
  EXPECT_GE(data.kept_fraction, 0.25);
  EXPECT_EQ(data.spilled_bytes, Features(data).size() * 120);
  EXPECT_LE(TupleBytes(data), 3 << 18);
}

// An abstention takes less than 100 bytes and has no features: 20,000 exceed
// the 7/8 of 1 MiB that are for tuples, a quarter of them does not.
TEST_F(SpillTest, AbstentionsCountTowardsMemory) {
  constexpr size_t kAbstentions = 20'000;
  log::v1::BanditTuple tuple = MakeTuple({}, "a");
  tuple.mutable_decision()->set_action(0, -1);
  std::vector<log::v1::BanditTuple> tuples(kAbstentions, tuple);
  for (size_t i = 0; i < kAbstentions; ++i) {
    tuples[i].mutable_decision()->set_decision_id(absl::StrCat("a", i));
  }
  WriteSegment(dir_.Sub("abstained"), 0, tuples);
  config::v1::TrainOptions options = Options(1, 64);
  options.set_tuples(dir_.Sub("abstained"));
  options.set_warmup_queries(0);
  TupleFilter filter;
  filter.can_abstain = false;
  ASSERT_OK_AND_ASSIGN(const TupleData some, ReadTuples(options, filter));
  EXPECT_LT(some.kept_fraction, 1);
  EXPECT_GE(some.kept_fraction, 0.25);
  options.set_memory_mb(64);
  ASSERT_OK_AND_ASSIGN(const TupleData all, ReadTuples(options, filter));
  EXPECT_EQ(all.kept_fraction, 1);
  const auto kept = static_cast<double>(some.abstained_test.size()) /
                    static_cast<double>(all.abstained_test.size());
  // 20,000 / 4 in the test part, of which a share is kept: 0.01 is its standard
  // error at the most.
  EXPECT_NEAR(kept, some.kept_fraction, 0.05);
}

TEST_F(SpillTest, NothingIsSpilledWhereScratchHoldsLessThanMemory) {
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(Options(3, 1), {}));
  EXPECT_EQ(data.spilled_bytes, 0);
  EXPECT_EQ(data.kept_fraction, 0.5);
}

TEST_F(SpillTest, AFullDiskOnlyMakesTheSampleSmaller) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  // If the disk is full when the first tuples are spilled, they stay in memory:
  // 0.75 MiB with 5.2 kB each. If it is full later, 208 tuples are in the file.
  for (const auto& [disk, fraction] :
       {std::pair<rlim_t, double>{100000, 0.125}, {1000000, 0.25}}) {
    const rlimit small{disk, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const absl::StatusOr<TupleData> data = ReadTuples(Options(1, 64), {});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ASSERT_OK(data);
    EXPECT_EQ(data->kept_fraction, fraction);
    EXPECT_EQ(data->spilled_bytes > 0, disk == 1000000);
    const std::vector<std::vector<float>> kept = Features(*data);
    // Binomial with a deviation of at most 10.6.
    EXPECT_NEAR(static_cast<double>(kept.size()), kTuples * fraction, 53);
    ASSERT_OK_AND_ASSIGN(const TupleData all, ReadTuples(Options(64, 0), {}));
    std::vector<std::vector<float>> features = Features(all);
    std::sort(features.begin(), features.end());
    for (const auto& values : kept) {
      EXPECT_TRUE(std::binary_search(features.begin(), features.end(), values));
    }
    EXPECT_TRUE(std::filesystem::is_empty(scratch_));
  }
}

TEST_F(SpillTest, AMissingScratchDirectoryIsAnErrorBeforeReading) {
  config::v1::TrainOptions options = Options(64, 64);
  options.set_scratch("/nonexistent/scratch");
  options.set_tuples("/nonexistent/tuples");
  EXPECT_THAT(ReadTuples(options, {}),
              IsNotFound("scratch is '/nonexistent/scratch'"));
}

TEST_F(SpillTest, FeaturesThatCannotBeReadAreZerosAndRemembered) {
  ASSERT_OK_AND_ASSIGN(TupleData data, ReadTuples(Options(1, 64), {}));
  data.train[0].stored.offset = data.spilled_bytes - kFeatureBytes / 2;
  FeatureBlock block;
  EXPECT_THAT(block.Load(data.train[0]).values(),
              ElementsAreArray(std::vector<float>(60 * 20, 0.f)));
  EXPECT_THAT(data.ReadStatus(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(scratch_)));
  block.Load(data.train[1]);
  EXPECT_FALSE(data.ReadStatus().ok());
}

constexpr uint64_t kTrainTuples = 1900;

// Returns model and evaluation of a log without options and times.
std::string Published(const SyntheticLog& log, uint64_t memory_mb,
                      const config::v1::PoemOptions& poem, uint64_t* spilled) {
  const TempDir dir;
  WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, kTrainTuples));
  config::v1::TrainOptions options;
  options.set_tuples(dir.Sub("tuples"));
  options.set_model_store(dir.Sub("models"));
  options.set_scratch(dir.Sub("scratch"));
  options.set_memory_mb(memory_mb);
  options.set_warmup_queries(4);
  options.set_force(true);
  *options.mutable_poem() = poem;
  options.mutable_poem()->add_lambda(0.5);
  options.mutable_poem()->add_l2(1e-4);
  options.mutable_poem()->add_l2(1e-2);
  options.mutable_poem()->mutable_adagrad()->set_max_epochs(4);
  const auto report = Train(options);
  EXPECT_OK(report);
  if (!report.ok()) return "";
  EXPECT_EQ(report->kept_fraction(), 1);
  *spilled = report->spilled_bytes();
  const ModelStore store(options.model_store());
  StoredModel stored = *store.Load("default", report->version());
  stored.model.clear_provenance();
  return stored.model.SerializeAsString() +
         store.LoadEvaluation("default", report->version())
             ->SerializeAsString();
}

TEST(SpillTrainTest, TheModelHasTheSameBytesSpilledOrNot) {
  using config::v1::PoemOptions;
  for (const auto objective : {PoemOptions::CRM, PoemOptions::DOUBLY_ROBUST}) {
    PoemOptions poem;
    poem.set_objective(objective);
    for (const ActionKind kind :
         {ActionKind::kSelect, ActionKind::kRank, ActionKind::kSubset}) {
      if (kind == ActionKind::kSubset &&
          objective == PoemOptions::DOUBLY_ROBUST) {
        continue;  // Not for subsets.
      }
      // 1.2 kB each, 2.3 MB.
      const SyntheticLog log{.action_kind = kind,
                             .num_features = 10,
                             .num_candidates = 30,
                             .version = 0};
      uint64_t in_memory = 0;
      uint64_t spilled = 0;
      const std::string memory = Published(log, 64, poem, &in_memory);
      const std::string disk = Published(log, 1, poem, &spilled);
      EXPECT_EQ(in_memory, 0);
      EXPECT_EQ(spilled, kTrainTuples * 1200);
      EXPECT_TRUE(memory == disk) << PoemOptions::Objective_Name(objective);
      EXPECT_GT(memory.size(), 100);
    }
  }
}

TEST(SpillTrainTest, SmoothedPropensitiesHaveTheSameBytesSpilledOrNot) {
  const SyntheticLog log{.num_features = 10, .num_candidates = 30};
  config::v1::PoemOptions poem;
  uint64_t spilled = 0;
  const std::string plain = Published(log, 64, poem, &spilled);
  poem.add_smoothing(0.5);
  const std::string memory = Published(log, 64, poem, &spilled);
  EXPECT_EQ(spilled, 0);
  const std::string disk = Published(log, 1, poem, &spilled);
  EXPECT_GT(spilled, 0);
  EXPECT_TRUE(memory == disk);
  EXPECT_FALSE(memory == plain);
}

}  // namespace
}  // namespace sortition
