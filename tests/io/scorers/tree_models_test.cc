#include "io/scorers/tree_models.h"

#include <filesystem>
#include <string>

#include "io/files.h"
#include "tests/io/scorers/tree_model_texts.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TreeModelsTest, RecognisesFormats) {
  EXPECT_OK(ParseTreeModel(XgboostJson()));
  EXPECT_OK(ParseTreeModel(
      Replaced(XgboostJson(), "{\"learner\"", "{ \n \"learner\"")));
  EXPECT_OK(ParseTreeModel(LightGbmText()));
  for (const char* other : {"", "binf", "# comment", "tree"}) {
    EXPECT_THAT(ParseTreeModel(other),
                StatusIs(kInvalidArgument,
                         HasSubstr("must be a model that XGBoost saved as JSON "
                                   "or UBJSON")));
  }
}

TEST(TreeModelsTest, ErrorsNameTheFile) {
  const TempDir dir;
  const std::string path = dir / "model.txt";
  ASSERT_OK(WriteFile(path, LightGbmText()));
  EXPECT_OK(ReadTreeModel(path));
  ASSERT_OK(WriteFile(path, Replaced(LightGbmText(), "num_class=1", "x=1")));
  EXPECT_THAT(
      ReadTreeModel(path),
      StatusIs(kInvalidArgument, AllOf(StartsWith(path + ": byte 0"),
                                       HasSubstr("num_class is absent"))));
  EXPECT_THAT(ReadTreeModel(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(TreeModelsTest, RefusesLargeFilesUnread) {
  const TempDir dir;
  const std::string path = dir / "model.json";
  ASSERT_OK(WriteFile(path, "{"));
  std::filesystem::resize_file(path, (size_t{128} << 20) + 1);
  EXPECT_THAT(
      ReadTreeModel(path),
      StatusIs(kInvalidArgument, HasSubstr("the file has 134217729 bytes, must "
                                           "have at most 134217728")));
}

}  // namespace
}  // namespace sortition
