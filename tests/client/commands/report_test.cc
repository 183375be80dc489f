// What reports are made of: JSON, tables, percentiles.
#include <cmath>
#include <limits>

#include "client/simulation/latency_histogram.h"
#include "gtest/gtest.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").Count(18446744073709551615u).Key("b").BeginArray();
  json.Number(0.1).Number(1).Bool(true).BeginObject().EndObject();
  json.EndArray().Key("c").Signed(-3).Key("d").Raw("{}").EndObject();
  EXPECT_EQ(json.text(),
            R"({"a":18446744073709551615,"b":[0.1,1,true,{}],"c":-3,"d":{}})");
}

TEST(JsonWriterTest, EscapesStrings) {
  JsonWriter json;
  json.String("a\"b\\c\nd");
  EXPECT_EQ(json.text(), "\"a\\\"b\\\\c\\u000ad\"");
}

TEST(JsonWriterTest, NumbersReadBackAsTheyWere) {
  for (const double value : {0.1, 1.0 / 3, -2.5e-300, 12345678.9}) {
    JsonWriter json;
    json.Number(value);
    EXPECT_EQ(std::stod(json.text()), value);
  }
  JsonWriter json;
  json.Number(std::numeric_limits<double>::infinity());
  EXPECT_EQ(json.text(), "null");
}

TEST(TextTableTest, AlignsNumbersRightAndWordsLeft) {
  EXPECT_EQ(FormatTable({{"name", "count"}, {"a", "10"}, {"long", "2.5"}}),
            "name  count\n"
            "a        10\n"
            "long    2.5\n");
}

TEST(LatencyHistogramTest, QuantilesAreWithinOnePercent) {
  LatencyHistogram histogram;
  LatencyHistogram other;
  // 1, 2, … 1000 ms over both.
  for (int i = 1; i <= 1000; ++i) {
    (i % 2 == 0 ? histogram : other).Add(i * 1e-3);
  }
  histogram.Merge(other);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.max_seconds(), 1);
  EXPECT_NEAR(histogram.Quantile(0.5), 0.5, 0.5 * 0.0101);
  EXPECT_NEAR(histogram.Quantile(0.99), 0.99, 0.99 * 0.0101);
  EXPECT_EQ(histogram.Quantile(1), 1);
}

TEST(LatencyHistogramTest, TakesExtremes) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(1e6);
  EXPECT_EQ(histogram.max_seconds(), 1e6);
}

}  // namespace
}  // namespace sortition
