#include "core/features/feature_work.h"

#include <algorithm>
#include <string>

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::Transform;

constexpr uint64_t kBytesPerWord = 2;  // At least, with what parts them.

class Counter {
 public:
  Counter(const Schema& schema, const BoundColumns& columns)
      : schema_(schema), columns_(columns) {}

  uint64_t Of(const Transform& transform) const {
    switch (transform.kind_case()) {
      case Transform::kHash:
        return Over(transform.hash().column(), 1);
      case Transform::kVocabulary:
        return Over(transform.vocabulary().column(), 1);
      case Transform::kNgrams:
        return Over(transform.ngrams().column(),
                    std::max(1u, transform.ngrams().longest()));
      case Transform::kCross:
        return Cross(transform.cross().left(), transform.cross().right());
      case Transform::kTextPair:
        return Over(transform.text_pair().query(), 1) +
               Over(transform.text_pair().candidate(), 1);
      default:
        return 0;
    }
  }

 private:
  // Returns the values or words of a row.
  uint64_t At(size_t column, uint32_t row) const {
    const BoundColumn& bound = columns_.column(column);
    if (bound.Missing(row)) return 0;
    switch (schema_.column(column).type()) {
      case ColumnSchema::CATEGORY_SET:
        return bound.Set(row).size();
      case ColumnSchema::TEXT:
        return bound.Text(row).size() / kBytesPerWord + 1;
      default:
        return 1;
    }
  }

  // Sums up a column, or one of the query for each candidate.
  uint64_t Over(const std::string& name, uint64_t times) const {
    const std::optional<size_t> column = schema_.Find(name);
    if (!column.has_value()) return 0;
    const uint32_t n = columns_.num_candidates();
    if (schema_.column(*column).scope() == ColumnSchema::QUERY) {
      return times * n * At(*column, 0);
    }
    uint64_t sum = 0;
    for (uint32_t row = 0; row < n; ++row) sum += At(*column, row);
    return times * sum;
  }

  uint64_t Cross(const std::string& left, const std::string& right) const {
    const std::optional<size_t> a = schema_.Find(left);
    const std::optional<size_t> b = schema_.Find(right);
    if (!a.has_value() || !b.has_value()) return 0;
    uint64_t sum = 0;
    for (uint32_t row = 0; row < columns_.num_candidates(); ++row) {
      const uint64_t of_left = At(*a, row);
      const uint64_t of_right = At(*b, row);
      sum += of_left + of_right + of_left * of_right;
    }
    return sum;
  }

  const Schema& schema_;
  const BoundColumns& columns_;
};

}  // namespace

uint64_t CountSteps(const Schema& schema, const model::v1::FeatureSpec& spec,
                    uint64_t num_dense, const BoundColumns& columns) {
  const Counter counter(schema, columns);
  uint64_t steps = num_dense * columns.num_candidates();
  for (const Transform& transform : spec.transform()) {
    steps += counter.Of(transform);
  }
  return steps;
}

}  // namespace sortition
