// What the reader keeps of the ranks of orders.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/rank_tuples.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using testing::HasSubstr;
using testing::IsEmpty;
using Poem = config::v1::PoemOptions;

class RankReadingTest : public testing::Test {
 protected:
  RankReadingTest() : tuples_(MakeRankTuples(log_, ReaderOf("cascade"), 400)) {
    options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  }

  absl::StatusOr<TupleData> Data(const TupleFilter& filter = {}) {
    const std::string dir = dir_.Sub(absl::StrCat("tuples", num_++));
    WriteSegment(dir, 0, tuples_);
    options_.set_tuples(dir);
    return ReadTuples(options_, filter);
  }

  const SyntheticLog log_{.action_kind = ActionKind::kRank};
  std::vector<log::v1::BanditTuple> tuples_;
  const TempDir dir_;
  int num_ = 0;
  TrainOptions options_;
};

TEST_F(RankReadingTest, EveryTrainingTupleHasItsRanks) {
  ASSERT_OK_AND_ASSIGN(const TupleData data, Data());
  ASSERT_EQ(data.train_ranks.size(), data.train.size());
  EXPECT_THAT(data.train_exposed, IsEmpty());
  uint64_t with_rewards = 0;
  for (size_t i = 0; i < data.train.size(); ++i) {
    const RankedTuple& ranks = data.train_ranks[i];
    ASSERT_EQ(ranks.num_shown(), log_.top_k);
    EXPECT_EQ(std::accumulate(ranks.losses.begin(), ranks.losses.end(), 0.0),
              data.train[i].loss);
    EXPECT_NEAR(std::accumulate(ranks.log_conditionals.begin(),
                                ranks.log_conditionals.end(), 0.0),
                data.train[i].log_propensity, 1e-9);
    with_rewards += data.train[i].loss != 0;
  }
  EXPECT_EQ(data.with_rank_rewards, with_rewards);
  EXPECT_GT(with_rewards, 0);
  EXPECT_EQ(data.orders_as_one, 0);
  options_.mutable_poem()->clear_rank_weights();
  ASSERT_OK_AND_ASSIGN(const TupleData plain, Data());
  EXPECT_EQ(plain.train.size(), data.train.size());
  EXPECT_THAT(plain.train_ranks, IsEmpty());
}

// Wherever a tuple goes at the end: without units, those that do not evaluate
// train; by time nobody knows before all have been read.
TEST_F(RankReadingTest, EveryTrainingTupleHasItsRanksInAnyPart) {
  for (size_t i = 0; i < tuples_.size(); ++i) {
    log::v1::Decision& decision = *tuples_[i].mutable_decision();
    decision.set_version(1 + i % 2);
    if (i % 3 == 0) decision.set_unit_id(absl::StrCat("u", i / 6));
    decision.set_time_us(1'700'000'000'000'000 + static_cast<int64_t>(i));
  }
  for (const uint64_t baseline : {1, 2}) {
    for (const bool is_of_log : {false, true}) {
      for (const char* const parts : {"unit_hash", "time"}) {
        options_.set_parts(parts);
        TupleFilter filter;
        filter.baseline_version = baseline;
        filter.baseline_is_of_log = is_of_log;
        ASSERT_OK_AND_ASSIGN(const TupleData data, Data(filter));
        ASSERT_EQ(data.train_ranks.size(), data.train.size());
        for (size_t i = 0; i < data.train.size(); ++i) {
          EXPECT_EQ(data.train_ranks[i].num_shown(), log_.top_k);
        }
      }
    }
  }
}

TEST_F(RankReadingTest, RewardsOfRanksOutsideTheRangeLeaveADecisionOut) {
  tuples_[7].clear_rank_rewards();
  Reward(0, -0.5, &tuples_[7]);
  Reward(1, 1, &tuples_[7]);
  tuples_[7].set_reward(0.5);
  ASSERT_OK_AND_ASSIGN(const TupleData data, Data());
  EXPECT_EQ(data.left_out(LeftOutReason::kRewardOutside), 1);
  // More than 1 % are an error.
  for (int i = 0; i < 20; ++i) tuples_[i] = tuples_[7];
  for (int i = 0; i < 20; ++i) {
    tuples_[i].mutable_decision()->set_decision_id(absl::StrCat("bad", i));
  }
  EXPECT_THAT(Data(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("reward of decision 'bad0' is -0.5 at "
                                         "rank 0, must be in [0, 1]")));
}

// A tuple takes some 540 bytes, and its ranks some 300 more if it may train:
// 1500 tuples fit 0.875 MiB only without them.
TEST_F(RankReadingTest, RanksCountTowardsMemory) {
  tuples_ = MakeRankTuples(log_, ReaderOf("cascade"), 1500);
  options_.set_memory_mb(1);
  options_.set_scratch_mb(0);
  ASSERT_OK_AND_ASSIGN(const TupleData ranked, Data());
  options_.mutable_poem()->clear_rank_weights();
  ASSERT_OK_AND_ASSIGN(const TupleData plain, Data());
  EXPECT_LT(ranked.kept_fraction, plain.kept_fraction);
  EXPECT_EQ(ranked.train_ranks.size(), ranked.train.size());
}

}  // namespace
}  // namespace sortition
