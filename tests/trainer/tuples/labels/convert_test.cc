#include "trainer/tuples/labels/convert.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/learners/multilabel/label_conversion.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/datasets/multilabel.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/segments/segment.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/label_data.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/tuples/labels/label_reader.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

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
  EXPECT_THAT(Convert(options_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("train.svm: line 2")));
  // Too many weights: 2^25.
  ASSERT_OK(WriteFile(options_.data(), "31 1048575:1\n"));
  EXPECT_THAT(Convert(options_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be at most 16777216")));
  // 65537 labels and 65536 replays need more random numbers than there are.
  ASSERT_OK(WriteFile(options_.data(), "65536 1:1\n"));
  options_.set_replays(65536);
  EXPECT_THAT(Convert(options_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the random numbers of a seed")));
  EXPECT_THAT(Entries(dir_.Sub("logs")), IsEmpty());
  EXPECT_THAT(Entries(dir_.Sub("models")), IsEmpty());
}

TEST_F(ConvertTest, RefusesADirectoryWithSegmentsAndAModelWithAVersion) {
  ASSERT_OK(Convert(options_));
  EXPECT_THAT(Convert(options_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has version 1 already")));
  options_.set_model_store("");
  options_.set_seed(2);
  const LabelData before = ReadAll();
  EXPECT_THAT(Convert(options_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("must be absent or empty")));
  EXPECT_EQ(ReadAll().train.labels, before.train.labels);
  options_.set_force(true);
  ASSERT_OK(Convert(options_));
  EXPECT_EQ(ReadAll().read_tuples, 900u);
  EXPECT_NE(ReadAll().train.labels, before.train.labels);
  EXPECT_THAT(Entries(dir_.Sub("logs")), testing::ElementsAre("out"));
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
  EXPECT_THAT(
      testing::internal::GetCapturedStdout(),
      AllOf(HasSubstr("300 contexts, 11 features with the intercept, 3 labels"),
            HasSubstr("600 tuples in 1 segments"),
            HasSubstr("wrong labels expected"), HasSubstr("propensity 0 %")));
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunTrainer({"convert", "--data=" + options_.data(),
                        "--output=" + options_.output(), "--fraction=0"}),
            kExitUsage);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("permitted range is (0, 1]"));
}

// Reads a file named by SORTITION_MULTILABEL, such as the paper's Scene or
// Yeast.
TEST_F(ConvertTest, ConvertsRealData) {
  const char* path = std::getenv("SORTITION_MULTILABEL");
  if (path == nullptr) {
    GTEST_SKIP() << "SORTITION_MULTILABEL names no multi-label SVMlight file";
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
