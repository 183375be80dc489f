#include "process/json_writer.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").Count(18446744073709551615u).Key("b").BeginArray();
  json.Number(0.1).Number(1).Bool(true).BeginObject().EndObject();
  json.EndArray().Key("c").Signed(-3).Key("d").Raw("{}").EndObject();
  EXPECT_EQ(
      json.text(),
      R"({"a":18446744073709551615,"b":[0.1,1.0,true,{}],"c":-3,"d":{}})");
}

TEST(JsonWriterTest, EscapesStrings) {
  JsonWriter json;
  json.String("a\"b\\c\nd\x01");
  EXPECT_EQ(json.text(), "\"a\\\"b\\\\c\\nd\\u0001\"");
}

TEST(JsonWriterTest, TakesEmptyViews) {
  JsonWriter json;
  json.BeginObject().Key({}).String({}).EndObject();
  EXPECT_EQ(json.text(), "{\"\":\"\"}");
}

TEST(JsonWriterTest, NumbersReadBackAsTheyWere) {
  for (const double value :
       {0.1, 1.0 / 3, -2.5e-300, 12345678.9, 5e-324, -0.0, 1e22, 0.1 + 0.2}) {
    JsonWriter json;
    json.Number(value);
    EXPECT_EQ(std::strtod(json.text().c_str(), nullptr), value);
  }
}

TEST(JsonWriterTest, NumbersThatAreNotFiniteAreNull) {
  JsonWriter json;
  json.BeginArray();
  json.Number(std::numeric_limits<double>::infinity()).Number(std::nan(""));
  EXPECT_EQ(json.EndArray().text(), "[null,null]");
}

}  // namespace
}  // namespace sortition
