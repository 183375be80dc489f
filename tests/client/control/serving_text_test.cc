#include "client/control/serving_text.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

model::v1::Serving Parse(const std::string& text) {
  model::v1::Serving serving;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &serving));
  return serving;
}

TEST(ServingTextTest, SaysEverythingInOneLine) {
  EXPECT_EQ(ServingText(Parse("")), "newest version");
  EXPECT_EQ(
      ServingText(Parse(R"(
        pinned_version: 7
        split { arms { version: 8 ranges { begin: 0 end: 100 }
                       ranges { begin: 300 end: 325 } }
                arms { version: 9 ranges { begin: 500 end: 501 } } }
        labels { name: 'canary' version: 8 }
        shadows { version: 5 every: 1 } shadows { version: 6 every: 10 }
        mode: EXPLORE_ABOVE_BASELINE explore_parts: 550
        protected_versions: 2 protected_versions: 3
        rolled_back_versions: 4)")),
      "pinned to 7; version 8 has 1.25 %; version 9 has 0.01 %; label canary "
      "is 8; shadow 5; shadow 6 of 1 in 10; mode EXPLORE_ABOVE_BASELINE 5.5 %; "
      "protected 2, 3; rolled back from 4");
}

TEST(ServingTextTest, SaysWhatIsInterleaved) {
  EXPECT_EQ(ServingText(Parse(R"(
              pinned_version: 7
              interleave { version: 8 method: TEAM_DRAFT parts: 1000 }
              labels { name: 'canary' version: 8 })")),
            "pinned to 7; interleaved with 8 for 10 % (TEAM_DRAFT); label "
            "canary is 8");
}

TEST(ServingTextTest, ChangesNameTheirCauses) {
  EXPECT_EQ(ChangeText(Parse("change: 3 time: 't' caller: 'ann' reason: 'r'")),
            "change 3, t, ann: r");
  EXPECT_EQ(ChangeText(Parse("change: 3 time: 't' reason: 'edited by hand'")),
            "change 3, t, ?: edited by hand");
}

TEST(ServingTextTest, TimesAreUtc) {
  EXPECT_EQ(TimeText(0), "");
  EXPECT_EQ(TimeText(1'000'000), "1970-01-01 00:00:01Z");
}

TEST(ParseShareTest, TakesWholeParts) {
  const std::vector<std::pair<const char*, uint32_t>> cases = {
      {"1%", 100},    {"0.01%", 1},      {"100%", 10000}, {"33.33%", 3333},
      {"2.5 %", 250}, {"1.10000%", 110}, {"5e1%", 5000}};
  for (const auto& [text, parts] : cases) {
    ASSERT_OK_AND_ASSIGN(const uint32_t parsed, ParseShare(text));
    EXPECT_EQ(parsed, parts) << text;
  }
}

TEST(ParseShareTest, RefusesTheRestByName) {
  for (const char* text : {"", "%", "1", "0%", "-1%", "0.001%", "0.015%",
                           "100.01%", "nan%", "inf%", "1%%", "one%"}) {
    EXPECT_THAT(ParseShare(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("must be a multiple of 0.01%")))
        << text;
  }
}

}  // namespace
}  // namespace sortition
