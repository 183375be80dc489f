#include "core/data/candidates.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/data/joint_features.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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
  ASSERT_OK_AND_ASSIGN(const auto candidates, Candidates::Dense(values, 3));
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
  ASSERT_OK_AND_ASSIGN(const auto candidates,
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
              IsInvalidArgument("num_features is 0, must be at least 1"));
  EXPECT_THAT(Candidates::Dense(Floats{}, 3),
              IsInvalidArgument("features has 0 values"));
  EXPECT_THAT(
      Candidates::Dense(Floats{1, 2, 3, 4}, 3),
      IsInvalidArgument("features has 4 values, must be a positive multiple of "
                        "num_features = 3"));
  Floats values(20, 1);
  values[17] = kNan;
  EXPECT_THAT(
      Candidates::Dense(values, 5),
      IsInvalidArgument("features (row 3, column 2) is nan, must be finite"));
  values[17] = -kInfinity;
  EXPECT_THAT(Candidates::Dense(values, 5),
              IsInvalidArgument("is -inf, must be finite"));
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
          IsInvalidArgument(absl::StrCat("(row 0, column ", i, ") is")));
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
              IsInvalidArgument("num_features is 0"));
  EXPECT_THAT(status({0}, {}, {}, 5),
              IsInvalidArgument("row_offsets has 1 entries"));
  EXPECT_THAT(status({}, {}, {}, 5),
              IsInvalidArgument("row_offsets has 0 entries"));
  EXPECT_THAT(status({1, 1}, {0}, {1}, 5),
              IsInvalidArgument("row_offsets[0] is 1, must be 0"));
  EXPECT_THAT(status({0, 2, 1}, {0}, {1}, 5),
              IsInvalidArgument("row_offsets[2] is 1, must be at least 2"));
  EXPECT_THAT(status({0, 2}, {0}, {1}, 5),
              IsInvalidArgument("row_offsets[1] is 2, must be 1"));
  EXPECT_THAT(status({0, 1}, {0}, {1, 2}, 5),
              IsInvalidArgument("features has 2 values, must have 1"));
  EXPECT_THAT(status({0, 1}, {5}, {1}, 5),
              IsInvalidArgument("columns[0] (row 0) is 5, must be below "
                                "num_features = 5"));
  EXPECT_THAT(status({0, 1, 3}, {4, 2, 2}, {1, 2, 3}, 5),
              IsInvalidArgument("columns[2] (row 1) is 2, must be above 2"));
  EXPECT_THAT(
      status({0, 1, 3}, {4, 1, 2}, {1, 2, kInfinity}, 5),
      IsInvalidArgument("features (row 1, column 2) is inf, must be finite"));
}

// The bits of a score belong to what is logged: dense, sparse, one row or all
// of them, wherever the row stands in memory.
TEST(CandidatesTest, ScoresAreTheSameBitsInEveryForm) {
  for (uint32_t d = 1; d <= 35; ++d) {
    const Matrix matrix(5, d);
    ASSERT_OK_AND_ASSIGN(const auto dense, Candidates::Dense(matrix.dense, d));
    ASSERT_OK_AND_ASSIGN(const auto sparse,
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

using Floats = std::vector<float>;

// A request must hold such candidates.
void ExpectGood(const JointFeatures& joint) {
  EXPECT_OK(Candidates::Sparse(joint.row_offsets, joint.columns, joint.values,
                               joint.num_features));
}

// x = (2, 0, -3) of 2 classes: rows (2, 0, -3, 0, 0, 0) and
// (0, 0, 0, 2, 0, -3). With w_0 = (1, 5, 1), w_1 = (0, 7, -2) the scores are
// 2 - 3 = -1 and 0 + 6 = 6.
TEST(MultiVectorTest, PutsTheItemInTheBlockOfItsClass) {
  ASSERT_OK_AND_ASSIGN(const JointFeatures joint,
                       MultiVectorFeatures(Floats{2, 0, -3}, 2));
  ExpectGood(joint);
  EXPECT_EQ(joint.num_features, 6);
  EXPECT_THAT(joint.row_offsets, ElementsAre(0, 2, 4));
  EXPECT_THAT(joint.columns, ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(joint.values, ElementsAre(2, -3, 2, -3));
  const std::vector<double> weights = {1, 5, 1, 0, 7, -2};
  EXPECT_EQ(joint.View().num_candidates(), 2);
  EXPECT_EQ(joint.View().Score(0, weights), -1);
  EXPECT_EQ(joint.View().Score(1, weights), 6);
}

TEST(MultiVectorTest, AnItemOfZerosHasEmptyRows) {
  ASSERT_OK_AND_ASSIGN(const JointFeatures joint,
                       MultiVectorFeatures(Floats{0}, 3));
  ExpectGood(joint);
  EXPECT_THAT(joint.row_offsets, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(joint.View().num_candidates(), 3);
}

TEST(MultiVectorTest, NamesWhatIsWrong) {
  EXPECT_THAT(
      MultiVectorFeatures(Floats{1}, 0),
      IsInvalidArgument("num_classes is 0, must be within [1, 2147483647]"));
  EXPECT_THAT(MultiVectorFeatures(Floats{}, 2),
              IsInvalidArgument("num_features is 0"));
  EXPECT_THAT(MultiVectorFeatures(Floats{1, NAN}, 2),
              IsInvalidArgument("column 1) is nan"));
  EXPECT_THAT(
      MultiVectorFeatures(Floats{0, 0, 0}, 2'000'000'000),
      IsInvalidArgument("num_features of all classes are 6000000000, must be "
                        "at most 4294967295"));
}

// Four documents over three words: counts (2, 1, 0) of class 0, (1, 0, 0) of
// class 0, (0, 1, 0) of class 1, (1, 0, 0) of class 2; m = 4. Word 0 is held by
// documents 0, 1 and 3: n_00 = 1 (document 3), n_01 = 3, n_02 = 2. Word 1 by
// 0 and 2: n_10 = 1, n_11 = 1, n_12 = 2. Word 2 by none: 1/2 for all.
struct Documents {
  Floats counts = {2, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0};
  std::vector<uint32_t> classes = {0, 0, 1, 2};
  TfIdf Fitted() const {
    return TfIdf::Fit(Candidates::DenseUnchecked(counts, 3), classes, 3)
        .value();
  }
};

TEST(LabelTfIdfTest, CountsDocumentsOfOtherClasses) {
  const Documents documents;
  const TfIdf map = documents.Fitted();
  EXPECT_EQ(map.num_features(), 3);
  EXPECT_EQ(map.num_classes(), 3);
  const double expected[3][3] = {
      {std::log(4.0), std::log(4.0 / 3), std::log(2.0)},
      {std::log(4.0), std::log(4.0), std::log(2.0)},
      {std::log(8.0), std::log(8.0), std::log(8.0)}};
  for (uint32_t word = 0; word < 3; ++word) {
    for (uint32_t label = 0; label < 3; ++label) {
      EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(word, label),
                       expected[word][label]);
    }
  }
}

// Term frequency 3 of word 0 and 1 of word 2: the rows are
// (3 log 4, ., log 8), (3 log 4/3, ., log 8), (3 log 2, ., log 8).
TEST(LabelTfIdfTest, MultipliesByTermFrequency) {
  const Documents documents;
  const TfIdf map = documents.Fitted();
  ASSERT_OK_AND_ASSIGN(const JointFeatures joint, map.Map(Floats{3, 0, 1}));
  ExpectGood(joint);
  EXPECT_EQ(joint.num_features, 3);
  EXPECT_THAT(joint.row_offsets, ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(joint.columns, ElementsAre(0, 2, 0, 2, 0, 2));
  const double others[] = {std::log(4.0), std::log(4.0 / 3), std::log(2.0)};
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_FLOAT_EQ(joint.values[2 * j], static_cast<float>(3 * others[j]));
    EXPECT_FLOAT_EQ(joint.values[2 * j + 1], static_cast<float>(std::log(8.0)));
  }
  // The word of class 0 is evidence for class 0; an unseen word is evidence for
  // none.
  const Candidates candidates = joint.View();
  const std::vector<double> ones = {1, 1, 1};
  EXPECT_GT(candidates.Score(0, ones), candidates.Score(1, ones));
  EXPECT_NEAR(candidates.Score(0, ones) - candidates.Score(1, ones),
              3 * std::log(3.0), 1e-6);
}

// A word that occurs in every document except those of the class, n = m, has
// weight 0 and no place in the row. A word that occurs only in the class counts
// as half a document: log(2 m).
TEST(LabelTfIdfTest, CountsOfNoneAndAll) {
  const Floats counts = {1, 0, 0, 1, 0, 1};
  const std::vector<uint32_t> classes = {0, 1, 1};
  ASSERT_OK_AND_ASSIGN(
      const auto map,
      TfIdf::Fit(Candidates::DenseUnchecked(counts, 2), classes, 3));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(0, 0), std::log(6.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(0, 1), std::log(3.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(1, 1), std::log(6.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(1, 0), std::log(1.5));
  const Floats same = {1, 2};
  ASSERT_OK_AND_ASSIGN(const auto all,
                       TfIdf::Fit(Candidates::DenseUnchecked(same, 1),
                                  std::vector<uint32_t>{1, 1}, 2));
  EXPECT_EQ(all.InverseDocumentFrequency(0, 0), 0);
  ASSERT_OK_AND_ASSIGN(const JointFeatures joint, all.Map(Floats{5}));
  EXPECT_THAT(joint.row_offsets, ElementsAre(0, 0, 1));
  EXPECT_FLOAT_EQ(joint.values[0], static_cast<float>(5 * std::log(4.0)));
}

// Explicit zeros count as little as missing ones.
TEST(LabelTfIdfTest, SparseDocumentsAreAsDenseOnes) {
  const Documents documents;
  const std::vector<uint32_t> row_offsets = {0, 3, 4, 5, 6};
  const std::vector<uint32_t> columns = {0, 1, 2, 0, 1, 0};
  const Floats values = {2, 1, 0, 1, 1, 1};
  ASSERT_OK_AND_ASSIGN(const auto sparse,
                       Candidates::Sparse(row_offsets, columns, values, 3));
  const TfIdf a = documents.Fitted();
  ASSERT_OK_AND_ASSIGN(const auto b, TfIdf::Fit(sparse, documents.classes, 3));
  for (uint32_t word = 0; word < 3; ++word) {
    for (uint32_t label = 0; label < 3; ++label) {
      EXPECT_EQ(a.InverseDocumentFrequency(word, label),
                b.InverseDocumentFrequency(word, label));
    }
  }
}

TEST(LabelTfIdfTest, NamesWhatIsWrong) {
  const Documents documents;
  const auto fit = [](const Floats& counts, std::vector<uint32_t> classes,
                      uint32_t num_classes) {
    return TfIdf::Fit(Candidates::DenseUnchecked(counts, 3), classes,
                      num_classes);
  };
  EXPECT_THAT(fit(documents.counts, {0, 1, 2}, 3),
              IsInvalidArgument("3 classes, must be 4, one per"));
  EXPECT_THAT(TfIdf::Fit({}, {}, 3), IsInvalidArgument("not 0"));
  EXPECT_THAT(
      fit(documents.counts, documents.classes, 2),
      IsInvalidArgument("classes[3] is 2, must be below num_classes = 2"));
  EXPECT_THAT(
      fit({1, 1, 1, 0, -1, 0}, {0, 1}, 2),
      IsInvalidArgument("word 1 in document 1 is -1, must be within [0, "));
  const TfIdf map = documents.Fitted();
  EXPECT_THAT(map.Map(Floats{1, 1}),
              IsInvalidArgument("2 word counts, must be 3"));
  EXPECT_THAT(map.Map(Floats{1, NAN, 1}), IsInvalidArgument("count of word 1"));
  EXPECT_THAT(map.Map(Floats{1, 1e35F, 1}),
              IsInvalidArgument("count of word 1"));
}

}  // namespace
}  // namespace sortition
