#include "trainer/tuples/labels/label_reader.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/tuples/labels/label_record.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using enum LeftOutReason;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kItemFeatures = 4;
constexpr uint32_t kItemLabels = 3;

config::v1::TrainOptions Options(const std::string& tuples) {
  config::v1::TrainOptions options;
  options.set_tuples(tuples);
  return options;
}

// Options by which all tuples train.
config::v1::TrainOptions TrainOnly(const std::string& tuples) {
  config::v1::TrainOptions options = Options(tuples);
  options.set_test_fraction(0);
  options.set_validation_fraction(0);
  return options;
}

size_t Kept(const LabelData& data) {
  return data.train.size() + data.validation.size() + data.test.size();
}

// Returns replay `replay` of context `context`, whose first feature is its
// number.
log::v1::BanditTuple MakeLabelTuple(int context, int replay) {
  log::v1::BanditTuple tuple;
  tuple.set_reward(replay % 2 == 0 ? 1.0 / 3 : 1);
  tuple.set_has_feedback(true);
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id(absl::StrCat("d-", context, "-", replay));
  decision->set_model("default");
  decision->set_version(1);
  decision->set_action_kind(log::v1::LABELS);
  decision->set_num_candidates(1);
  decision->set_num_features(kItemFeatures);
  decision->set_num_labels(kItemLabels);
  for (const float value : {static_cast<float>(context), 0.f, 0.5f, -1.f}) {
    decision->add_dense_values(value);
  }
  decision->add_action(0);
  decision->add_action(2);
  decision->set_log_propensity(-1.25 - replay);
  return tuple;
}

std::vector<log::v1::BanditTuple> MakeLabelTuples(int contexts, int replays) {
  std::vector<log::v1::BanditTuple> tuples;
  for (int replay = 0; replay < replays; ++replay) {
    for (int context = 0; context < contexts; ++context) {
      tuples.push_back(MakeLabelTuple(context + 1, replay));
    }
  }
  return tuples;
}

// Returns the first features of the contexts of `part`.
std::multiset<float> ContextsOf(const LabelData& data,
                                const LabelTuples& part) {
  std::multiset<float> contexts;
  for (const uint32_t context : part.contexts) {
    contexts.insert(data.contexts.values[data.contexts.row_offsets[context]]);
  }
  return contexts;
}

TEST(LabelReaderTest, ReadsWhatWasLogged) {
  const TempDir dir;
  WriteSegment(
      dir.Sub("t"), 0,
      {MakeLabelTuple(7, 0), MakeLabelTuple(8, 0), MakeLabelTuple(7, 1)});
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(TrainOnly(dir.Sub("t")), {}));
  EXPECT_EQ(data.read_tuples, 3u);
  EXPECT_EQ(data.newest_version, 1u);
  EXPECT_EQ(data.contexts.num_features, kItemFeatures);
  EXPECT_EQ(data.contexts.num_labels, kItemLabels);
  // Zeros are dropped; the replay of context 7 shares it.
  EXPECT_THAT(data.contexts.row_offsets, ElementsAre(0, 3, 6));
  EXPECT_THAT(data.contexts.columns, ElementsAre(0, 2, 3, 0, 2, 3));
  EXPECT_THAT(data.contexts.values, ElementsAre(7, 0.5, -1, 8, 0.5, -1));
  EXPECT_THAT(data.train.contexts, ElementsAre(0, 1, 0));
  EXPECT_THAT(data.train.labels, ElementsAre(1, 0, 1, 1, 0, 1, 1, 0, 1));
  EXPECT_THAT(data.train.log_propensities, ElementsAre(-1.25, -1.25, -2.25));
  EXPECT_THAT(data.train.losses, ElementsAre(-1.0 / 3, -1.0 / 3, -1));
}

TEST(LabelReaderTest, DenseAndSparseFormsOfAContextAreShared) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = {
      MakeLabelTuple(7, 0), MakeLabelTuple(7, 1), MakeLabelTuple(7, 2)};
  for (const bool with_zero : {false, true}) {
    log::v1::Decision* decision = tuples[with_zero ? 1 : 2].mutable_decision();
    decision->clear_dense_values();
    auto* sparse = decision->mutable_sparse();
    for (uint32_t column = 0; column < kItemFeatures; ++column) {
      if (column == 1 && !with_zero) continue;
      sparse->add_columns(column);
      sparse->add_values(
          tuples[0].decision().dense_values(static_cast<int>(column)));
    }
    sparse->add_row_offsets(0);
    sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
  }
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(TrainOnly(dir.Sub("t")), {}));
  EXPECT_EQ(data.contexts.size(), 1u);
  EXPECT_THAT(data.train.contexts, ElementsAre(0, 0, 0));
}

TEST(LabelReaderTest, CountsWhatItLeavesOutByReason) {
  const TempDir dir;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Decision = log::v1::Decision;
  using Spoil = std::function<void(Decision*)>;
  const std::vector<std::pair<LeftOutReason, Spoil>> spoilt = {
      {kOtherModel, [](Decision* d) { d->set_model("another"); }},
      {kOtherVersion, [](Decision* d) { d->set_version(7); }},
      {kOtherAction, [](Decision* d) { d->set_action_kind(log::v1::SELECT); }},
      {kOtherFeatures, [](Decision* d) { d->set_num_features(5); }},
      {kOtherLabels, [](Decision* d) { d->set_num_labels(4); }},
      {kBadPropensity, [](Decision* d) { d->set_log_propensity(0.5); }},
      {kBadPropensity, [=](Decision* d) { d->set_log_propensity(nan); }},
      {kBadPropensity, [](Decision* d) { d->set_log_propensity(-HUGE_VAL); }},
      {kBadFeatures,
       [](Decision* d) { d->mutable_dense_values()->RemoveLast(); }},
      {kBadFeatures,
       [](Decision* d) { d->set_dense_values(3, std::nanf("")); }},
      {kBadFeatures, [](Decision* d) { d->clear_dense_values(); }},
      {kBadFeatures,
       [](Decision* d) {  // Two contexts.
         d->set_num_candidates(2);
         for (int j = 0; j < 4; ++j) d->add_dense_values(1);
       }},
      {kBadFeatures,
       [](Decision* d) {  // A column that does not exist.
         d->clear_dense_values();
         d->mutable_sparse()->add_row_offsets(0);
         d->mutable_sparse()->add_row_offsets(1);
         d->mutable_sparse()->add_columns(kItemFeatures);
         d->mutable_sparse()->add_values(1);
       }},
      {kBadFeatures, [](Decision* d) { d->add_eligible(true); }},
      {kBadLabels, [](Decision* d) { d->set_action(1, 3); }},
      {kBadLabels, [](Decision* d) { d->set_action(0, -1); }},
      {kBadLabels, [](Decision* d) { d->set_action(1, 0); }},
      {kSeeded, [](Decision* d) { d->set_seed(0); }},
  };
  std::vector<log::v1::BanditTuple> tuples = {MakeLabelTuple(100, 0)};
  std::map<std::string, uint64_t> expected;
  for (const auto& [reason, spoil] : spoilt) {
    tuples.push_back(MakeLabelTuple(static_cast<int>(tuples.size()), 0));
    spoil(tuples.back().mutable_decision());
    ++expected[reason == kOtherFeatures ? ReasonText(reason) + ": 5"
                                        : ReasonText(reason)];
  }
  tuples.push_back(MakeLabelTuple(99, 0));
  tuples.back().set_reward(nan);
  ++expected[ReasonText(kBadReward)];
  // Nothing chosen is a choice.
  tuples.push_back(MakeLabelTuple(98, 0));
  tuples.back().mutable_decision()->clear_action();
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options = TrainOnly(dir.Sub("t"));
  options.set_versions("1, 2");
  ASSERT_OK_AND_ASSIGN(const LabelData data, ReadLabelTuples(options, {}));
  EXPECT_EQ(data.excluded, expected);
  EXPECT_EQ(data.read_tuples, spoilt.size() + 3);
  EXPECT_THAT(data.train.labels, ElementsAre(1, 0, 1, 0, 0, 0));
}

TEST(LabelReaderTest, APolicyTooLargeIsNotRead) {
  const TempDir dir;
  log::v1::BanditTuple tuple = MakeLabelTuple(1, 0);
  tuple.mutable_decision()->set_num_labels((1u << 22) + 1);
  WriteSegment(dir.Sub("t"), 0, {tuple, MakeLabelTuple(2, 0)});
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(TrainOnly(dir.Sub("t")), {}));
  EXPECT_EQ(data.excluded.at(ReasonText(kTooManyWeights)), 1u);
  EXPECT_EQ(data.contexts.num_labels, kItemLabels);
  EXPECT_EQ(data.train.size(), 1u);
}

TEST(LabelReaderTest, TheFilterSaysWhatTuplesMustBe) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeLabelTuples(5, 1));
  ASSERT_OK_AND_ASSIGN(
      const LabelData features,
      ReadLabelTuples(TrainOnly(dir.Sub("t")), {.num_features = 9}));
  EXPECT_EQ(features.excluded.at(ReasonText(kOtherFeatures) + ": 4"), 5u);
  ASSERT_OK_AND_ASSIGN(
      const LabelData labels,
      ReadLabelTuples(TrainOnly(dir.Sub("t")), {.num_labels = 9}));
  EXPECT_EQ(labels.excluded.at(ReasonText(kOtherLabels)), 5u);
}

TEST(LabelReaderTest, EachReaderLeavesTheOtherKindOut) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(10, 1);
  for (const auto& tuple : MakeTuples({}, 7)) tuples.push_back(tuple);
  WriteSegment(dir.Sub("t"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const LabelData labels,
                       ReadLabelTuples(TrainOnly(dir.Sub("t")), {}));
  EXPECT_EQ(labels.excluded.at(ReasonText(kOtherAction)), 7u);
  EXPECT_EQ(labels.train.size(), 10u);
  ASSERT_OK_AND_ASSIGN(const TupleData selections,
                       ReadTuples(TrainOnly(dir.Sub("t")), {}));
  EXPECT_EQ(selections.excluded.at(ReasonText(kOtherAction)), 10u);
  EXPECT_EQ(selections.train.size(), 7u);
}

TEST(LabelReaderTest, AContextIsInOnePartWithAllItsReplays) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeLabelTuples(2000, 3));
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(Kept(data), 6000u);
  EXPECT_EQ(data.contexts.size(), 2000u);
  std::set<float> seen;
  for (const auto* part : {&data.train, &data.validation, &data.test}) {
    const std::multiset<float> contexts = ContextsOf(data, *part);
    for (const float context : contexts) {
      EXPECT_EQ(contexts.count(context), 3u);
    }
    const std::set<float> distinct(contexts.begin(), contexts.end());
    for (const float context : distinct) {
      EXPECT_TRUE(seen.insert(context).second);
    }
  }
  EXPECT_EQ(seen.size(), 2000u);
  // Three times Binomial(2000, 1/4): mean 1500, deviation 58; 5 of them.
  EXPECT_NEAR(static_cast<double>(data.test.size()), 1500, 290);
  EXPECT_NEAR(static_cast<double>(data.validation.size()), 1500, 290);
}

TEST(LabelReaderTest, OtherVersionsTrainOnTrainingContextsOnly) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(400, 2);
  // The second replay belongs to another version.
  for (size_t i = 400; i < 800; ++i) {
    tuples[i].mutable_decision()->set_version(2);
  }
  WriteSegment(dir.Sub("t"), 0, tuples);
  config::v1::TrainOptions options = Options(dir.Sub("t"));
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(options, {.baseline_version = 2}));
  const size_t held_out = data.excluded.at(ReasonText(kHeldOut));
  EXPECT_EQ(data.validation.size() + data.test.size(), held_out);
  EXPECT_EQ(data.train.size(), 800 - 2 * held_out);
  for (const auto* part : {&data.validation, &data.test}) {
    for (const double value : part->log_propensities) EXPECT_EQ(value, -2.25);
  }
  EXPECT_TRUE(data.evaluates_baseline);
  // There are none of version 3: with force, all evaluate, and the data say so.
  options.set_force(true);
  ASSERT_OK_AND_ASSIGN(const LabelData forced,
                       ReadLabelTuples(options, {.baseline_version = 3}));
  EXPECT_EQ(Kept(forced), 800u);
  EXPECT_FALSE(forced.evaluates_baseline);
}

TEST(LabelReaderTest, OverTheLimitKeepsWholeContextsWhateverTheOrder) {
  const TempDir dir;
  // 8 KB a context; 500 with 2 replays are 4 MB shared, 8 MB in the file.
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(500, 2);
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    decision->set_num_features(1000);
    decision->mutable_dense_values()->Resize(1000, 1.5);
  }
  WriteSegment(dir.Sub("forward"), 0, tuples);
  std::reverse(tuples.begin(), tuples.end());
  WriteSegment(dir.Sub("backward"), 0, tuples);
  config::v1::TrainOptions options = Options(dir.Sub("forward"));
  options.set_memory_mb(2);
  ASSERT_OK_AND_ASSIGN(const LabelData forward, ReadLabelTuples(options, {}));
  options.set_tuples(dir.Sub("backward"));
  ASSERT_OK_AND_ASSIGN(const LabelData backward, ReadLabelTuples(options, {}));
  EXPECT_LT(forward.kept_fraction, 1);
  EXPECT_GE(forward.kept_fraction, 0.25);
  EXPECT_LE(forward.contexts.values.size() * 8, size_t{2} << 20);
  EXPECT_EQ(forward.kept_fraction, backward.kept_fraction);
  EXPECT_EQ(Kept(forward), 2 * forward.contexts.size());
  EXPECT_EQ(ContextsOf(forward, forward.train),
            ContextsOf(backward, backward.train));
  EXPECT_EQ(ContextsOf(forward, forward.test),
            ContextsOf(backward, backward.test));
}

TEST(LabelReaderTest, WhatWouldBiasIsAnErrorWithTheDecision) {
  const TempDir dir;
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(3, 1);
  tuples[1].set_reward(1.5);
  WriteSegment(dir.Sub("reward"), 0, tuples);
  EXPECT_THAT(ReadLabelTuples(Options(dir.Sub("reward")), {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'d-2-0' is 1.5, must be in [0, 1]")));
  tuples[1].set_reward(1);
  tuples[1].mutable_shown()->add_shown(2);
  tuples[1].mutable_shown()->add_shown(0);
  WriteSegment(dir.Sub("same"), 0, tuples);  // A set has no order.
  EXPECT_OK(ReadLabelTuples(Options(dir.Sub("same")), {}));
  tuples[1].mutable_shown()->set_shown(0, 1);
  WriteSegment(dir.Sub("shown"), 0, tuples);
  EXPECT_THAT(ReadLabelTuples(Options(dir.Sub("shown")), {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("shown than decision 'd-2-0' chose")));
}

TEST(LabelReaderTest, ADamagedRecordCostsItselfOnly) {
  const TempDir dir;
  WriteSegment(dir.Sub("t"), 0, MakeLabelTuples(50, 1));
  const auto names = ListSegments(dir.Sub("t"));
  ASSERT_OK(names);
  std::fstream file(dir.Sub("t") + "/" + (*names)[0],
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2000);
  file.put('\x55');
  file.put('\xaa');
  file.close();
  ASSERT_OK_AND_ASSIGN(const LabelData data,
                       ReadLabelTuples(Options(dir.Sub("t")), {}));
  EXPECT_EQ(data.damage.corrupt_records, 1u);
  EXPECT_EQ(Kept(data), 49u);
}

}  // namespace
}  // namespace sortition
