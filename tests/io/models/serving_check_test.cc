// What a state of serving may say.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "io/models/serving_state.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::Serving;
using testing::ElementsAre;
using testing::HasSubstr;

Serving Parse(const std::string& text) {
  Serving serving;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &serving));
  return serving;
}

TEST(ValidateServingTest, NamesFieldValueAndRange) {
  const std::string salt = "salt: '0123456789abcdef0123456789abcdef'";
  const std::string arm = "arms { version: 2 ranges { begin: 0 end: 10 } } ";
  const std::string both =
      "interleave { version: 2 method: TEAM_DRAFT parts: 10 " + salt + " } ";
  const std::vector<std::pair<std::string, std::vector<const char*>>> cases = {
      {"labels { name: '.x' version: 1 }", {"labels.name", "\".x\""}},
      {"labels { name: 'a/b' version: 1 }", {"labels.name", "\"a/b\""}},
      {"labels { name: 'a' version: 1 } labels { name: 'a' version: 2 }",
       {"labels.name", "once"}},
      {"labels { name: 'a' }", {"labels.version = 0"}},
      {"split { arms { version: 2 } " + salt + " }",
       {"split.arms.ranges", "at least one"}},
      {"split { arms { version: 2 ranges { begin: 5 end: 5 } } " + salt + " }",
       {"[5, 5)", "10000"}},
      {"split { arms { version: 2 ranges { begin: 0 end: 10001 } } " + salt +
           " }",
       {"10001", "10000"}},
      {"split { " + arm + arm + salt + " }", {"split.arms.version = 2"}},
      {"split { " + arm + "arms { version: 3 ranges { begin: 9 end: 20 } } " +
           salt + " }",
       {"place 9", "two arms"}},
      {"split { " + arm + " }", {"split.salt", "32"}},
      {"split { " + arm + " salt: 'xyz' }", {"split.salt has 3", "32"}},
      {"shadows { version: 3 }", {"shadows of version 3", "every = 0"}},
      {"shadows { every: 1 }", {"shadows.version = 0"}},
      {"shadows { version: 3 every: 1 } shadows { version: 3 every: 2 }",
       {"shadows of version 3", "once"}},
      {"mode: 9", {"mode = 9", "ONLINE"}},
      {"mode: EXPLORE_ABOVE_BASELINE", {"explore_parts = 0", "[1, 10000]"}},
      {"mode: EXPLORE_ABOVE_BASELINE explore_parts: 10001",
       {"explore_parts = 10001"}},
      {"mode: ONLINE explore_parts: 1", {"explore_parts = 1", "unset"}},
      {"mode: OFF split { " + arm + salt + " }", {"mode = OFF", "no split"}},
      {"mode: SHADOW split { " + arm + salt + " }", {"mode = SHADOW"}},
      {"interleave { method: TEAM_DRAFT parts: 1 " + salt + " }",
       {"interleave.version = 0"}},
      {"interleave { version: 2 parts: 1 " + salt + " }",
       {"interleave.method = 0", "TEAM_DRAFT"}},
      {"interleave { version: 2 method: TEAM_DRAFT " + salt + " }",
       {"interleave.parts = 0", "[1, 10000]"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 10001 " + salt + " }",
       {"interleave.parts = 10001"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 1 }",
       {"interleave.salt is empty", "32"}},
      {"interleave { version: 2 method: TEAM_DRAFT parts: 1 salt: 'xyz' }",
       {"interleave.salt has 3", "32"}},
      {both + "pinned_version: 2",
       {"interleave beside pinned_version = 2", "itself"}},
      {both + "split { " + arm + salt + " }",
       {"interleave beside split.arms", "models interleave none"}},
      {both + "mode: APPRENTICE",
       {"interleave beside mode = APPRENTICE", "must be ONLINE"}},
      {both + "mode: EXPLORE_ABOVE_BASELINE explore_parts: 3",
       {"interleave beside mode = EXPLORE_ABOVE_BASELINE"}},
      {"protected_versions: 0", {"protected_versions = 0"}},
      {"reason: '\\377'", {"reason", "UTF-8"}},
      {"caller: '\\300'", {"caller", "UTF-8"}},
      {"change: 18446744073709551615", {"change = 18446744073709551615"}},
  };
  for (const auto& [text, words] : cases) {
    const absl::Status status = ValidateServing(Parse(text));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    for (const char* word : words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word)) << text;
    }
  }
}

TEST(ValidateServingTest, TakesEverythingAtOnce) {
  EXPECT_OK(ValidateServing(Serving()));
  const std::string all = R"(
      pinned_version: 7
      labels { name: 'stable' version: 7 } labels { name: 'x' version: 8 }
      split { arms { version: 8 ranges { begin: 0 end: 5000 } }
              arms { version: 9 ranges { begin: 5000 end: 10000 } }
              salt: '0123456789abcdef0123456789abcdef' }
      shadows { version: 6 every: 1 }
      mode: EXPLORE_ABOVE_BASELINE explore_parts: 10000
      protected_versions: 3)";
  EXPECT_OK(ValidateServing(Parse(all)));
  EXPECT_THAT(NamedVersions(Parse(all)), ElementsAre(6, 7, 8, 9));
  const std::string both = R"(
      pinned_version: 7
      interleave { version: 8 method: PROBABILISTIC parts: 10000
                   salt: '0123456789abcdef0123456789abcdef' }
      labels { name: 'x' version: 8 } shadows { version: 6 every: 1 })";
  EXPECT_OK(ValidateServing(Parse(both)));
  EXPECT_THAT(NamedVersions(Parse(both)), ElementsAre(6, 7, 8));
}

}  // namespace
}  // namespace sortition
