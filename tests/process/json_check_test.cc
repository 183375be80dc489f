#include "process/json_check.h"

#include <string>

#include "absl/strings/str_cat.h"
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

TEST(JsonCheckTest, RefusesTooManyKeysOfOneObject) {
  std::string json = "[{\"0\":\"\"";
  for (size_t i = 1; i < kMaxJsonKeys; ++i) {
    absl::StrAppend(&json, ",\"", i, "\":\"\"");
  }
  EXPECT_OK(CheckJson(json + "}]"));
  ExpectRefused(json + ",\"x\":\"\"}]", "line 1", "more than 4096 keys");
}

TEST(JsonCheckTest, NamesWhatOtherLanguagesTake) {
  ExpectRefused("{'a':1}", "column 2", "names and texts need double quotes");
  ExpectRefused("{\"a\":'x'}", "column 6", "need double quotes");
  ExpectRefused("{a:1}", "column 2", "need double quotes");
  ExpectRefused("{\"a\":1, }", "column 9", "no comma may stand before }");
  ExpectRefused("[1,]", "column 4", "no comma may stand before ]");
  ExpectRefused("{\"a\":1} // x", "column 9", "JSON has no comments");
  ExpectRefused("[NaN]", "column 2", "NaN is no number in JSON");
  ExpectRefused("[-Infinity]", "column", "Infinity is no number in JSON");
  ExpectRefused("\xEF\xBB\xBF{}", "column 1", "a byte order mark must not");
  ExpectRefused("[True]", "column 2", "True is true in JSON");
  ExpectRefused("[None]", "column 2", "None is null in JSON");
  ExpectRefused("{\"a\":", "column 6", "the JSON ends early");
}

TEST(JsonCheckTest, SaysHowATextIsWritten) {
  ExpectRefused("{\"a\":\"x\ny\"}", "line 1, column 8",
                "string; a line break inside a text must be written \\n");
  ExpectRefused("{\"a\":\"x\r\ny\"}", "column 8", "must be written \\n");
  // The quotation mark was forgotten, and the line ends.
  ExpectRefused("{\"a\":\"x,\n\"b\":1}", "line 1, column 9",
                "or the closing double quote is missing");
  ExpectRefused("[\"a\tb\"]", "column 4",
                "a tab inside a text must be written \\t");
  ExpectRefused("[\"a\x01\"]", "column 4",
                "character 0x01 inside a text must be written \\u0001");
  ExpectRefused("[\"C:\\dir\"]", "column 5",
                "a backslash inside a text must be written \\\\");
  ExpectRefused("[\"\xff\"]", "column 3", "the JSON must be in UTF-8");
  ExpectRefused("[\"a", "column 4", "quotation mark");
}

}  // namespace
}  // namespace sortition
