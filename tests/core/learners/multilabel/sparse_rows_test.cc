#include "core/learners/multilabel/sparse_rows.h"

#include <cstddef>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// Blocks of 32, 8, 4 and 1 labels.
constexpr uint32_t kManyLabels = 45;
constexpr uint32_t kManyFeatures = 30;
constexpr size_t kContexts = 9;

class SparseRowsTest : public testing::Test {
 protected:
  SparseRowsTest() : random_(SeedKey(1)) {
    contexts_.num_features = kManyFeatures;
    contexts_.num_labels = kManyLabels;
    for (size_t row = 0; row < kContexts; ++row) {
      for (uint32_t j = 0; j < kManyFeatures; ++j) {
        if (row == 4 || random_.Uniform() < 0.7) continue;  // 4 is empty.
        contexts_.columns.push_back(j);
        contexts_.values.push_back(static_cast<float>(random_.Normal()));
      }
      contexts_.row_offsets.push_back(contexts_.values.size());
    }
  }
  std::vector<double> Normals(size_t size) {
    std::vector<double> values(size);
    for (double& value : values) value = random_.Normal();
    return values;
  }

  RandomSequence random_;
  LabelContexts contexts_;
  const std::vector<uint32_t> rows_ = {7, 0, 4, 8, 2};
};

// Wide vectors perform the operations of one label after the other: equal bits.
TEST_F(SparseRowsTest, ScoresHaveTheBitsOfOneLabelAtATime) {
  const std::vector<double> weights = Normals(kManyFeatures * kManyLabels);
  std::vector<double> scores(rows_.size() * kManyLabels, -1);
  ScoreSparseRows(contexts_, rows_, weights.data(), scores.data());
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (uint32_t l = 0; l < kManyLabels; ++l) {
      double sum = 0;
      for (uint64_t k = contexts_.row_offsets[rows_[r]];
           k < contexts_.row_offsets[rows_[r] + 1]; ++k) {
        sum += static_cast<double>(contexts_.values[k]) *
               weights[contexts_.columns[k] * kManyLabels + l];
      }
      EXPECT_EQ(scores[r * kManyLabels + l], sum) << r << " " << l;
    }
  }
}

TEST_F(SparseRowsTest, GradientsHaveTheBitsOfOneLabelAtATime) {
  const std::vector<double> factors = Normals(rows_.size() * kManyLabels);
  std::vector<double> gradient = Normals(kManyFeatures * kManyLabels);
  std::vector<double> expected = gradient;
  AddSparseRows(contexts_, rows_, factors.data(), gradient.data());
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (uint64_t k = contexts_.row_offsets[rows_[r]];
         k < contexts_.row_offsets[rows_[r] + 1]; ++k) {
      for (uint32_t l = 0; l < kManyLabels; ++l) {
        expected[contexts_.columns[k] * kManyLabels + l] +=
            static_cast<double>(contexts_.values[k]) *
            factors[r * kManyLabels + l];
      }
    }
  }
  EXPECT_EQ(gradient, expected);
}

}  // namespace
}  // namespace sortition
