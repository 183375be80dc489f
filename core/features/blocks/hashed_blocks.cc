#include "core/features/blocks/hashed_blocks.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/features/text/murmur3.h"
#include "core/features/text/word_counts.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::CrossTransform;
using model::v1::NgramTransform;

class NgramBlock : public SparseBlock {
 public:
  NgramBlock(const ColumnPlace& column, size_t slot,
             const NgramTransform& transform,
             std::optional<PlaceFrequencies> frequencies)
      : column_(column),
        slot_(slot),
        transform_(transform),
        frequencies_(std::move(frequencies)),
        seed_(VowpalHash(column.name, 0)) {}

  uint32_t size() const override { return uint32_t{1} << transform_.bits(); }

  std::string Name(uint32_t index) const override {
    return absl::StrCat("ngrams(", column_.name, ")#", index);
  }

  void AppendRow(const FeatureInput& input, uint32_t row,
                 std::vector<SparseEntry>* entries) const override {
    const size_t begin = entries->size();
    AppendNgrams(input.texts[slot_].at(row), transform_, seed_, entries);
    const std::span<SparseEntry> added(entries->data() + begin,
                                       entries->size() - begin);
    if (frequencies_.has_value()) {
      for (SparseEntry& entry : added) {
        entry.value = frequencies_->Of(entry.index);
      }
    }
    if (transform_.normalise()) Normalise(added);
  }

 private:
  // Of values at the same index, the norm takes the sum.
  static void Normalise(std::span<SparseEntry> row) {
    std::sort(row.begin(), row.end(),
              [](const SparseEntry& a, const SparseEntry& b) {
                return a.index < b.index;
              });
    double squares = 0;
    for (size_t i = 0; i < row.size();) {
      double sum = 0;
      const size_t begin = i;
      for (; i < row.size() && row[i].index == row[begin].index; ++i) {
        sum += row[i].value;
      }
      squares += sum * sum;
    }
    if (squares == 0) return;
    const double norm = std::sqrt(squares);
    for (SparseEntry& entry : row) entry.value /= norm;
  }

  const ColumnPlace column_;
  const size_t slot_;
  const NgramTransform transform_;
  const std::optional<PlaceFrequencies> frequencies_;
  const uint32_t seed_;
};

// Words of a text beyond these have no part in crosses.
constexpr size_t kMostCrossWords = 1000;

// A hash with the value that it stands for.
struct HashedValue {
  uint32_t hash;
  double value;
};
using HashedValues = absl::InlinedVector<HashedValue, 64>;

class CrossBlock : public SparseBlock {
 public:
  CrossBlock(const CrossSide& left, const CrossSide& right,
             const CrossTransform& transform)
      : left_(left),
        right_(right),
        words_(transform.words()),
        size_(uint32_t{1} << transform.bits()) {}

  uint32_t size() const override { return size_; }

  std::string Name(uint32_t index) const override {
    return absl::StrCat(left_.column.name, "^", right_.column.name, "#", index);
  }

  void AppendRow(const FeatureInput& input, uint32_t row,
                 std::vector<SparseEntry>* entries) const override {
    HashedValues left, right;
    Collect(left_, input, row, &left);
    Collect(right_, input, row, &right);
    for (const HashedValue& a : left) {
      for (const HashedValue& b : right) {
        entries->push_back(
            {VowpalCross(a.hash, b.hash) & (size_ - 1), a.value * b.value});
      }
    }
  }

 private:
  static double Scaled(const CrossSide& side, const BoundColumn& column,
                       uint32_t row) {
    const double x = column.Number(row);
    return ((side.log1p ? SignedLog1p(x) : x) - side.mean) / side.scale;
  }

  // A number is a feature with the name of its column.
  void Collect(const CrossSide& side, const FeatureInput& input, uint32_t row,
               HashedValues* values) const {
    const BoundColumn& column = input.columns->column(side.column.index);
    const uint32_t seed = VowpalHash(side.column.name, 0);
    if (side.slot.has_value()) {
      const TextWords& words = input.texts[*side.slot].at(row);
      for (size_t i = 0; i < words.size() && values->size() < kMostCrossWords;
           ++i) {
        if (!IsContent(words, i, words_)) continue;
        const double value =
            side.frequencies == nullptr ? 1 : side.frequencies->Of(words.id(i));
        values->push_back({VowpalHash(words.word(i), seed), value});
      }
      return;
    }
    if (column.Missing(row)) return;
    switch (side.type) {
      case ColumnSchema::NUMBER:
        values->push_back(
            {VowpalHash(side.column.name, seed), Scaled(side, column, row)});
        break;
      case ColumnSchema::CATEGORY_SET:
        for (const std::string* const value : column.Set(row)) {
          values->push_back({VowpalHash(*value, seed), 1});
        }
        break;
      default:
        values->push_back({VowpalHash(column.Text(row), seed), 1});
    }
  }

  const CrossSide left_;
  const CrossSide right_;
  const model::v1::Words words_;
  const uint32_t size_;
};

}  // namespace

std::unique_ptr<SparseBlock> MakeNgramBlock(
    const ColumnPlace& column, size_t slot, const NgramTransform& transform,
    std::optional<PlaceFrequencies> frequencies) {
  return std::make_unique<NgramBlock>(column, slot, transform,
                                      std::move(frequencies));
}

std::unique_ptr<SparseBlock> MakeCrossBlock(const CrossSide& left,
                                            const CrossSide& right,
                                            const CrossTransform& transform) {
  return std::make_unique<CrossBlock>(left, right, transform);
}

}  // namespace sortition
