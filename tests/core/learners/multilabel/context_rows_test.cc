#include "core/learners/multilabel/context_rows.h"

#include <vector>

#include "Eigen/Core"
#include "core/base/random.h"
#include "core/learners/multilabel/context_rows_kernels.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

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
  if (!internal::HasAvx2()) GTEST_SKIP() << "no AVX2 here";
  constexpr size_t kStride = 48;
  constexpr uint32_t kLabels = 6;
  struct alignas(64) {
    float rows[5][kStride];
    double by_label[2][kLabels * kStride];
    double scores[2][5 * kLabels];
    double factors[5 * kLabels];
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
  for (size_t i = 0; i < kLabels * kStride; ++i) {
    data.by_label[0][i] = data.by_label[1][i] = random.Normal();
  }
  internal::ContextRowsTask tasks[2];
  for (int k = 0; k < 2; ++k) {
    tasks[k] = {rows,           kStride,          kLabels, data.factors,
                data.scores[k], data.by_label[k], 8,       40};
  }
  internal::ScoreRowsPortable(tasks[0], {0, kLabels});
  internal::ScoreRowsAvx2(tasks[1], {0, kLabels});
  for (size_t i = 0; i < 5 * kLabels; ++i) {
    EXPECT_NEAR(data.scores[0][i], data.scores[1][i], 1e-13);
  }
  internal::SumRowsPortable(tasks[0], {0, kLabels});
  internal::SumRowsAvx2(tasks[1], {0, kLabels});
  for (size_t i = 0; i < kLabels * kStride; ++i) {
    EXPECT_NEAR(data.by_label[0][i], data.by_label[1][i], 1e-13);
  }
}
#endif

}  // namespace
}  // namespace sortition
