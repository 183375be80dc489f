#include <cstddef>
#include <vector>

#include "Eigen/Core"
#include "core/base/random.h"
#include "core/learners/multilabel/context_rows.h"
#include "core/learners/multilabel/context_rows_kernels.h"
#include "core/learners/multilabel/sparse_rows.h"
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

using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix RandomMatrix(Eigen::Index rows, Eigen::Index columns, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Matrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<float>(random.Normal());
  }
  return matrix;
}

std::span<double> Span(Matrix* matrix) {
  return {matrix->data(), static_cast<size_t>(matrix->size())};
}

ContextRows MakeRows(const Matrix& x) {
  ContextRows rows(static_cast<size_t>(x.rows()),
                   static_cast<uint32_t>(x.cols()));
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    for (Eigen::Index j = 0; j < x.cols(); ++j) {
      rows.Set(static_cast<size_t>(i), static_cast<uint32_t>(j),
               static_cast<float>(x(i, j)));
    }
  }
  return rows;
}

// Runs parts in descending order, to show that the order does not matter.
void BackwardFor(size_t count, const std::function<void(size_t)>& body) {
  for (size_t i = count; i > 0; --i) body(i - 1);
}

// Every size of a block of labels, odd numbers of rows, features that do not
// fill vectors, and more rows than one block.
TEST(ContextRowsTest, ProductsAreThoseOfMatrices) {
  for (const int p : {1, 7, 8, 45}) {
    for (const int q : {1, 2, 3, 4, 5, 6, 7, 14}) {
      const Matrix x = RandomMatrix(150, p, 1);
      const Matrix w = RandomMatrix(p, q, 2);
      ContextRows dense = MakeRows(x);
      std::vector<uint32_t> rows;
      RandomSequence random(SeedKey(3));
      for (int r = 0; r < 301; ++r) {
        rows.push_back(static_cast<uint32_t>(random.Below(150)));
      }
      Matrix gathered(301, p);
      for (int r = 0; r < 301; ++r) gathered.row(r) = x.row(rows[r]);
      Matrix weights = w;
      dense.SetWeights(static_cast<uint32_t>(q), Span(&weights));
      Matrix scores(301, q);
      dense.Multiply(rows, Span(&scores));
      EXPECT_LT((scores - gathered * w).cwiseAbs().maxCoeff(), 1e-13)
          << p << " features, " << q << " labels";
      Matrix factors = RandomMatrix(301, q, 4);
      factors.row(5).setZero();
      Matrix gradient = RandomMatrix(p, q, 5);
      const Matrix expected = gradient + gathered.transpose() * factors;
      dense.AddTransposedProduct(rows, static_cast<uint32_t>(q), Span(&factors),
                                 SerialFor, Span(&gradient));
      EXPECT_LT((gradient - expected).cwiseAbs().maxCoeff(), 1e-12)
          << p << " features, " << q << " labels";
    }
  }
}

TEST(ContextRowsTest, NoRowsGiveNothing) {
  ContextRows dense = MakeRows(RandomMatrix(3, 5, 1));
  Matrix gradient = Matrix::Ones(5, 2);
  dense.SetWeights(2, Span(&gradient));
  dense.Multiply({}, {});
  dense.AddTransposedProduct({}, 2, {}, SerialFor, Span(&gradient));
  EXPECT_EQ(gradient, Matrix(Matrix::Ones(5, 2)));
}

TEST(ContextRowsTest, BitsDoNotDependOnTheOrderOfTheParts) {
  // Enough rows that the features are divided among threads.
  const Matrix x = RandomMatrix(5000, 45, 1);
  ContextRows dense = MakeRows(x);
  std::vector<uint32_t> rows(5000);
  for (uint32_t r = 0; r < 5000; ++r) rows[r] = 4999 - r;
  Matrix factors = RandomMatrix(5000, 3, 2);
  Matrix a = Matrix::Zero(45, 3);
  Matrix b = a;
  dense.AddTransposedProduct(rows, 3, Span(&factors), SerialFor, Span(&a));
  dense.AddTransposedProduct(rows, 3, Span(&factors), BackwardFor, Span(&b));
  EXPECT_EQ(a, b);
}

#if defined(__x86_64__)
TEST(ContextRowsTest, WideKernelsAgreeWithThePortable) {
  if (!internal::HasAvx2())
    GTEST_SKIP() << "skipped: no AVX2; another processor";
  constexpr size_t kStride = 48;
  constexpr uint32_t kNumLabels = 6;
  struct alignas(64) {
    float rows[5][kStride];
    double by_label[2][kNumLabels * kStride];
    double scores[2][5 * kNumLabels];
    double factors[5 * kNumLabels];
  } data;
  RandomSequence random(SeedKey(1));
  const float* rows[5];
  for (int r = 0; r < 5; ++r) {
    rows[r] = data.rows[r];
    for (float& value : data.rows[r]) {
      value = static_cast<float>(random.Normal());
    }
  }
  for (double& factor : data.factors) factor = random.Normal();
  for (size_t i = 0; i < kNumLabels * kStride; ++i) {
    data.by_label[0][i] = data.by_label[1][i] = random.Normal();
  }
  internal::ContextRowsTask tasks[2];
  for (int k = 0; k < 2; ++k) {
    tasks[k] = {rows,           kStride,          kNumLabels, data.factors,
                data.scores[k], data.by_label[k], 8,          40};
  }
  internal::ScoreRowsPortable(tasks[0], {0, kNumLabels});
  internal::ScoreRowsAvx2(tasks[1], {0, kNumLabels});
  for (size_t i = 0; i < 5 * kNumLabels; ++i) {
    EXPECT_NEAR(data.scores[0][i], data.scores[1][i], 1e-13);
  }
  internal::SumRowsPortable(tasks[0], {0, kNumLabels});
  internal::SumRowsAvx2(tasks[1], {0, kNumLabels});
  for (size_t i = 0; i < kNumLabels * kStride; ++i) {
    EXPECT_NEAR(data.by_label[0][i], data.by_label[1][i], 1e-13);
  }
}
#endif

}  // namespace
}  // namespace sortition
