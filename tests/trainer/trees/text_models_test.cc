// Models that XGBoost trains from label files by its own text reader, imported
// by `train` and compared with the margins that XGBoost itself gives the file.
#include <xgboost/c_api.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

constexpr int kFeatures = 6;

class TextModelsTest : public testing::Test {
 protected:
  // Writes queries of ten lines whose features start at `first`. A third of the
  // values is absent; absent features are relevant.
  void WriteData(int first) {
    RandomSequence random(SeedKey(11));
    std::string text;
    for (int i = 0; i < 800; ++i) {
      std::string features;
      int relevance = 0;
      for (int j = 0; j < kFeatures; ++j) {
        const double value = 2 * random.Uniform() - 1;
        if (j + 1 < kFeatures && random.Uniform() < 0.35) {
          relevance += j < 2 ? 1 : 0;
          continue;
        }
        relevance += j < 2 && value > 0.3 ? 1 : 0;
        absl::StrAppendFormat(&features, " %d:%.9g", first + j, value);
      }
      absl::StrAppend(&text, relevance, " qid:", i / 10, features, "\n");
    }
    path_ = dir_ / absl::StrCat("from", first, ".letor");
    ASSERT_OK(WriteFile(path_, text));
  }

  // Trains trees from the file, saves them, and writes their margins.
  void TrainByXgboost(const char* format) {
    DMatrixHandle matrix = nullptr;
    ASSERT_EQ(
        XGDMatrixCreateFromFile((path_ + "?format=libsvm").c_str(), 1, &matrix),
        0)
        << XGBGetLastError();
    BoosterHandle booster = nullptr;
    ASSERT_EQ(XGBoosterCreate(&matrix, 1, &booster), 0);
    for (const auto& [name, value] :
         {std::pair("objective", "rank:pairwise"), std::pair("nthread", "1"),
          std::pair("max_depth", "4")}) {
      ASSERT_EQ(XGBoosterSetParam(booster, name, value), 0);
    }
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(XGBoosterUpdateOneIter(booster, round, matrix), 0);
    }
    trees_ = dir_ / absl::StrCat("model.", format);
    ASSERT_EQ(XGBoosterSaveModel(booster, trees_.c_str()), 0);
    bst_ulong size = 0;
    const float* margins = nullptr;
    constexpr int kMargins = 1;
    ASSERT_EQ(
        XGBoosterPredict(booster, matrix, kMargins, 0, 0, &size, &margins), 0);
    std::string text;
    for (bst_ulong i = 0; i < size; ++i) {
      absl::StrAppendFormat(&text, "%.9g\n", margins[i]);
    }
    scores_ = dir_ / "margins.txt";
    ASSERT_OK(WriteFile(scores_, text));
    XGBoosterFree(booster);
    XGDMatrixFree(matrix);
  }

  TrainOptions Options(uint32_t first) {
    TrainOptions options;
    options.set_learner("ranksvm");
    options.set_model_store(dir_ / "models");
    options.add_data(path_);
    options.mutable_label_files()->set_first_feature(first);
    options.set_trees(trees_);
    options.set_check_scores(scores_);
    options.set_force(true);
    return options;
  }

  TempDir dir_;
  std::string path_;
  std::string trees_;
  std::string scores_;
};

TEST_F(TextModelsTest, FilesFromOneAndFromZeroAreRecognised) {
  for (const int first : {0, 1}) {
    for (const char* format : {"json", "ubj"}) {
      SCOPED_TRACE(absl::StrCat(first, " ", format));
      WriteData(first);
      TrainByXgboost(format);
      const auto report =
          sortition::Train(Options(static_cast<uint32_t>(first)));
      ASSERT_OK(report);
      const auto stored =
          ModelStore(dir_ / "models").Load("default", report->version());
      ASSERT_OK(stored);
      EXPECT_EQ(stored->model.trees().skipped_columns(),
                static_cast<uint32_t>(first));
      EXPECT_EQ(stored->model.num_features(), uint32_t{kFeatures});
    }
  }
}

// Whatever is forced wrongly is found.
TEST_F(TextModelsTest, WrongOptionsAreNamedAsTheCause) {
  WriteData(1);
  TrainByXgboost("json");
  TrainOptions options = Options(1);
  options.set_trees_absent(TrainOptions::ZERO);
  EXPECT_THAT(sortition::Train(options),
              IsInvalidArgument("give trees_absent = MISSING"));
  options.clear_trees_absent();
  options.set_trees_first_column(0);
  EXPECT_THAT(sortition::Train(options),
              IsInvalidArgument("give trees_first_column = 1"));
}

}  // namespace
}  // namespace sortition
