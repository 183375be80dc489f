#include "core/features/blocks/number_blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/stable_math.h"
#include "core/features/text/word_vectors.h"

namespace sortition {
namespace {

using model::v1::LearnedTransform;
using model::v1::NumberTransform;
using model::v1::VectorTransform;

// One value, or an indicator for each bin.
class NumberBlock : public DenseBlock {
 public:
  NumberBlock(const ColumnPlace& column, const NumberTransform& transform,
              const LearnedTransform& learned)
      : column_(column),
        transform_(transform),
        edges_(learned.edges().begin(), learned.edges().end()),
        fill_(learned.fill()) {
    if (transform.standardise()) {
      mean_ = learned.mean(0);
      scale_ = learned.scale(0);
    }
  }

  std::vector<std::string> Names() const override {
    const std::string name = transform_.log1p()
                                 ? absl::StrCat("log1p(", column_.name, ")")
                                 : column_.name;
    std::vector<std::string> names;
    if (transform_.quantile_bins() == 0) names.push_back(name);
    for (size_t i = 0; transform_.quantile_bins() > 0 && i <= edges_.size();
         ++i) {
      names.push_back(absl::StrCat(name, "#", i));
    }
    if (transform_.missing_indicator()) {
      names.push_back(absl::StrCat("missing(", column_.name, ")"));
    }
    return names;
  }

  void Apply(const FeatureInput& input, const DenseRows& rows, size_t first,
             BlockScratch*) const override {
    const BoundColumn& column = input.columns->column(column_.index);
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      double* out = rows.row(i).data() + first;
      const bool missing = column.Missing(i);
      std::optional<double> number;
      if (!missing) {
        number = column.Number(i);
      } else if (transform_.has_missing_value()) {
        number = transform_.missing_value();
      }
      out = transform_.quantile_bins() > 0 ? WriteBins(number, out)
                                           : WriteValue(number, out);
      if (transform_.missing_indicator()) *out = missing ? 1 : 0;
    }
  }

 private:
  double* WriteValue(std::optional<double> number, double* out) const {
    const double value =
        number.has_value() ? PreparedNumber(transform_, *number) : fill_;
    *out = (value - mean_) / scale_;
    return out + 1;
  }

  double* WriteBins(std::optional<double> number, double* out) const {
    std::fill_n(out, edges_.size() + 1, 0.0);
    if (number.has_value()) {
      const double value = PreparedNumber(transform_, *number);
      out[std::upper_bound(edges_.begin(), edges_.end(), value) -
          edges_.begin()] = 1;
    }
    return out + edges_.size() + 1;
  }

  const ColumnPlace column_;
  const NumberTransform transform_;
  const std::vector<double> edges_;
  const double fill_;
  double mean_ = 0;
  double scale_ = 1;
};

class VectorBlock : public DenseBlock {
 public:
  VectorBlock(const ColumnPlace& column, uint32_t size,
              const VectorTransform& transform, const LearnedTransform& learned)
      : column_(column), mean_(size, 0.0), scale_(size, 1.0) {
    if (!transform.standardise()) return;
    mean_.assign(learned.mean().begin(), learned.mean().end());
    scale_.assign(learned.scale().begin(), learned.scale().end());
  }

  std::vector<std::string> Names() const override {
    std::vector<std::string> names;
    for (size_t i = 0; i < mean_.size(); ++i) {
      names.push_back(absl::StrCat(column_.name, "#", i));
    }
    return names;
  }

  void Apply(const FeatureInput& input, const DenseRows& rows, size_t first,
             BlockScratch*) const override {
    const BoundColumn& column = input.columns->column(column_.index);
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      double* const out = rows.row(i).data() + first;
      if (column.Missing(i)) {
        std::fill_n(out, mean_.size(), 0.0);
        continue;
      }
      const std::span<const float> vector = column.Vector(i);
      for (size_t j = 0; j < mean_.size(); ++j) {
        out[j] = (static_cast<double>(vector[j]) - mean_[j]) / scale_[j];
      }
    }
  }

 private:
  const ColumnPlace column_;
  std::vector<double> mean_;
  std::vector<double> scale_;
};

class CosineBlock : public DenseBlock {
 public:
  CosineBlock(const ColumnPlace& left, const ColumnPlace& right)
      : left_(left), right_(right) {}

  std::vector<std::string> Names() const override {
    return {absl::StrCat("cosine(", left_.name, ",", right_.name, ")")};
  }

  void Apply(const FeatureInput& input, const DenseRows& rows, size_t first,
             BlockScratch* scratch) const override {
    const BoundColumn& left = input.columns->column(left_.index);
    const BoundColumn& right = input.columns->column(right_.index);
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      double& out = rows.row(i)[first];
      out = 0;
      if (left.Missing(i) || right.Missing(i)) continue;
      const std::span<const float> a = left.Vector(i), b = right.Vector(i);
      scratch->query_sums.assign(a.begin(), a.end());
      scratch->sums.assign(b.begin(), b.end());
      out = Cosine(scratch->query_sums, scratch->sums);
    }
  }

 private:
  const ColumnPlace left_;
  const ColumnPlace right_;
};

}  // namespace

double SignedLog1p(double x) {
  const double size = std::abs(x);
  return std::copysign(size < 1 ? stable::Log1p(size) : stable::Log(1 + size),
                       x);
}

double PreparedNumber(const NumberTransform& transform, double x) {
  if (transform.log1p()) x = SignedLog1p(x);
  if (transform.has_clip_min()) x = std::max(x, transform.clip_min());
  if (transform.has_clip_max()) x = std::min(x, transform.clip_max());
  return x;
}

std::unique_ptr<DenseBlock> MakeNumberBlock(const ColumnPlace& column,
                                            const NumberTransform& transform,
                                            const LearnedTransform& learned) {
  return std::make_unique<NumberBlock>(column, transform, learned);
}

std::unique_ptr<DenseBlock> MakeVectorBlock(const ColumnPlace& column,
                                            uint32_t size,
                                            const VectorTransform& transform,
                                            const LearnedTransform& learned) {
  return std::make_unique<VectorBlock>(column, size, transform, learned);
}

std::unique_ptr<DenseBlock> MakeCosineBlock(const ColumnPlace& left,
                                            const ColumnPlace& right) {
  return std::make_unique<CosineBlock>(left, right);
}

}  // namespace sortition
