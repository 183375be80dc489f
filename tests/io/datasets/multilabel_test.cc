#include "io/datasets/multilabel.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().message)));
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
        BadCase{"0 0:1", "column 3: '0:1' must be <feature>:<value>"},
        BadCase{"0 1:nan", "must be a finite float"}));

TEST(MultilabelTest, AFileThatCannotBeReadIsNamed) {
  const TempDir dir;
  const std::string path = dir.path() + "/bad.svm";
  ASSERT_OK(WriteFile(path, "x 1:1\n"));
  EXPECT_THAT(ReadMultilabel(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path)));
  EXPECT_FALSE(ReadMultilabel(dir.path() + "/absent").ok());
}

}  // namespace
}  // namespace sortition
