#include "core/data/candidates.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Floats = std::vector<float>;
using Indexes = std::vector<uint32_t>;

// A random matrix, a third of it zero, dense and sparse.
struct Matrix {
  Matrix(uint32_t num_rows, uint32_t num_features) {
    RandomSequence random(SeedKey(num_rows * 1000 + num_features));
    row_offsets.push_back(0);
    for (uint32_t i = 0; i < num_rows; ++i) {
      for (uint32_t j = 0; j < num_features; ++j) {
        const float value = random.Uniform() < 1.0 / 3
                                ? 0
                                : static_cast<float>(100 * random.Normal());
        dense.push_back(value);
        if (value == 0) continue;
        columns.push_back(j);
        values.push_back(value);
      }
      row_offsets.push_back(static_cast<uint32_t>(columns.size()));
    }
    for (uint32_t j = 0; j < num_features; ++j) {
      weights.push_back(random.Normal());
    }
  }
  Floats dense;
  Indexes row_offsets;
  Indexes columns;
  Floats values;
  std::vector<double> weights;
};

TEST(CandidatesTest, DenseIsAView) {
  const Floats values = {1, 2, 3, 4, 5, 6};
  ASSERT_OK_AND_ASSIGN(const Candidates candidates,
                       Candidates::Dense(values, 3));
  EXPECT_EQ(candidates.num_candidates(), 2u);
  EXPECT_EQ(candidates.num_features(), 3u);
  EXPECT_FALSE(candidates.sparse());
  EXPECT_EQ(candidates.values().data(), values.data());
  // 4·1 + 5·10 + 6·100.
  EXPECT_EQ(candidates.Score(1, std::vector<double>{1, 10, 100}), 654);
}

TEST(CandidatesTest, SparseMayHaveEmptyRows) {
  const Indexes offsets = {0, 0, 2};
  const Indexes columns = {0, 9};
  const Floats values = {2, 3};
  ASSERT_OK_AND_ASSIGN(const Candidates candidates,
                       Candidates::Sparse(offsets, columns, values, 10));
  EXPECT_EQ(candidates.num_candidates(), 2u);
  EXPECT_TRUE(candidates.sparse());
  std::vector<double> weights(10, 1);
  weights[9] = 10;
  EXPECT_EQ(candidates.Score(0, weights), 0);
  EXPECT_EQ(candidates.Score(1, weights), 32);
}

TEST(CandidatesTest, DenseNamesWhatIsWrong) {
  EXPECT_THAT(Candidates::Dense(Floats{1}, 0),
              IsInvalid("num_features is 0, must be at least 1"));
  EXPECT_THAT(Candidates::Dense(Floats{}, 3),
              IsInvalid(HasSubstr("features has 0 values")));
  EXPECT_THAT(Candidates::Dense(Floats{1, 2, 3, 4}, 3),
              IsInvalid("features has 4 values, must be a positive multiple of "
                        "num_features = 3"));
  Floats values(20, 1);
  values[17] = kNan;
  EXPECT_THAT(Candidates::Dense(values, 5),
              IsInvalid("features (row 3, column 2) is nan, must be finite"));
  values[17] = -kInfinity;
  EXPECT_THAT(Candidates::Dense(values, 5),
              IsInvalid(HasSubstr("is -inf, must be finite")));
}

// The check takes several values at once, with some left over.
TEST(CandidatesTest, FindsWhatIsNotFiniteAtEveryPlace) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (size_t i = 0; i < 37; ++i) {
      Floats values(37, std::numeric_limits<float>::max());
      EXPECT_OK(Candidates::Dense(values, 37));
      values[i] = bad;
      EXPECT_THAT(
          Candidates::Dense(values, 37),
          IsInvalid(HasSubstr(absl::StrCat("(row 0, column ", i, ") is"))));
    }
  }
}

TEST(CandidatesTest, SparseNamesWhatIsWrong) {
  const auto status = [](const Indexes& offsets, const Indexes& columns,
                         const Floats& values, uint32_t num_features) {
    return Candidates::Sparse(offsets, columns, values, num_features).status();
  };
  EXPECT_OK(status({0, 1, 3}, {4, 0, 4}, {1, 2, 3}, 5));
  EXPECT_THAT(status({0, 1}, {0}, {1}, 0),
              IsInvalid(HasSubstr("num_features is 0")));
  EXPECT_THAT(status({0}, {}, {}, 5),
              IsInvalid(HasSubstr("row_offsets has 1 entries")));
  EXPECT_THAT(status({}, {}, {}, 5),
              IsInvalid(HasSubstr("row_offsets has 0 entries")));
  EXPECT_THAT(status({1, 1}, {0}, {1}, 5),
              IsInvalid("row_offsets[0] is 1, must be 0"));
  EXPECT_THAT(status({0, 2, 1}, {0}, {1}, 5),
              IsInvalid(HasSubstr("row_offsets[2] is 1, must be at "
                                  "least 2")));
  EXPECT_THAT(status({0, 2}, {0}, {1}, 5),
              IsInvalid(HasSubstr("row_offsets[1] is 2, must be 1")));
  EXPECT_THAT(status({0, 1}, {0}, {1, 2}, 5),
              IsInvalid(HasSubstr("features has 2 values, must have "
                                  "1")));
  EXPECT_THAT(status({0, 1}, {5}, {1}, 5),
              IsInvalid("columns[0] (row 0) is 5, must be below "
                        "num_features = 5"));
  EXPECT_THAT(status({0, 1, 3}, {4, 2, 2}, {1, 2, 3}, 5),
              IsInvalid(HasSubstr("columns[2] (row 1) is 2, must be "
                                  "above 2")));
  EXPECT_THAT(status({0, 1, 3}, {4, 1, 2}, {1, 2, kInfinity}, 5),
              IsInvalid("features (row 1, column 2) is inf, must be finite"));
}

// The bits of a score belong to what is logged: dense, sparse, one row or all
// of them, wherever the row stands in memory.
TEST(CandidatesTest, ScoresAreTheSameBitsInEveryForm) {
  for (uint32_t d = 1; d <= 35; ++d) {
    const Matrix matrix(5, d);
    ASSERT_OK_AND_ASSIGN(const Candidates dense,
                         Candidates::Dense(matrix.dense, d));
    ASSERT_OK_AND_ASSIGN(const Candidates sparse,
                         Candidates::Sparse(matrix.row_offsets, matrix.columns,
                                            matrix.values, d));
    Indexes rows(5);
    std::iota(rows.begin(), rows.end(), 0u);
    std::vector<double> scores(5);
    dense.Scores(rows, matrix.weights, scores);
    std::vector<double> sparse_scores(5);
    sparse.Scores(rows, matrix.weights, sparse_scores);
    for (uint32_t i = 0; i < 5; ++i) {
      EXPECT_EQ(dense.Score(i, matrix.weights), scores[i]) << d;
      EXPECT_EQ(sparse.Score(i, matrix.weights), scores[i]) << d;
      EXPECT_EQ(sparse_scores[i], scores[i]) << d;
      // Row i alone, as the last row of its matrix and at another alignment.
      Floats moved(i + d);
      std::copy_n(matrix.dense.begin() + i * d, d, moved.begin() + i);
      const Candidates alone = Candidates::DenseUnchecked(
          std::span<const float>(moved).subspan(i), d);
      EXPECT_EQ(alone.Score(0, matrix.weights), scores[i]) << d;
    }
  }
}

// Eight lanes, added (0+4)+(2+6) and (1+5)+(3+7): large numbers that would
// swallow small ones in sequence. Lanes 0 and 4 hold 1e16 and -1e16, the rest 1
// each: the sum is 6 in this order, and 2 from left to right.
TEST(CandidatesTest, SumsInTheDocumentedOrder) {
  const Floats values = {1, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<double> weights = {1e16, 1, 1, 1, -1e16, 1, 1, 1};
  EXPECT_EQ(Candidates::DenseUnchecked(values, 8).Score(0, weights), 6);
}

// Exactly sized heap memory: an address sanitizer sees a read past its end.
TEST(CandidatesTest, ReadsNothingPastTheLastRow) {
  for (uint32_t d = 1; d <= 17; ++d) {
    const auto values = std::make_unique<float[]>(d);
    std::fill_n(values.get(), d, 1.0f);
    const Candidates candidates =
        Candidates::DenseUnchecked({values.get(), d}, d);
    EXPECT_EQ(candidates.Score(0, std::vector<double>(d, 1)), d);
  }
}

TEST(CandidatesTest, AddRowAddsScaledFeatures) {
  const Matrix matrix(4, 11);
  const Candidates dense = Candidates::DenseUnchecked(matrix.dense, 11);
  const Candidates sparse = Candidates::SparseUnchecked(
      matrix.row_offsets, matrix.columns, matrix.values, 11);
  std::vector<double> from_dense(11, 1);
  std::vector<double> from_sparse(11, 1);
  dense.AddRow(2, -0.5, from_dense);
  sparse.AddRow(2, -0.5, from_sparse);
  for (size_t j = 0; j < 11; ++j) {
    EXPECT_EQ(from_dense[j],
              1 - 0.5 * static_cast<double>(matrix.dense[22 + j]));
  }
  EXPECT_EQ(from_dense, from_sparse);
}

}  // namespace
}  // namespace sortition
