#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/datasets/letor.h"
#include "io/datasets/multilabel.h"
#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(LetorTest, ReadsDenseRowsByQuery) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                       ParseLetor("# a comment\n"
                                  "2 qid:10 1:0.5 3:-1e2 # docid = 7\n"
                                  "\n"
                                  "0\tqid:x  2:+3 \r\n"
                                  "31 qid:10"));
  EXPECT_EQ(data.num_features, 3u);
  ASSERT_THAT(data.queries, SizeIs(2));
  EXPECT_EQ(data.queries[0].id, "10");
  EXPECT_THAT(data.queries[0].relevances, ElementsAre(2u, 31u));
  EXPECT_THAT(data.queries[0].features,
              ElementsAre(0.5f, 0.0f, -100.0f, 0.0f, 0.0f, 0.0f));
  EXPECT_THAT(data.queries[0].file_rows, ElementsAre(0u, 2u));
  EXPECT_EQ(data.queries[1].id, "x");
  EXPECT_THAT(data.queries[1].relevances, ElementsAre(0u));
  EXPECT_THAT(data.queries[1].file_rows, ElementsAre(1u));
  EXPECT_THAT(data.queries[1].features, ElementsAre(0.0f, 3.0f, 0.0f));
}

TEST(LetorTest, FormatIsTheInverse) {
  // Some values need nine digits; the last feature is 0 everywhere.
  ASSERT_OK_AND_ASSIGN(
      const LabelledQueries data,
      ParseLetor("1 qid:b 1:0.1 2:16777217 4:0\n0 qid:b 2:1.17549435e-38\n"
                 "3 qid:a 1:-3.40282347e38\n"));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries again,
                       ParseLetor(FormatLetor(data)));
  EXPECT_EQ(again.num_features, 4u);
  ASSERT_EQ(again.queries.size(), data.queries.size());
  for (size_t i = 0; i < data.queries.size(); ++i) {
    EXPECT_EQ(again.queries[i].id, data.queries[i].id);
    EXPECT_EQ(again.queries[i].relevances, data.queries[i].relevances);
    EXPECT_EQ(again.queries[i].features, data.queries[i].features);
  }
}

struct BadLine {
  std::string name;
  std::string line;
  std::string place;
  std::string what;
};

class LetorErrorTest : public testing::TestWithParam<BadLine> {};

TEST_P(LetorErrorTest, NamesLineColumnAndValue) {
  EXPECT_THAT(
      ParseLetor(absl::StrCat("1 qid:1 1:1\n\n", GetParam().line)),
      IsInvalidArgument("line 3, " + GetParam().place + ":", GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    All, LetorErrorTest,
    testing::Values(
        BadLine{"NoNumber", "x qid:1 1:1", "column 1", "'x' is not a number"},
        BadLine{"Negative", "-1 qid:1 1:1", "column 1", "in [0, 31]"},
        BadLine{"TooRelevant", "32 qid:1 1:1", "column 1", "label is 32"},
        BadLine{"Fraction", "0.5 qid:1 1:1", "column 1", "label is 0.5"},
        BadLine{"NanLabel", "nan qid:1 1:1", "column 1", "label is nan"},
        BadLine{"NoQuery", "1 1:1", "column 3", "must be qid:"},
        BadLine{"EmptyQuery", "1 qid: 1:1", "column 3", "must be qid:"},
        BadLine{"OnlyLabel", "1", "column 2", "must be qid:"},
        BadLine{"NoColon", "1 qid:1 7", "column 9", "'7' must be"},
        BadLine{"FeatureZero", "1 qid:1 0:1", "column 9",
                "[1, 100000000]; read files whose features start at 0 with "
                "first_feature = 0"},
        BadLine{"FeatureHuge", "1 qid:1 100000001:1", "column 9", "[1, "},
        BadLine{"FeatureWord", "1 qid:1 a:1", "column 9", "'a:1' must be"},
        BadLine{"Descending", "1 qid:1 2:1 1:1", "column 13", "above 2"},
        BadLine{"Twice", "1 qid:1 2:1 2:1", "column 13", "above 2"},
        BadLine{"NoValue", "1 qid:1 2:", "column 9", "'' is not a number"},
        BadLine{"Tail", "1 qid:1 2:1x", "column 9", "'1x' is not a number"},
        BadLine{"Nan", "1 qid:1 2:nan", "column 9", "finite"},
        BadLine{"Infinite", "1 qid:1 2:-inf", "column 9", "finite"},
        BadLine{"BeyondFloat", "1 qid:1 2:1e39", "column 9", "finite"},
        BadLine{"BeyondDouble", "1 qid:1 2:1e999", "column 9", "is inf"},
        BadLine{"Istella", "1 qid:1 2:1.7976931348623157e308", "column 9",
                "value of feature 2 is 1.79769e+308, must be a finite float; "
                "extreme_values = MISSING, CUT or ZERO reads such values"}),
    [](const auto& test) { return test.param.name; });

// Rows of three features, 1 to 3 or 0 to 2.
TEST(LetorTest, FirstFeatureMayBeZero) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries from_one,
                       ParseLetor("1 qid:a 1:5 3:7\n0 qid:a 2:6\n"));
  ASSERT_OK_AND_ASSIGN(
      const LabelledQueries from_zero,
      ParseLetor("1 qid:a 0:5 2:7\n0 qid:a 1:6\n", {.first_feature = 0}));
  EXPECT_EQ(from_zero.num_features, 3u);
  EXPECT_EQ(from_zero.queries[0].features, from_one.queries[0].features);
  EXPECT_THAT(ParseLetor("1 qid:a 1:5 0:7\n", {.first_feature = 0}),
              IsInvalidArgument("feature 0 must be above 1"));
}

TEST(LetorTest, SkipsAByteOrderMark) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data, ParseLetor("\xef\xbb\xbf"
                                                              "1 qid:a 1:5\n"));
  EXPECT_THAT(data.queries[0].relevances, ElementsAre(1u));
}

TEST(LetorTest, NumbersTooSmallForADoubleAreZero) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                       ParseLetor("1 qid:a 1:1e-999 2:-1e-50\n"));
  EXPECT_THAT(data.queries[0].features, ElementsAre(0.0f, -0.0f));
}

// A zero that a line states is not an absent feature.
TEST(LetorTest, KnowsWhichFeaturesLinesState) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                       ParseLetor("1 qid:a 1:0 3:7\n0 qid:a 1:1 2:2 3:3\n"
                                  "0 qid:b 1:1 2:2 3:3\n"));
  EXPECT_EQ(data.absent_values, 1u);
  ASSERT_NE(data.queries[0].stated, nullptr);
  const StatedFeatures& stated = *data.queries[0].stated;
  EXPECT_TRUE(stated.Has(0, 0));
  EXPECT_FALSE(stated.Has(0, 1));
  EXPECT_TRUE(stated.Has(0, 2));
  EXPECT_TRUE(stated.Has(1, 1));
  EXPECT_FALSE(stated.Has(1, 3));  // Beyond the features of the file.
  ASSERT_NE(data.queries[1].stated, nullptr);
  EXPECT_TRUE(data.queries[1].stated->Has(0, 1));
  EXPECT_FALSE(data.queries[1].stated->Has(0, 3));
}

constexpr char kExtremes[] =
    "1 qid:a 1:1.7976931348623157e308 2:-1.797e+308 3:nan 4:inf 5:-1e39 6:8\n";

TEST(LetorTest, ExtremeValuesAreWhatTheOptionSays) {
  constexpr float kLargest = 3.40282347e38f;
  struct Case {
    ExtremeValues option;
    std::vector<float> features;
    std::vector<bool> stated;
  };
  const Case cases[] = {
      {ExtremeValues::kMissing,
       {0, 0, 0, 0, 0, 8},
       {false, false, false, false, false, true}},
      {ExtremeValues::kCut,
       {kLargest, -kLargest, 0, kLargest, -kLargest, 8},
       {true, true, false, true, true, true}},
      {ExtremeValues::kZero,
       {0, 0, 0, 0, 0, 8},
       {true, true, true, true, true, true}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(static_cast<int>(test.option));
    ASSERT_OK_AND_ASSIGN(
        const LabelledQueries data,
        ParseLetor(kExtremes, {.extreme_values = test.option}));
    EXPECT_EQ(data.extreme_values, 5u);
    EXPECT_EQ(data.num_features, 6u);
    EXPECT_EQ(data.queries[0].features, test.features);
    for (uint32_t j = 0; j < 6; ++j) {
      EXPECT_EQ(data.queries[0].stated->Has(0, j), test.stated[j]) << j;
    }
  }
}

TEST(LetorTest, RefusesAFileWithoutData) {
  for (const char* text : {"", "\n\n", "# only a comment\n"}) {
    EXPECT_THAT(ParseLetor(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           "there is no query"));
  }
  EXPECT_THAT(
      ParseLetor("1 qid:1\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, "no line has a feature"));
}

TEST(LetorTest, OneFeatureNumberDoesNotEatAllMemory) {
  // 11 rows of 1e8 values each are more than 2^30.
  std::string text = "1 qid:1 100000000:1\n";
  for (int i = 0; i < 10; ++i) text += "0 qid:1 1:1\n";
  EXPECT_THAT(ParseLetor(text),
              IsInvalidArgument("11 candidates with 100000000 features"));
}

TEST(LetorTest, ReadNamesTheFile) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a.txt", "1 qid:1 1:2\n"));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data, ReadLetor(dir / "a.txt"));
  EXPECT_EQ(data.num_features, 1u);
  ASSERT_OK(WriteFile(dir / "a.txt", "1 qid:1 1:2\n1 qid:1 y\n"));
  EXPECT_THAT(ReadLetor(dir / "a.txt"),
              IsInvalidArgument(dir / "a.txt: line 2, column 9"));
  EXPECT_THAT(ReadLetor(dir / "b.txt"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(MultilabelTest, ReadsSparseRowsWithTheirLabels) {
  ASSERT_OK_AND_ASSIGN(const MultilabelData data,
                       ParseMultilabel("# a comment\n"
                                       "4,0 1:0.5 7:-2\n"
                                       "2:1 # no label\r\n"
                                       "\n"
                                       "  3:0.25\n"
                                       "2"));
  EXPECT_EQ(data.num_features, 7u);
  EXPECT_EQ(data.num_labels, 5u);
  ASSERT_EQ(data.size(), 4u);
  EXPECT_THAT(data.row_offsets, ElementsAre(0u, 2u, 3u, 4u, 4u));
  EXPECT_THAT(data.columns, ElementsAre(0u, 6u, 1u, 2u));
  EXPECT_THAT(data.values, ElementsAre(0.5f, -2.0f, 1.0f, 0.25f));
  EXPECT_THAT(data.labels[0], ElementsAre(0u, 4u));
  EXPECT_THAT(data.labels[1], IsEmpty());
  EXPECT_THAT(data.labels[2], IsEmpty());
  EXPECT_THAT(data.labels[3], ElementsAre(2u));
}

struct BadCase {
  const char* text;
  const char* message;
};

class BadMultilabelTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadMultilabelTest, NamesLineAndColumn) {
  EXPECT_THAT(ParseMultilabel(GetParam().text),
              IsInvalidArgument(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMultilabelTest,
    testing::Values(
        BadCase{"", "there is no row"}, BadCase{"1", "no line has a feature"},
        BadCase{"1:1", "no line has a label"},
        BadCase{"0 1:1\n1,x 1:1",
                "line 2, column 1: label 'x' is not a number"},
        BadCase{"0,,1 1:1", "label '' is not a number"},
        BadCase{"-1 1:1", "label is -1, must be an integer in [0, 1000000]"},
        BadCase{"0.5 1:1", "label is 0.5"},
        BadCase{"3,1,3 1:1", "label 3 occurs twice"},
        BadCase{"0 2:1 1:1", "line 1, column 7: feature 1 must be above 2"},
        BadCase{"0 0:1",
                "column 3: '0:1' must be <feature>:<value> with a feature "
                "number in [1, 100000000]; read files whose features start at "
                "0 with first_feature = 0"},
        BadCase{"0 1:nan", "must be a finite float"}));

TEST(MultilabelTest, ReadsOtherFirstFeaturesAndExtremeValues) {
  ASSERT_OK_AND_ASSIGN(
      const MultilabelData data,
      ParseMultilabel(
          "\xef\xbb\xbf"
          "0 0:1 1:1.797e308 2:3\n",
          {.first_feature = 0, .extreme_values = ExtremeValues::kMissing}));
  EXPECT_EQ(data.num_features, 3u);
  EXPECT_THAT(data.columns, ElementsAre(0u, 2u));
  EXPECT_THAT(data.values, ElementsAre(1.0f, 3.0f));
  EXPECT_EQ(data.extreme_values, 1u);
}

TEST(MultilabelTest, AFileThatCannotBeReadIsNamed) {
  const TempDir dir;
  const std::string path = dir.path() + "/bad.svm";
  ASSERT_OK(WriteFile(path, "x 1:1\n"));
  EXPECT_THAT(ReadMultilabel(path), IsInvalidArgument(path));
  EXPECT_FALSE(ReadMultilabel(dir.path() + "/absent").ok());
}

}  // namespace
}  // namespace sortition
