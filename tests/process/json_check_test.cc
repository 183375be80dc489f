#include "process/json_check.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

void ExpectRefused(absl::string_view json, absl::string_view place,
                   absl::string_view what) {
  EXPECT_THAT(CheckJson(json), StatusIs(StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr(std::string(place)),
                                              HasSubstr(std::string(what)))))
      << json;
}

TEST(JsonCheckTest, TakesWhatIsJson) {
  for (const char* const json :
       {"{}", "[]", " 1 ", "\"\\u00e9é\"", "1e300", "-0.0",
        R"({"a":{"a":[{"a":1},{"a":2}]},"b":null})"}) {
    EXPECT_OK(CheckJson(json)) << json;
  }
}

TEST(JsonCheckTest, SaysWhereItBreaks) {
  ExpectRefused("", "line 1, column 1", "empty");
  ExpectRefused("{\"a\":1,\n  \"b\" 2}", "line 2, column 7", "colon");
  ExpectRefused("{\"a\":NaN}", "line 1, column 6", "Invalid value");
  ExpectRefused("[1,2", "line 1, column 5", "comma or ']'");
  ExpectRefused("[1,1e999]", "line 1, column 4", "too big");
  ExpectRefused("{} x", "line 1, column 4", "root");
  ExpectRefused("{'a':1}", "line 1, column 2", "name");
  ExpectRefused("[01]", "line 1, column 3", "comma or ']'");
  ExpectRefused("\"\xff\"", "line 1, column 2", "encoding");
  ExpectRefused(absl::string_view("{}\0{}", 5), "column 3", "byte 0");
}

TEST(JsonCheckTest, RefusesEqualKeysOfOneObject) {
  ExpectRefused("{\"a\":1,\"b\":{\"c\":1,\n\"c\":2}}", "line 2", "key \"c\"");
  ExpectRefused("{\"a\":1,\"\\u0061\":2}", "line 1", "key \"a\"");
}

TEST(JsonCheckTest, RefusesWhatIsNestedTooDeep) {
  const std::string open(kMaxJsonDepth, '[');
  const std::string close(kMaxJsonDepth, ']');
  EXPECT_OK(CheckJson(open + close));
  ExpectRefused("[" + open + close + "]", "column 65", "deep");
  ExpectRefused(std::string(1 << 20, '['), "column 65", "deep");
}

}  // namespace
}  // namespace sortition
