#include "core/features/schema/schema.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/column_checks.h"
#include "core/features/schema/column_presence.h"
#include "core/features/schema/utf8.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/features/schema/bad_columns.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(SchemaTest, FindsColumnsByName) {
  ASSERT_OK_AND_ASSIGN(const Schema schema,
                       Schema::Create(ParseText<model::v1::Schema>(
                           "column { name: 'price' type: NUMBER }"
                           "column { name: 'question' type: TEXT scope: QUERY }"
                           "column { name: 'v' type: VECTOR size: 3 }")));
  EXPECT_EQ(schema.size(), 3u);
  EXPECT_EQ(schema.Find("question"), std::optional<size_t>(1));
  EXPECT_EQ(schema.Find("Question"), std::nullopt);
  EXPECT_EQ(schema.column(2).size(), 3u);
  EXPECT_EQ(schema.hash().size(), 32u);
}

TEST(SchemaTest, HashIgnoresTheOrderAndNothingElse) {
  const std::string a = "column { name: 'a' type: NUMBER }";
  const std::string b = "column { name: 'b' type: CATEGORY scope: QUERY }";
  const auto hash = [](const std::string& text) {
    const auto schema = Schema::Create(ParseText<model::v1::Schema>(text));
    EXPECT_OK(schema);
    return schema.ok() ? schema->hash() : "";
  };
  EXPECT_EQ(hash(a + b), hash(b + a));
  std::vector<std::string> hashes = {
      hash(a),
      hash(a + b),
      hash("column { name: 'c' type: NUMBER }"),
      hash("column { name: 'a' type: TEXT }"),
      hash("column { name: 'a' type: TEXT text: '' }"),
      hash("column { name: 'a' type: TEXT text: 'x' }"),
      hash("column { name: 'a' type: NUMBER scope: QUERY }"),
      hash("column { name: 'a' type: NUMBER missing: true }"),
      hash("column { name: 'a' type: NUMBER number: 0 }"),
      hash("column { name: 'a' type: NUMBER number: 1 }"),
      hash("column { name: 'a' type: VECTOR size: 2 }"),
      hash("column { name: 'a' type: VECTOR size: 3 }"),
  };
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(SchemaTest, RefusesDeclarationsWithoutMeaning) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::string long_name(65, 'x');
  const Case cases[] = {
      {"", "schema has 0 columns, must have 1 to 1000"},
      {"column { name: 'a' }", "schema.column[0].type is 0"},
      {"column { name: 'a' type: 9 }", "schema.column[0].type is 9"},
      {"column { type: NUMBER }", "name has 0 bytes, must have 1 to 64"},
      {"column { name: '" + long_name + "' type: NUMBER }",
       "name has 65 bytes, must have 1 to 64"},
      {"column { name: 'a b' type: NUMBER }", "name is 'a b', must be UTF-8"},
      {"column { name: 'a^b' type: NUMBER }", "name is 'a^b', must be UTF-8"},
      {"column { name: 'a' type: NUMBER } column { name: 'a' type: TEXT }",
       "column 'a': is declared twice"},
      {"column { name: 'a' type: NUMBER size: 2 }",
       "column 'a': size is 2, must be unset: the type is NUMBER"},
      {"column { name: 'a' type: VECTOR }",
       "column 'a': size is 0, must be in [1, 4096]"},
      {"column { name: 'a' type: VECTOR size: 5000 }",
       "schema.column[0].size is 5000, must be in [0, 4096]"},
      {"column { name: 'a' type: TEXT number: 2 }",
       "column 'a': number is set, must be unset: the type is TEXT"},
      {"column { name: 'a' type: NUMBER number: inf }",
       "column 'a': number is inf, must be finite"},
      {"column { name: 'a' type: NUMBER text: '2' }",
       "column 'a': text is set, must be unset: the type is NUMBER"},
      {"column { name: 'a' type: CATEGORY text: '' }",
       "column 'a': text is empty, must be a category"},
      {"column { name: 'a' type: CATEGORY missing: false }",
       "column 'a': missing is false, must be true or unset"},
      {"column { name: 'a' type: CATEGORY scope: 7 }",
       "column 'a': scope is 7, must be CANDIDATE or QUERY"},
  };
  for (const Case& each : cases) {
    EXPECT_THAT(Schema::Create(ParseText<model::v1::Schema>(each.text)),
                IsInvalidArgument(each.error))
        << each.text;
  }
}

TEST(BoundColumnsTest, GivesTheValuesInTheOrderOfTheSchema) {
  const Schema schema = GoodSchema();
  Columns columns = GoodColumns();
  columns.mutable_candidate()->SwapElements(0, 4);  // The order is free.
  BoundColumns bound;
  ASSERT_OK(bound.Bind(schema, columns));
  EXPECT_EQ(bound.num_candidates(), 2u);
  EXPECT_EQ(bound.column(0).Number(0), 1.5);
  EXPECT_TRUE(bound.column(0).Missing(1));  // NaN.
  EXPECT_EQ(bound.column(1).Text(0), "red");
  EXPECT_TRUE(bound.column(1).Missing(1));
  ASSERT_EQ(bound.column(2).Set(0).size(), 2u);
  EXPECT_EQ(*bound.column(2).Set(0)[1], "b");
  EXPECT_TRUE(bound.column(2).Set(1).empty());
  EXPECT_EQ(bound.column(3).Text(0), "Hello");
  EXPECT_FALSE(bound.column(3).Missing(1));  // An empty text is a text.
  EXPECT_TRUE(bound.column(4).Missing(0));
  EXPECT_EQ(bound.column(4).Vector(1)[1], 4);
  EXPECT_EQ(bound.column(5).Text(1), "Who?");  // Any row of a query column.
}

TEST(BoundColumnsTest, AbsentColumnsHaveTheirDefault) {
  const Schema schema = GoodSchema();
  const Columns columns = GoodColumns();
  BoundColumns bound;
  ASSERT_OK(bound.Bind(schema, columns));
  EXPECT_EQ(bound.column(6).Number(1), 30);
  EXPECT_EQ(bound.column(7).Text(0), "Rome");
  EXPECT_TRUE(bound.column(8).Missing(0));
  EXPECT_TRUE(bound.column(8).Missing(1));
}

TEST(BoundColumnsTest, ForgetsTheRequestBefore) {
  const Schema schema = GoodSchema();
  Columns columns = GoodColumns();
  BoundColumns bound;
  ASSERT_OK(bound.Bind(schema, columns));
  FindColumn(&columns, "color")->clear_missing();
  FindColumn(&columns, "color")->mutable_categories()->set_values(1, "blue");
  ASSERT_OK(bound.Bind(schema, columns));
  EXPECT_EQ(bound.column(1).Text(1), "blue");
}

// Checks as a server does: all columns once, and then those that the version
// reads.
absl::Status CheckAndBind(const Schema& schema, const Columns& columns) {
  RETURN_IF_ERROR(CheckColumns(columns));
  BoundColumns bound;
  return bound.Bind(schema, columns, {.check_values = false});
}

TEST(BoundColumnsTest, RefusesEveryBadColumnByNameValueAndRule) {
  const Schema schema = GoodSchema();
  const std::vector<BadColumns> cases = AllBadColumns();
  EXPECT_GE(cases.size(), 35u);
  EXPECT_OK(CheckAndBind(schema, GoodColumns()));
  for (const BadColumns& each : cases) {
    Columns columns = GoodColumns();
    each.damage(&columns);
    EXPECT_THAT(CheckAndBind(schema, columns), IsInvalidArgument(each.error));
    // Binding alone does not look at columns that the schema does not have.
    BoundColumns bound;
    EXPECT_EQ(bound.Bind(schema, columns).ok(),
              absl::StrContains(each.error, "'unread'"))
        << each.error;
  }
}

TEST(BoundColumnsTest, IgnoresColumnsThatTheSchemaDoesNotHave) {
  const Schema schema = GoodSchema();
  Columns columns = GoodColumns();
  for (const char* text : {"name: 'a' numbers { values: [1, 2] }",
                           "name: 'b' texts { values: ['', 'x'] }"}) {
    *columns.add_candidate() = ParseText<v1::Column>(text);
  }
  *columns.add_query() =
      ParseText<v1::Column>("name: 'c' categories { values: 'x' }");
  columns.mutable_candidate()->SwapElements(0, 5);
  EXPECT_OK(CheckAndBind(schema, columns));
  BoundColumns bound;
  ASSERT_OK(bound.Bind(schema, columns));
  EXPECT_EQ(bound.size(), schema.size());
  EXPECT_EQ(bound.column(0).Number(0), 1.5);
  EXPECT_EQ(bound.column(5).Text(0), "Who?");
}

TEST(BoundColumnsTest, AMisspeltNameStandsInTheError) {
  Columns columns = GoodColumns();
  FindColumn(&columns, "price")->set_name("prise");
  BoundColumns bound;
  EXPECT_THAT(
      bound.Bind(GoodSchema(), columns),
      IsInvalidArgument("column 'price' is absent, must be a NUMBER of "
                        "the candidates; the model does not read 'prise'"));
}

TEST(BoundColumnsTest, AbsentColumnsAreMissingInOldLogs) {
  const Schema schema = GoodSchema();
  Columns columns;
  columns.set_num_candidates(3);
  BoundColumns bound;
  ASSERT_OK(bound.Bind(schema, columns, {.absent_is_missing = true}));
  for (size_t i = 0; i < schema.size(); ++i) {
    const std::string& name = schema.column(i).name();
    // These two have a default.
    EXPECT_EQ(bound.column(i).Missing(2), name != "age" && name != "city")
        << name;
  }
}

TEST(ColumnPresenceTest, CountsQueriesWithoutAColumn) {
  const Schema schema = GoodSchema();
  ColumnPresence presence(schema);
  Columns columns = GoodColumns();
  presence.Add(columns);
  EXPECT_EQ(presence.AbsentText(), "");
  FindColumn(&columns, "title")->set_name("other");
  presence.Add(columns);
  columns.clear_query();
  presence.Add(columns);
  presence.Add(columns);
  EXPECT_EQ(presence.num_queries(), 4u);
  EXPECT_THAT(presence.AbsentWithoutDefault(), ElementsAre(3, 5));
  EXPECT_THAT(presence.Counts(),
              ElementsAre(Pair("question", 2), Pair("title", 3)));
  EXPECT_EQ(presence.AbsentText(), "title (absent from 75 %), question (50 %)");
}

TEST(SchemaTest, OnlyTypesAreInConflict) {
  const auto conflict = [](const std::string& text) {
    return FindTypeConflict(ParseText<model::v1::Schema>(text),
                            GoodSchemaMessage());
  };
  EXPECT_EQ(conflict(""), "");
  EXPECT_EQ(conflict("column { name: 'new' type: TEXT }"
                     "column { name: 'price' type: NUMBER number: 7 }"
                     "column { name: 'spare' type: NUMBER }"
                     "column { name: 'place' type: VECTOR size: 2 }"),
            "");
  EXPECT_EQ(conflict("column { name: 'new' type: TEXT }"
                     "column { name: 'price' type: TEXT }"),
            "column 'price' is a TEXT of the candidates, must be a NUMBER of "
            "the candidates");
  EXPECT_EQ(conflict("column { name: 'age' type: NUMBER }"),
            "column 'age' is a NUMBER of the candidates, must be a NUMBER of "
            "the query");
  EXPECT_EQ(conflict("column { name: 'place' type: VECTOR size: 3 }"),
            "column 'place' is a VECTOR of 3 numbers of the candidates, must "
            "be a VECTOR of 2 numbers of the candidates");
}

TEST(BoundColumnsTest, TakesWhatIsAtTheLimits) {
  const Schema schema = GoodSchema();
  Columns columns = GoodColumns();
  FindColumn(&columns, "color")
      ->mutable_categories()
      ->set_values(0, std::string(256, 'x'));
  FindColumn(&columns, "title")
      ->mutable_texts()
      ->set_values(0, std::string(65536, 'x'));
  BoundColumns bound;
  EXPECT_OK(bound.Bind(schema, columns));
}

constexpr size_t kNone = absl::string_view::npos;

// The definition, by code points: decodes, and asks for the shortest form.
bool DecodesTo(const std::string& bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const auto byte = [&](size_t k) -> uint32_t {
      return i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0;
    };
    size_t size = 0;
    uint32_t code = 0;
    if (byte(0) < 0x80) {
      size = 1, code = byte(0);
    } else if ((byte(0) & 0xe0) == 0xc0) {
      size = 2, code = byte(0) & 0x1f;
    } else if ((byte(0) & 0xf0) == 0xe0) {
      size = 3, code = byte(0) & 0x0f;
    } else if ((byte(0) & 0xf8) == 0xf0) {
      size = 4, code = byte(0) & 0x07;
    } else {
      return false;
    }
    for (size_t k = 1; k < size; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return false;
      code = code << 6 | (byte(k) & 0x3f);
    }
    const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff) return false;
    if (code >= 0xd800 && code < 0xe000) return false;
    i += size;
  }
  return true;
}

TEST(Utf8Test, AgreesWithTheDefinitionOnAllPairsOfBytesInContexts) {
  for (const std::string& before : {std::string(), std::string("seven b"),
                                    std::string("\xe2"), std::string("\xf0")}) {
    for (const std::string& after :
         {std::string(), std::string("\x80"), std::string("\x80\x80"),
          std::string("12345678")}) {
      for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
          const std::string bytes =
              before + static_cast<char>(a) + static_cast<char>(b) + after;
          EXPECT_EQ(FindNotUtf8(bytes) == kNone, DecodesTo(bytes))
              << a << " " << b << " " << before.size() << " " << after.size();
        }
      }
    }
  }
}

TEST(Utf8Test, FindsThePlaceOfTheFirstBadByte) {
  EXPECT_EQ(FindNotUtf8(""), kNone);
  EXPECT_EQ(FindNotUtf8("0123456789ab\xff"), 12u);
  EXPECT_EQ(FindNotUtf8("\xc3\xa9t\xc3"), 3u);
  EXPECT_EQ(FindNotUtf8("\xed\xa0\x80"), 0u);  // A surrogate.
}

}  // namespace
}  // namespace sortition
