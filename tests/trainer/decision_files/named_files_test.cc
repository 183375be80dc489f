#include "trainer/decision_files/named_files.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

google::protobuf::RepeatedPtrField<std::string> Entries(
    std::initializer_list<std::string> entries) {
  return {entries.begin(), entries.end()};
}

TEST(NamedFilesTest, TheFileMayHaveAnyName) {
  ASSERT_OK_AND_ASSIGN(
      const auto files,
      ParseNamedFiles("rewards", Entries({"sales=a=b:c.csv", "x=-, y=z"})));
  ASSERT_THAT(files, SizeIs(3));
  EXPECT_EQ(files[2].name, "y");
  EXPECT_EQ(files[0].name, "sales");
  EXPECT_EQ(files[0].path, "a=b:c.csv");
  EXPECT_EQ(files[1].path, "-");
}

TEST(NamedFilesTest, RefusesEntriesWithoutNameOrFile) {
  for (const std::string entry : {"clicks.csv", "=a.csv", "a=", "a b=c", ""}) {
    EXPECT_THAT(
        ParseNamedFiles("rewards", Entries({entry})),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("rewards has '" + entry + "', must be NAME=FILE")));
  }
  EXPECT_THAT(ParseNamedFiles("rewards", Entries({"a=1", "a=2"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be the only one of its name")));
}

TEST(NamedFilesTest, LimitsAreOfKnownRewards) {
  const std::vector<NamedFile> rewards = {{"complaints", "c.csv"}};
  ASSERT_OK_AND_ASSIGN(
      const auto limits,
      ParseLimits("guardrails", Entries({"complaints:0.01"}), rewards));
  ASSERT_THAT(limits, SizeIs(1));
  EXPECT_EQ(limits[0].name, "complaints");
  EXPECT_EQ(limits[0].allowed, 0.01);
  for (const std::string entry :
       {"complaints", "complaints:-1", "complaints:x", "complaints:nan"}) {
    EXPECT_THAT(ParseLimits("guardrails", Entries({entry}), rewards),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("must be NAME:ALLOWED with a number")));
  }
  EXPECT_THAT(ParseLimits("guardrails", Entries({"sales:0"}), rewards),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be of one of the rewards: complaints")));
}

}  // namespace
}  // namespace sortition
