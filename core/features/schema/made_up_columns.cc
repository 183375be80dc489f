#include "core/features/schema/made_up_columns.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using sortition::v1::Column;
using sortition::v1::Columns;

constexpr double kMissing = 0.1;
constexpr uint64_t kMostWords = 12;
constexpr uint64_t kMostSetSize = 4;

std::string MakeUpCategory(RandomSequence* random) {
  // Some are digits alone, which hashing treats as numbers.
  return random->Uniform() < 0.2 ? absl::StrCat(random->Below(50))
                                 : absl::StrCat("category ", random->Below(30));
}

std::string MakeUpText(RandomSequence* random) {
  static constexpr const char* kWords[] = {
      "who",   "was",    "the",   "first", "not", "1984",    "river",
      "Paris", "Straße", "naïve", "東京",  "in",  "because", "running"};
  std::string text;
  const uint64_t size = random->Below(kMostWords + 1);
  for (uint64_t i = 0; i < size; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ",
                    kWords[random->Below(std::size(kWords))]);
  }
  return text;
}

void AddSet(bool is_missing, RandomSequence* random,
            sortition::v1::CategorySets* sets) {
  if (!is_missing) {
    const uint64_t first = random->Below(20);
    const uint64_t size = random->Below(kMostSetSize + 1);
    for (uint64_t i = 0; i < size; ++i) {
      sets->add_values(absl::StrCat("member ", first + i));
    }
  }
  sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
}

void AddValue(const ColumnSchema& schema, bool is_missing,
              RandomSequence* random, Column* column) {
  switch (schema.type()) {
    case ColumnSchema::NUMBER:
      column->mutable_numbers()->add_values(
          is_missing ? 0 : std::exp(random->Normal()) - 1);
      break;
    case ColumnSchema::CATEGORY:
      column->mutable_categories()->add_values(
          is_missing ? "" : MakeUpCategory(random));
      break;
    case ColumnSchema::CATEGORY_SET:
      AddSet(is_missing, random, column->mutable_category_sets());
      break;
    case ColumnSchema::TEXT:
      column->mutable_texts()->add_values(is_missing ? "" : MakeUpText(random));
      break;
    default:
      for (uint32_t i = 0; i < schema.size(); ++i) {
        column->mutable_vectors()->add_values(
            is_missing ? 0 : static_cast<float>(random->Normal()));
      }
  }
}

Column MakeUpColumn(const ColumnSchema& schema, uint32_t num_rows,
                    RandomSequence* random) {
  Column column;
  column.set_name(schema.name());
  if (schema.type() == ColumnSchema::VECTOR) {
    column.mutable_vectors()->set_size(schema.size());
  } else if (schema.type() == ColumnSchema::CATEGORY_SET) {
    column.mutable_category_sets()->add_offsets(0);
  }
  for (uint32_t row = 0; row < num_rows; ++row) {
    const bool is_missing = random->Uniform() < kMissing;
    if (is_missing) column.add_missing(row);
    AddValue(schema, is_missing, random, &column);
  }
  return column;
}

}  // namespace

Columns MakeUpColumns(const Schema& schema, uint32_t num_candidates,
                      RandomSequence* random) {
  Columns columns;
  columns.set_num_candidates(num_candidates);
  std::vector<size_t> order(schema.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), *random);
  for (const size_t i : order) {
    const ColumnSchema& column = schema.column(i);
    const bool may_be_absent =
        column.if_absent_case() != ColumnSchema::IF_ABSENT_NOT_SET;
    if (may_be_absent && random->Uniform() < kMissing) continue;
    const bool of_query = column.scope() == ColumnSchema::QUERY;
    *(of_query ? columns.add_query() : columns.add_candidate()) =
        MakeUpColumn(column, of_query ? 1 : num_candidates, random);
  }
  return columns;
}

}  // namespace sortition
