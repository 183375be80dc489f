#include "server/identity/tokens.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/identity/token_hashes.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(TokensTest, FindsTheOwnerOfAToken) {
  ASSERT_OK_AND_ASSIGN(
      const TokenTable table,
      TokenTable::Parse(absl::StrCat("# a comment\n\n  decide,admin\tfront ",
                                     kHashOfAbc, " 2030-01-02\r\nfeedback x ",
                                     absl::AsciiStrToUpper(kHashOfNothing)),
                        "f"));
  EXPECT_EQ(table.size(), 2u);
  const Caller* const front = table.Find("abc");
  ASSERT_NE(front, nullptr);
  EXPECT_EQ(front->name, "front");
  EXPECT_EQ(front->roles, 5u);
  EXPECT_EQ(front->until_time_s, 1893542400);  // date -ud 2030-01-02 +%s
  const Caller* const empty = table.Find("");
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->roles, 2u);
  EXPECT_EQ(empty->until_time_s, 0);
  for (const char* stranger : {"abcd", "ab", "ABC", kHashOfAbc}) {
    EXPECT_EQ(table.Find(stranger), nullptr) << stranger;
  }
}

TEST(TokensTest, ReadsTimesOfDay) {
  ASSERT_OK_AND_ASSIGN(
      const TokenTable table,
      TokenTable::Parse(
          absl::StrCat("admin x ", kHashOfAbc, " 2030-01-02T00:00:01Z"), "f"));
  EXPECT_EQ(table.Find("abc")->until_time_s, 1893542401);
}

TEST(TokensTest, ErrorsNameFileLineAndValue) {
  const auto error = [](const std::string& line) {
    const auto table = TokenTable::Parse(absl::StrCat("#\n", line, "\n"), "f");
    EXPECT_EQ(table.status().code(), StatusCode::kInvalidArgument) << line;
    const std::string message(table.status().message());
    EXPECT_THAT(message, HasSubstr("token_file = \"f\", line 2: ")) << line;
    return message;
  };
  EXPECT_THAT(error("decide x"), HasSubstr("has 2 words"));
  EXPECT_THAT(error(absl::StrCat("decide x ", kHashOfAbc, " 2030-01-01 y")),
              HasSubstr("has 5 words"));
  EXPECT_THAT(error(absl::StrCat("decide,root x ", kHashOfAbc)),
              AllOf(HasSubstr("a role of 4 characters"), HasSubstr("admin")));
  EXPECT_THAT(error(absl::StrCat("decide x ", kHashOfAbc, " tomorrow")),
              HasSubstr("the end of its time has 8 characters"));
}

// Somebody may have written the token itself, at any place.
TEST(TokensTest, ErrorsDoNotRepeatWhatMayBeASecret) {
  for (const std::string& line :
       {std::string("decide x s3cret"), absl::StrCat("s3cret x ", kHashOfAbc),
        absl::StrCat("decide,s3cret x ", kHashOfAbc),
        std::string("decide s3cret h"),
        absl::StrCat("decide x ", kHashOfAbc, " s3cret"), std::string("s3cret"),
        absl::StrCat("decide s3cret ", kHashOfAbc, " x")}) {
    const absl::Status status = TokenTable::Parse(line, "f").status();
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("line 1: "), Not(HasSubstr("s3cret"))))
        << line;
  }
}

TEST(TokensTest, ATokenHasOneOwner) {
  EXPECT_THAT(
      TokenTable::Parse(
          absl::StrCat("decide x ", kHashOfAbc, "\nadmin y ", kHashOfAbc), "f")
          .status(),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("line 2: an earlier line has the same token")));
}

}  // namespace
}  // namespace sortition
