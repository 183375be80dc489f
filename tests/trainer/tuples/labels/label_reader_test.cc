#include "trainer/tuples/labels/label_reader.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "core/learners/multilabel/label_conversion.h"
#include "io/datasets/multilabel.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "tests/testing/captured_log.h"
#include "tests/trainer/label_data.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/tuples/labels/convert.h"
#include "trainer/tuples/labels/label_record.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_convert.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using enum LeftOutReason;

constexpr uint32_t kItemFeatures = 4;
constexpr uint32_t kItemLabels = 3;

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

class LabelReaderTest : public testing::Test {
 protected:
  LabelReaderTest() {
    options_.set_tuples(dir_.Sub("t"));
    train_only_ = options_;
    train_only_.set_test_fraction(0);
    train_only_.set_validation_fraction(0);
  }

  void Write(const std::vector<log::v1::BanditTuple>& tuples) {
    WriteSegment(dir_.Sub("t"), 0, tuples);
  }
  static LabelData Read(const config::v1::TrainOptions& options,
                        const LabelFilter& filter = {}) {
    auto data = ReadLabelTuples(options, filter);
    EXPECT_OK(data);
    return data.ok() ? *std::move(data) : LabelData();
  }

  const TempDir dir_;
  config::v1::TrainOptions options_;
  config::v1::TrainOptions train_only_;  // All tuples train.
};

TEST_F(LabelReaderTest, ReadsWhatWasLogged) {
  Write({MakeLabelTuple(7, 0), MakeLabelTuple(8, 0), MakeLabelTuple(7, 1)});
  const LabelData data = Read(train_only_);
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

TEST_F(LabelReaderTest, DenseAndSparseFormsOfAContextAreShared) {
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
  Write(tuples);
  const LabelData data = Read(train_only_);
  EXPECT_EQ(data.contexts.size(), 1u);
  EXPECT_THAT(data.train.contexts, ElementsAre(0, 0, 0));
}

TEST_F(LabelReaderTest, CountsWhatItLeavesOutByReason) {
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
  Write(tuples);
  config::v1::TrainOptions options = train_only_;
  options.set_versions("1, 2");
  const LabelData data = Read(options);
  EXPECT_EQ(data.excluded, expected);
  EXPECT_EQ(data.read_tuples, spoilt.size() + 3);
  EXPECT_THAT(data.train.labels, ElementsAre(1, 0, 1, 0, 0, 0));
}

TEST_F(LabelReaderTest, APolicyTooLargeIsNotRead) {
  log::v1::BanditTuple tuple = MakeLabelTuple(1, 0);
  tuple.mutable_decision()->set_num_labels((1u << 22) + 1);
  Write({tuple, MakeLabelTuple(2, 0)});
  const LabelData data = Read(train_only_);
  EXPECT_EQ(data.excluded.at(ReasonText(kTooManyWeights)), 1u);
  EXPECT_EQ(data.contexts.num_labels, kItemLabels);
  EXPECT_EQ(data.train.size(), 1u);
}

TEST_F(LabelReaderTest, TheFilterSaysWhatTuplesMustBe) {
  Write(MakeLabelTuples(5, 1));
  const LabelData features = Read(train_only_, {.num_features = 9});
  EXPECT_EQ(features.excluded.at(ReasonText(kOtherFeatures) + ": 4"), 5u);
  const LabelData labels = Read(train_only_, {.num_labels = 9});
  EXPECT_EQ(labels.excluded.at(ReasonText(kOtherLabels)), 5u);
}

TEST_F(LabelReaderTest, EachReaderLeavesTheOtherKindOut) {
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(10, 1);
  for (const auto& tuple : MakeTuples({}, 7)) tuples.push_back(tuple);
  Write(tuples);
  const LabelData labels = Read(train_only_);
  EXPECT_EQ(labels.excluded.at(ReasonText(kOtherAction)), 7u);
  EXPECT_EQ(labels.train.size(), 10u);
  ASSERT_OK_AND_ASSIGN(const TupleData selections, ReadTuples(train_only_, {}));
  EXPECT_EQ(selections.excluded.at(ReasonText(kOtherAction)), 10u);
  EXPECT_EQ(selections.train.size(), 7u);
}

TEST_F(LabelReaderTest, AContextIsInOnePartWithAllItsReplays) {
  Write(MakeLabelTuples(2000, 3));
  const LabelData data = Read(options_);
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

TEST_F(LabelReaderTest, OtherVersionsTrainOnTrainingContextsOnly) {
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(400, 2);
  // The second replay belongs to another version.
  for (size_t i = 400; i < 800; ++i) {
    tuples[i].mutable_decision()->set_version(2);
  }
  Write(tuples);
  config::v1::TrainOptions options = options_;
  const LabelData data = Read(options, {.baseline_version = 2});
  const size_t held_out = data.excluded.at(ReasonText(kHeldOut));
  EXPECT_EQ(data.validation.size() + data.test.size(), held_out);
  EXPECT_EQ(data.train.size(), 800 - 2 * held_out);
  for (const auto* part : {&data.validation, &data.test}) {
    for (const double value : part->log_propensities) EXPECT_EQ(value, -2.25);
  }
  EXPECT_TRUE(data.evaluates_baseline);
  // There are none of version 3: with force, all evaluate, and the data say so.
  options.set_force(true);
  const LabelData forced = Read(options, {.baseline_version = 3});
  EXPECT_EQ(Kept(forced), 800u);
  EXPECT_FALSE(forced.evaluates_baseline);
}

TEST_F(LabelReaderTest, OverTheLimitKeepsWholeContextsWhateverTheOrder) {
  // 8 KB a context; 500 with 2 replays are 4 MB shared, 8 MB in the file.
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(500, 2);
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    decision->set_num_features(1000);
    decision->mutable_dense_values()->Resize(1000, 1.5);
  }
  WriteSegment(dir_.Sub("forward"), 0, tuples);
  std::reverse(tuples.begin(), tuples.end());
  WriteSegment(dir_.Sub("backward"), 0, tuples);
  config::v1::TrainOptions options = options_;
  options.set_tuples(dir_.Sub("forward"));
  options.set_memory_mb(2);
  const LabelData forward = Read(options);
  options.set_tuples(dir_.Sub("backward"));
  const LabelData backward = Read(options);
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

TEST_F(LabelReaderTest, WhatWouldBiasIsAnErrorWithTheDecision) {
  std::vector<log::v1::BanditTuple> tuples = MakeLabelTuples(3, 1);
  const auto read = [&](const std::string& name) {
    WriteSegment(dir_.Sub(name), 0, tuples);
    options_.set_tuples(dir_.Sub(name));
    return ReadLabelTuples(options_, {});
  };
  tuples[1].set_reward(1.5);
  EXPECT_THAT(read("reward"),
              IsInvalidArgument("'d-2-0' is 1.5, must be in [0, 1]"));
  tuples[1].set_reward(1);
  tuples[1].mutable_shown()->add_shown(2);
  tuples[1].mutable_shown()->add_shown(0);
  EXPECT_OK(read("same"));  // A set has no order.
  tuples[1].mutable_shown()->set_shown(0, 1);
  EXPECT_THAT(read("shown"),
              IsInvalidArgument("shown than decision 'd-2-0' chose"));
}

TEST_F(LabelReaderTest, ADamagedRecordCostsItselfOnly) {
  Write(MakeLabelTuples(50, 1));
  const auto names = ListSegments(dir_.Sub("t"));
  ASSERT_OK(names);
  std::fstream file(dir_.Sub("t") + "/" + (*names)[0],
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2000);
  file.put('\x55');
  file.put('\xaa');
  file.close();
  const LabelData data = Read(options_);
  EXPECT_EQ(data.damage.corrupt_records, 1u);
  EXPECT_EQ(Kept(data), 49u);
}

class ConvertTest : public testing::Test {
 protected:
  ConvertTest() {
    options_.set_data(dir_.Sub("data") + "/train.svm");
    options_.set_output(dir_.Sub("logs") + "/out");
    options_.set_model_store(dir_.Sub("models"));
    options_.set_fraction(0.2);
    options_.set_inverse_temperature(1.7);
    options_.set_replays(3);
    EXPECT_OK(WriteFile(options_.data(), MadeUpLabelData(300, 1)));
  }

  // Reads all that was written, as for training.
  LabelData ReadAll() const {
    config::v1::TrainOptions train;
    train.set_tuples(options_.output());
    train.set_test_fraction(0);
    train.set_validation_fraction(0);
    auto data = ReadLabelTuples(train, {.baseline_version = 1});
    EXPECT_OK(data);
    return data.value_or(LabelData());
  }

  StoredModel LoggingPolicy() const {
    auto stored = ModelStore(options_.model_store()).Load("default", 1);
    EXPECT_OK(stored);
    return stored.value_or(StoredModel());
  }

  std::vector<std::string> Entries(const std::string& dir) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TempDir dir_;
  config::v1::ConvertOptions options_;
};

using Row = std::vector<std::pair<uint32_t, float>>;

Row RowOf(const LabelContexts& contexts, size_t row) {
  Row features;
  for (uint64_t k = contexts.row_offsets[row];
       k < contexts.row_offsets[row + 1]; ++k) {
    features.push_back({contexts.columns[k], contexts.values[k]});
  }
  return features;
}

TEST_F(ConvertTest, ReadingGivesTheTuplesThatWereDrawnBitForBit) {
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  const model::v1::Model model = LoggingPolicy().model;
  ASSERT_OK_AND_ASSIGN(const MultilabelData raw,
                       ReadMultilabel(options_.data()));
  const LabelledContexts data =
      ToLabelledContexts(raw, {kLabelDataFeatures, kLabelDataLabels});
  const LabelTuples drawn =
      DrawTuples(data,
                 Eigen::Map<const Eigen::VectorXd>(model.weights().data(),
                                                   model.weights_size()),
                 {.inverse_temperature = 1.7, .replays = 3, .seed = 1});
  const LabelData read = ReadAll();
  EXPECT_THAT(read.excluded, IsEmpty());
  ASSERT_EQ(read.train.size(), 900u);
  EXPECT_EQ(report.tuples, 900u);
  EXPECT_EQ(read.train.log_propensities, drawn.log_propensities);
  EXPECT_EQ(read.train.losses, drawn.losses);
  EXPECT_EQ(read.train.labels, drawn.labels);
  std::set<Row> distinct;
  for (size_t i = 0; i < 900; ++i) {
    ASSERT_EQ(RowOf(read.contexts, read.train.contexts[i]),
              RowOf(data.contexts, drawn.contexts[i]));
    distinct.insert(RowOf(data.contexts, drawn.contexts[i]));
  }
  // Replays and equal lines share one context after reading, too.
  EXPECT_EQ(read.contexts.size(), distinct.size());
}

TEST_F(ConvertTest, ReadsFilesOfOtherToolsByOption) {
  std::string text = "0,1 0:1 1:inf\n";
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&text, i % 2, " 0:", i % 3, " 1:", i % 5, "\n");
  }
  ASSERT_OK(WriteFile(options_.data(), text));
  EXPECT_THAT(Convert(options_), IsInvalidArgument("first_feature = 0"));
  options_.mutable_label_files()->set_first_feature(0);
  EXPECT_THAT(Convert(options_), IsInvalidArgument("extreme_values = MISSING"));
  options_.mutable_label_files()->set_extreme_values(
      config::v1::LabelFileOptions::MISSING);
  options_.set_fraction(1);
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  EXPECT_EQ(report.num_features, 3u);  // With the intercept.
  EXPECT_EQ(report.extreme_values, 1u);
  EXPECT_THAT(FormatConvertReport(options_, report),
              testing::HasSubstr(
                  "1 value of the label files is no finite float and was "
                  "read as missing"));
}

// Returns log p = Σ_l log σ(±α w_l · x), in long double, from the records
// alone.
TEST_F(ConvertTest, PropensitiesAreThoseOfThePolicyThatTheTuplesName) {
  ASSERT_OK(Convert(options_));
  const model::v1::Model model = LoggingPolicy().model;
  ASSERT_EQ(model.num_features(), kLabelDataFeatures + 1);
  size_t dense = 0;
  size_t sparse = 0;
  ASSERT_OK_AND_ASSIGN(const TupleLog log,
                       TupleLog::Open(options_.output(), {}));
  TupleCounts counts;
  ASSERT_OK(ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) {
        const log::v1::Decision& decision = tuple.decision();
        EXPECT_EQ(decision.model(), "default");
        EXPECT_EQ(decision.version(), 1u);
        EXPECT_EQ(decision.policy().SerializeAsString(),
                  model.policy().SerializeAsString());
        ++(decision.has_sparse() ? sparse : dense);
        std::vector<long double> x(kLabelDataFeatures + 1);
        for (int k = 0; k < decision.sparse().columns_size(); ++k) {
          x[decision.sparse().columns(k)] = decision.sparse().values(k);
        }
        for (int j = 0; j < decision.dense_values_size(); ++j) {
          x[static_cast<size_t>(j)] = decision.dense_values(j);
        }
        EXPECT_EQ(x[kLabelDataFeatures], 1);
        long double log_probability = 0;
        for (int l = 0; l < static_cast<int>(kLabelDataLabels); ++l) {
          long double score = 0;
          for (size_t j = 0; j < x.size(); ++j) {
            score += x[j] *
                     model.weights(static_cast<int>(j * kLabelDataLabels) + l);
          }
          score *= model.policy().inverse_temperature();
          const bool chosen = std::count(decision.action().begin(),
                                         decision.action().end(), l) == 1;
          log_probability -= std::log1p(std::exp(chosen ? -score : score));
        }
        EXPECT_NEAR(decision.log_propensity(),
                    static_cast<double>(log_probability), 1e-12);
        return absl::OkStatus();
      },
      &counts));
  EXPECT_EQ(dense + sparse, 900u);
  EXPECT_GT(dense, 100u);
  EXPECT_GT(sparse, 100u);
}

TEST_F(ConvertTest, RewardIsTheShareOfTheRightLabels) {
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  ASSERT_OK_AND_ASSIGN(const MultilabelData raw,
                       ReadMultilabel(options_.data()));
  size_t i = 0;
  double wrong_labels = 0;
  ASSERT_OK_AND_ASSIGN(const TupleLog log,
                       TupleLog::Open(options_.output(), {}));
  TupleCounts counts;
  ASSERT_OK(ScanTuples(
      log,
      [&](const log::v1::BanditTuple& tuple) {
        std::set<uint32_t> wrong(raw.labels[i % 300].begin(),
                                 raw.labels[i % 300].end());
        for (const int32_t label : tuple.decision().action()) {
          if (wrong.erase(static_cast<uint32_t>(label)) == 0) {
            wrong.insert(static_cast<uint32_t>(label) + 100);
          }
        }
        EXPECT_EQ(tuple.reward(),
                  1 - static_cast<double>(wrong.size()) / kLabelDataLabels);
        EXPECT_FALSE(std::signbit(tuple.reward()));
        wrong_labels += static_cast<double>(wrong.size());
        ++i;
        return absl::OkStatus();
      },
      &counts));
  EXPECT_EQ(i, 900u);
  EXPECT_NEAR(report.mean_wrong_labels, wrong_labels / 900, 1e-12);
}

TEST_F(ConvertTest, ReportsWhatItDid) {
  options_.set_test(dir_.Sub("data") + "/test.svm");
  // A label and two features that do not occur in the training data.
  ASSERT_OK(WriteFile(options_.test(), "3 1:1 12:1\n0 2:1\n"));
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  EXPECT_EQ(report.contexts, 300u);
  EXPECT_EQ(report.num_features, 13u);
  EXPECT_EQ(report.num_labels, 4u);
  EXPECT_EQ(report.fitted_contexts, 60u);
  EXPECT_EQ(report.version, 1u);
  EXPECT_TRUE(report.published);
  ASSERT_TRUE(report.test.has_value());
  EXPECT_GT(report.test->expected, 0);
  const LabelData read = ReadAll();
  EXPECT_EQ(read.contexts.num_features, 13u);
  const auto [low, high] = std::minmax_element(
      read.train.log_propensities.begin(), read.train.log_propensities.end());
  EXPECT_EQ(report.log_propensities[0], *low);
  EXPECT_EQ(report.log_propensities[4], *high);
  const auto below_median = static_cast<size_t>(std::count_if(
      read.train.log_propensities.begin(), read.train.log_propensities.end(),
      [&](double p) { return p < report.log_propensities[2]; }));
  EXPECT_LE(below_median, 450u);
  EXPECT_EQ(LoggingPolicy().model.provenance().learner(), "labels");
  EXPECT_EQ(LoggingPolicy().model.provenance().num_tuples(), 60u);
}

TEST_F(ConvertTest, ASeedIsALog) {
  ASSERT_OK(Convert(options_));
  const LabelData first = ReadAll();
  options_.set_model_store("");
  options_.set_output(dir_.Sub("logs") + "/again");
  ASSERT_OK(Convert(options_));
  const LabelData again = ReadAll();
  EXPECT_EQ(first.train.labels, again.train.labels);
  EXPECT_EQ(first.train.log_propensities, again.train.log_propensities);
  options_.set_output(dir_.Sub("logs") + "/other");
  options_.set_seed(2);
  ASSERT_OK(Convert(options_));
  EXPECT_NE(first.train.labels, ReadAll().train.labels);
}

TEST_F(ConvertTest, WithoutInterceptAContextMayBeEmpty) {
  ASSERT_OK(WriteFile(options_.data(), "0\n1 2:1\n0,1\n"));
  options_.set_intercept(false);
  options_.set_fraction(1);
  ASSERT_OK(Convert(options_));
  const LabelData read = ReadAll();
  ASSERT_EQ(read.train.size(), 9u);
  EXPECT_EQ(read.contexts.size(), 2u);
  // Each label of an empty context has probability 1/2.
  EXPECT_DOUBLE_EQ(read.train.log_propensities[0], 2 * std::log(0.5));
}

TEST_F(ConvertTest, AFailedRunLeavesNothing) {
  ASSERT_OK(WriteFile(options_.data(), "0 1:1\n1 1:x\n"));
  EXPECT_THAT(Convert(options_), IsInvalidArgument("train.svm: line 2"));
  // Too many weights: 2^25.
  ASSERT_OK(WriteFile(options_.data(), "31 1048575:1\n"));
  EXPECT_THAT(Convert(options_), IsInvalidArgument("must be at most 16777216"));
  // 65537 labels and 65536 replays need more random numbers than there are.
  ASSERT_OK(WriteFile(options_.data(), "65536 1:1\n"));
  options_.set_replays(65536);
  EXPECT_THAT(Convert(options_),
              IsInvalidArgument("the random numbers of a seed"));
  EXPECT_THAT(Entries(dir_.Sub("logs")), IsEmpty());
  EXPECT_THAT(Entries(dir_.Sub("models")), IsEmpty());
}

TEST_F(ConvertTest, RefusesADirectoryWithSegmentsAndAModelWithAVersion) {
  ASSERT_OK(Convert(options_));
  EXPECT_THAT(Convert(options_), IsFailedPrecondition("has version 1 already"));
  options_.set_model_store("");
  options_.set_seed(2);
  const LabelData before = ReadAll();
  EXPECT_THAT(Convert(options_),
              IsFailedPrecondition("must be absent or empty"));
  EXPECT_EQ(ReadAll().train.labels, before.train.labels);
  options_.set_force(true);
  ASSERT_OK(Convert(options_));
  EXPECT_EQ(ReadAll().read_tuples, 900u);
  EXPECT_NE(ReadAll().train.labels, before.train.labels);
  EXPECT_THAT(Entries(dir_.Sub("logs")), ElementsAre("out"));
  // With force, the new version follows the others, and the tuples name it.
  options_.set_model_store(dir_.Sub("models"));
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  EXPECT_EQ(report.version, 2u);
  EXPECT_EQ(ReadAll().newest_version, 2u);
}

TEST_F(ConvertTest, TheCommandPrintsASummary) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer({"convert", "--data=" + options_.data(),
                        "--output=" + options_.output(), "--test",
                        options_.data(), "--replays=2"}),
            kExitOk);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              HasTexts("300 contexts, 11 features with the intercept, 3 labels",
                       "600 tuples in 1 segments", "wrong labels expected",
                       "propensity 0 %"));
  CaptureLog();
  EXPECT_EQ(RunTrainer({"convert", "--data=" + options_.data(),
                        "--output=" + options_.output(), "--fraction=0"}),
            kExitUsage);
  EXPECT_THAT(CapturedLog(), HasSubstr("permitted range is (0, 1]"));
}

// Reads the multi-label SVMlight file SORTITION_MULTILABEL, such as the paper's
// Scene or Yeast.
using RealLabelsTest = ConvertTest;

TEST_F(RealLabelsTest, AreConverted) {
  const char* path = std::getenv("SORTITION_MULTILABEL");
  if (path == nullptr) {
    GTEST_SKIP() << "skipped: SORTITION_MULTILABEL is unset; "
                    "SORTITION_MULTILABEL=FILE ./dev test --long";
  }
  options_.set_data(path);
  options_.set_test(path);
  ASSERT_OK_AND_ASSIGN(const ConvertReport report, Convert(options_));
  const LabelData read = ReadAll();
  EXPECT_THAT(read.excluded, IsEmpty());
  EXPECT_EQ(read.train.size(), 3 * report.contexts);
  EXPECT_LE(read.contexts.size(), report.contexts);
  // The mean of 3 n draws, each in [0, q], within 5 of the largest possible
  // standard errors.
  EXPECT_NEAR(report.mean_wrong_labels, report.test->expected,
              5 * report.num_labels / 2.0 /
                  std::sqrt(static_cast<double>(report.tuples)));
}

}  // namespace
}  // namespace sortition
