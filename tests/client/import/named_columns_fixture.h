#pragma once
// Tuples with named columns, and the file that says what they are.
#include <algorithm>

#include "core/features/schema/made_up_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"
#include "tests/client/export/exchange_fixture.h"
#include "tests/testing/parse_text.h"

namespace sortition {

// Every type in both scopes; of some, columns may be absent.
inline constexpr char kEveryColumn[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'stars' type: NUMBER missing: true }
  column { name: 'color' type: CATEGORY text: 'none' }
  column { name: 'tags' type: CATEGORY_SET }
  column { name: 'labels' type: CATEGORY_SET missing: true }
  column { name: 'title' type: TEXT }
  column { name: 'notes' type: TEXT missing: true }
  column { name: 'place' type: VECTOR size: 3 }
  column { name: 'question' type: TEXT scope: QUERY }
  column { name: 'city' type: CATEGORY scope: QUERY }
  column { name: 'age' type: NUMBER scope: QUERY number: 30 }
  column { name: 'interests' type: CATEGORY_SET scope: QUERY missing: true }
  column { name: 'home' type: VECTOR size: 2 scope: QUERY }
}
)";

// Puts the columns in place of the features of a tuple.
inline void SetColumns(const v1::Columns& columns,
                       log::v1::BanditTuple* tuple) {
  log::v1::Decision* const decision = tuple->mutable_decision();
  decision->clear_dense_values();
  decision->clear_sparse();
  decision->clear_num_features();
  *decision->mutable_columns() = columns;
}

// Returns the columns by ascending names: their order means nothing.
inline v1::Columns Sorted(v1::Columns columns) {
  const auto by_name = [](const v1::Column& a, const v1::Column& b) {
    return a.name() < b.name();
  };
  std::sort(columns.mutable_candidate()->begin(),
            columns.mutable_candidate()->end(), by_name);
  std::sort(columns.mutable_query()->begin(), columns.mutable_query()->end(),
            by_name);
  return columns;
}

inline std::vector<std::string> ColumnBytes(
    const std::vector<log::v1::BanditTuple>& tuples) {
  std::vector<std::string> bytes;
  for (const auto& tuple : tuples) {
    bytes.push_back(Sorted(tuple.decision().columns()).DebugString());
  }
  return bytes;
}

class NamedColumnsFixture : public ExchangeFixture {
 protected:
  // Writes the declaration and returns the flag that names its file.
  std::string Features(const std::string& declaration = kEveryColumn) {
    const std::string path = dir_.Sub("spec") + "/features.textproto";
    EXPECT_OK(WriteFile(path, declaration));
    return "--features=" + path;
  }

  static Schema SchemaOf(const std::string& declaration) {
    auto schema =
        Schema::Create(ParseText<model::v1::FeatureSpec>(declaration).schema());
    EXPECT_OK(schema);
    return *std::move(schema);
  }

  // Selections and orders with made-up columns.
  static std::vector<log::v1::BanditTuple> MadeUp(size_t n) {
    const Schema schema = SchemaOf(kEveryColumn);
    RandomSequence random(SeedKey(7));
    std::vector<log::v1::BanditTuple> tuples = Selections(n);
    for (const auto& order : Orders(n / 2)) {
      tuples.push_back(order);
      tuples.back().mutable_decision()->set_decision_id(
          "order " + order.decision().decision_id());
    }
    for (log::v1::BanditTuple& tuple : tuples) {
      SetColumns(
          MakeUpColumns(schema, tuple.decision().num_candidates(), &random),
          &tuple);
    }
    return tuples;
  }
};

}  // namespace sortition
