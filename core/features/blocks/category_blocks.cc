#include "core/features/blocks/category_blocks.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/features/text/murmur3.h"

namespace sortition {
namespace {

using model::v1::HashTransform;
using model::v1::LearnedTransform;
using model::v1::VocabularyTransform;

// Calls `visit` with each value of the row. Requires that it is not missing.
template <typename Visit>
void ForEachValue(const BoundColumn& column, uint32_t row, bool is_set,
                  const Visit& visit) {
  if (!is_set) {
    visit(column.Text(row));
    return;
  }
  for (const std::string* const value : column.Set(row)) visit(*value);
}

class VocabularyBlock : public SparseBlock {
 public:
  VocabularyBlock(const ColumnPlace& column,
                  const VocabularyTransform& transform,
                  const LearnedTransform& learned, bool is_set)
      : column_(column),
        is_set_(is_set),
        unknown_(transform.unknown_indicator()),
        missing_(transform.missing_indicator()),
        vocabulary_(learned.vocabulary().begin(), learned.vocabulary().end()) {
    for (size_t i = 0; i < vocabulary_.size(); ++i) {
      places_.emplace(vocabulary_[i], static_cast<uint32_t>(i));
    }
  }

  uint32_t size() const override {
    return NumValues() + (unknown_ ? 1 : 0) + (missing_ ? 1 : 0);
  }

  std::string Name(uint32_t index) const override {
    if (index < NumValues()) {
      return absl::StrCat(column_.name, "=", vocabulary_[index]);
    }
    const bool is_unknown = unknown_ && index == NumValues();
    return absl::StrCat(is_unknown ? "unknown(" : "missing(", column_.name,
                        ")");
  }

  void AppendRow(const FeatureInput& input, uint32_t row,
                 std::vector<SparseEntry>* entries) const override {
    const BoundColumn& column = input.columns->column(column_.index);
    if (column.Missing(row)) {
      if (missing_) entries->push_back({size() - 1, 1});
      return;
    }
    bool has_unknown = false;
    ForEachValue(column, row, is_set_, [&](absl::string_view value) {
      const auto place = places_.find(value);
      if (place == places_.end()) {
        has_unknown = true;
      } else {
        entries->push_back({place->second, 1});
      }
    });
    if (has_unknown && unknown_) entries->push_back({NumValues(), 1});
  }

 private:
  uint32_t NumValues() const {
    return static_cast<uint32_t>(vocabulary_.size());
  }

  const ColumnPlace column_;
  const bool is_set_;
  const bool unknown_;
  const bool missing_;
  const std::vector<std::string> vocabulary_;
  absl::flat_hash_map<std::string, uint32_t> places_;
};

class HashBlock : public SparseBlock {
 public:
  HashBlock(const ColumnPlace& column, uint32_t bits, bool is_set)
      : column_(column),
        seed_(VowpalHash(column.name, 0)),
        size_(uint32_t{1} << bits),
        is_set_(is_set) {}

  uint32_t size() const override { return size_; }

  std::string Name(uint32_t index) const override {
    return absl::StrCat("hash(", column_.name, ")#", index);
  }

  void AppendRow(const FeatureInput& input, uint32_t row,
                 std::vector<SparseEntry>* entries) const override {
    const BoundColumn& column = input.columns->column(column_.index);
    if (column.Missing(row)) return;
    ForEachValue(column, row, is_set_, [&](absl::string_view value) {
      entries->push_back({VowpalHash(value, seed_) & (size_ - 1), 1});
    });
  }

 private:
  const ColumnPlace column_;
  const uint32_t seed_;
  const uint32_t size_;
  const bool is_set_;
};

}  // namespace

std::unique_ptr<SparseBlock> MakeVocabularyBlock(
    const ColumnPlace& column, const VocabularyTransform& transform,
    const LearnedTransform& learned, bool is_set) {
  return std::make_unique<VocabularyBlock>(column, transform, learned, is_set);
}

std::unique_ptr<SparseBlock> MakeHashBlock(const ColumnPlace& column,
                                           const HashTransform& transform,
                                           bool is_set) {
  return std::make_unique<HashBlock>(column, transform.bits(), is_set);
}

}  // namespace sortition
