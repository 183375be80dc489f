#include "core/features/schema/schema.h"

#include <algorithm>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

model::v1::Schema Parse(const std::string& text) {
  model::v1::Schema schema;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &schema));
  return schema;
}

TEST(SchemaTest, FindsColumnsByName) {
  ASSERT_OK_AND_ASSIGN(
      const Schema schema,
      Schema::Create(Parse("column { name: 'price' type: NUMBER }"
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
    const auto schema = Schema::Create(Parse(text));
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
    EXPECT_THAT(Schema::Create(Parse(each.text)),
                IsInvalid(HasSubstr(each.error)))
        << each.text;
  }
}

}  // namespace
}  // namespace sortition
