#include "core/data/joint_features.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_THAT(MultiVectorFeatures(Floats{1}, 0),
              IsInvalid(HasSubstr("num_classes is 0, must be within [1, "
                                  "2147483647]")));
  EXPECT_THAT(MultiVectorFeatures(Floats{}, 2),
              IsInvalid(HasSubstr("num_features is 0")));
  EXPECT_THAT(MultiVectorFeatures(Floats{1, NAN}, 2),
              IsInvalid(HasSubstr("column 1) is nan")));
  EXPECT_THAT(MultiVectorFeatures(Floats{0, 0, 0}, 2'000'000'000),
              IsInvalid(HasSubstr("num_features of all classes are "
                                  "6000000000, must be at most "
                                  "4294967295")));
}

// Four documents over three words: counts (2, 1, 0) of class 0, (1, 0, 0) of
// class 0, (0, 1, 0) of class 1, (1, 0, 0) of class 2; m = 4. Word 0 is held by
// documents 0, 1 and 3: n_00 = 1 (document 3), n_01 = 3, n_02 = 2. Word 1 by
// 0 and 2: n_10 = 1, n_11 = 1, n_12 = 2. Word 2 by none: 1/2 for all.
struct Documents {
  Floats counts = {2, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0};
  std::vector<uint32_t> classes = {0, 0, 1, 2};
  Candidates view() const { return Candidates::DenseUnchecked(counts, 3); }
};

TEST(LabelTfIdfTest, CountsDocumentsOfOtherClasses) {
  const Documents documents;
  ASSERT_OK_AND_ASSIGN(const TfIdf map,
                       TfIdf::Fit(documents.view(), documents.classes, 3));
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
  ASSERT_OK_AND_ASSIGN(const TfIdf map,
                       TfIdf::Fit(documents.view(), documents.classes, 3));
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
      const TfIdf map,
      TfIdf::Fit(Candidates::DenseUnchecked(counts, 2), classes, 3));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(0, 0), std::log(6.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(0, 1), std::log(3.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(1, 1), std::log(6.0));
  EXPECT_DOUBLE_EQ(map.InverseDocumentFrequency(1, 0), std::log(1.5));
  const Floats same = {1, 2};
  ASSERT_OK_AND_ASSIGN(const TfIdf all,
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
  ASSERT_OK_AND_ASSIGN(const Candidates sparse,
                       Candidates::Sparse(row_offsets, columns, values, 3));
  ASSERT_OK_AND_ASSIGN(const TfIdf a,
                       TfIdf::Fit(documents.view(), documents.classes, 3));
  ASSERT_OK_AND_ASSIGN(const TfIdf b, TfIdf::Fit(sparse, documents.classes, 3));
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
              IsInvalid(HasSubstr("3 classes, must be 4, one per")));
  EXPECT_THAT(TfIdf::Fit({}, {}, 3), IsInvalid(HasSubstr("not 0")));
  EXPECT_THAT(fit(documents.counts, documents.classes, 2),
              IsInvalid(HasSubstr("classes[3] is 2, must be below "
                                  "num_classes = 2")));
  EXPECT_THAT(fit({1, 1, 1, 0, -1, 0}, {0, 1}, 2),
              IsInvalid(HasSubstr("word 1 in document 1 is -1, must "
                                  "be within [0, ")));
  ASSERT_OK_AND_ASSIGN(const TfIdf map,
                       TfIdf::Fit(documents.view(), documents.classes, 3));
  EXPECT_THAT(map.Map(Floats{1, 1}),
              IsInvalid(HasSubstr("2 word counts, must be 3")));
  EXPECT_THAT(map.Map(Floats{1, NAN, 1}),
              IsInvalid(HasSubstr("count of word 1")));
  EXPECT_THAT(map.Map(Floats{1, 1e35F, 1}),
              IsInvalid(HasSubstr("count of word 1")));
}

}  // namespace
}  // namespace sortition
