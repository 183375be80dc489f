// Columns that are put together cell by cell, and columns without a schema.
#include "io/columns/query_builder.h"

#include "core/features/schema/made_up_columns.h"
#include "gmock/gmock.h"
#include "io/columns/undeclared_columns.h"
#include "tests/io/columns/declared_schema.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(QueryBuilderTest, TellsMissingFromAbsent) {
  const Schema schema = MakeSchema(
      "column { name: 'price' type: NUMBER } "
      "column { name: 'title' type: TEXT missing: true } "
      "column { name: 'city' type: CATEGORY scope: QUERY }");
  QueryBuilder builder(schema);
  builder.Start("", 1);
  builder.SetMissing(2);
  builder.SetMissing(0);
  builder.AddCandidate();
  builder.AddCandidate();
  v1::Columns columns;
  ASSERT_OK(builder.Finish(&columns));
  EXPECT_EQ(columns.num_candidates(), 2u);
  ASSERT_EQ(columns.candidate_size(), 1);  // No title.
  EXPECT_THAT(columns.candidate(0).missing(), ElementsAre(0, 1));
  EXPECT_THAT(columns.query(0).missing(), ElementsAre(0));

  builder.Start("", 2);  // A price may not be absent.
  builder.SetMissing(2);
  builder.AddCandidate();
  EXPECT_THAT(
      builder.Finish(&columns),
      StatusIs(kInvalidArgument, HasSubstr("column 'price' is absent")));
}

TEST(UndeclaredColumnsTest, AreWhatASchemaWouldSay) {
  const Schema schema = MakeSchema(
      "column { name: 'price' type: NUMBER missing: true } "
      "column { name: 'tags' type: CATEGORY_SET missing: true } "
      "column { name: 'place' type: VECTOR size: 2 missing: true } "
      "column { name: 'title' type: TEXT scope: QUERY missing: true }");
  RandomSequence random(SeedKey(3));
  UndeclaredColumns undeclared;
  BoundColumns bound;
  for (int i = 0; i < 50; ++i) {  // Mostly with the columns of the one before.
    const v1::Columns columns = MakeUpColumns(schema, 3, &random);
    ASSERT_OK(bound.Bind(schema, columns));
    ASSERT_OK(undeclared.Bind(columns));
    ASSERT_EQ(
        undeclared.schema().size(),
        static_cast<size_t>(columns.candidate_size() + columns.query_size()));
    for (size_t j = 0; j < undeclared.schema().size(); ++j) {
      const auto& declared = undeclared.schema().column(j);
      const size_t same = *schema.Find(declared.name());
      EXPECT_EQ(declared.type(), schema.column(same).type());
      EXPECT_EQ(declared.scope(), schema.column(same).scope());
      for (uint32_t row = 0; row < 3; ++row) {
        EXPECT_EQ(undeclared.columns().column(j).Missing(row),
                  bound.column(same).Missing(row));
      }
    }
  }
}

TEST(UndeclaredColumnsTest, RefusesWhatCannotBeRead) {
  UndeclaredColumns undeclared;
  v1::Columns columns;
  columns.set_num_candidates(2);
  v1::Column* const column = columns.add_candidate();
  column->set_name("price");
  EXPECT_THAT(undeclared.Bind(columns),
              StatusIs(kInvalidArgument, HasSubstr("'price' has no values")));
  column->mutable_numbers()->add_values(1);
  EXPECT_THAT(
      undeclared.Bind(columns),
      StatusIs(kInvalidArgument, HasSubstr("has 1 values, must have 2")));
  column->mutable_numbers()->add_values(1);
  EXPECT_OK(undeclared.Bind(columns));
  column->mutable_texts()->add_values("a");  // Another type than before.
  column->mutable_texts()->add_values("b");
  ASSERT_OK(undeclared.Bind(columns));
  EXPECT_EQ(undeclared.columns().column(0).Text(1), "b");
  columns.add_query()->set_name("price");
  columns.mutable_query(0)->mutable_numbers()->add_values(1);
  EXPECT_THAT(undeclared.Bind(columns),
              StatusIs(kInvalidArgument, HasSubstr("declared twice")));
}

}  // namespace
}  // namespace sortition
