#include "core/features/schema/bound_columns.h"

#include <string>
#include <vector>

#include "tests/core/features/schema/bad_columns.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using sortition::v1::Columns;
using ::testing::HasSubstr;

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

TEST(BoundColumnsTest, RefusesEveryBadColumnByNameValueAndRule) {
  const Schema schema = GoodSchema();
  const std::vector<BadColumns> cases = AllBadColumns();
  EXPECT_GE(cases.size(), 35u);
  for (const BadColumns& each : cases) {
    Columns columns = GoodColumns();
    each.damage(&columns);
    BoundColumns bound;
    EXPECT_THAT(bound.Bind(schema, columns), IsInvalid(HasSubstr(each.error)));
  }
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

}  // namespace
}  // namespace sortition
