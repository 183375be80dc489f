#include "core/features/blocks/derived_blocks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

using model::v1::PolynomialTransform;

class PolynomialBlock : public DenseBlock {
 public:
  PolynomialBlock(const std::vector<FeaturePlace>& features,
                  const PolynomialTransform& transform)
      : features_(features) {
    for (size_t degree = 2; degree <= transform.degree(); ++degree) {
      std::vector<size_t> factors;
      AddProducts(0, degree, transform.only_crosses(), &factors);
    }
  }

  std::vector<std::string> Names() const override {
    std::vector<std::string> names;
    for (const std::vector<size_t>& factors : products_) {
      names.push_back(
          absl::StrJoin(factors, "*", [&](std::string* out, size_t factor) {
            absl::StrAppend(out, features_[factor].name);
          }));
    }
    return names;
  }

  void Apply(const FeatureInput&, const DenseRows& rows, size_t first,
             BlockScratch*) const override {
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      const std::span<double> row = rows.row(i);
      for (size_t k = 0; k < products_.size(); ++k) {
        double product = 1;
        for (const size_t factor : products_[k]) {
          product *= row[features_[factor].index];
        }
        row[first + k] = product;
      }
    }
  }

 private:
  // Adds the products of `factors` and `missing` more, from `begin` on.
  void AddProducts(size_t begin, size_t missing, bool only_crosses,
                   std::vector<size_t>* factors) {
    if (missing == 0) {
      products_.push_back(*factors);
      return;
    }
    for (size_t i = begin; i < features_.size(); ++i) {
      factors->push_back(i);
      AddProducts(only_crosses ? i + 1 : i, missing - 1, only_crosses, factors);
      factors->pop_back();
    }
  }

  const std::vector<FeaturePlace> features_;
  std::vector<std::vector<size_t>> products_;  // Places in features_.
};

class RelativeBlock : public DenseBlock {
 public:
  explicit RelativeBlock(const std::vector<FeaturePlace>& features)
      : features_(features) {}

  std::vector<std::string> Names() const override {
    std::vector<std::string> names;
    for (const FeaturePlace& feature : features_) {
      names.push_back(absl::StrCat("to_best(", feature.name, ")"));
      names.push_back(absl::StrCat("share_below(", feature.name, ")"));
    }
    return names;
  }

  void Apply(const FeatureInput&, const DenseRows& rows, size_t first,
             BlockScratch* scratch) const override {
    for (size_t k = 0; k < features_.size(); ++k) {
      Compare(features_[k].index, rows, first + 2 * k, &scratch->sorted);
    }
  }

 private:
  static void Compare(size_t feature, const DenseRows& rows, size_t out,
                      std::vector<double>* sorted) {
    sorted->clear();
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      sorted->push_back(rows.row(i)[feature]);
    }
    std::sort(sorted->begin(), sorted->end());
    for (uint32_t i = 0; i < rows.num_rows; ++i) {
      const std::span<double> row = rows.row(i);
      const double value = row[feature];
      const auto [low, high] =
          std::equal_range(sorted->begin(), sorted->end(), value);
      const auto below = static_cast<double>(low - sorted->begin());
      const auto ties = static_cast<double>(high - low) - 1;
      row[out] = value - sorted->back();
      row[out + 1] =
          rows.num_rows == 1 ? 0 : (below + ties / 2) / (rows.num_rows - 1.0);
    }
  }

  const std::vector<FeaturePlace> features_;
};

}  // namespace

std::unique_ptr<DenseBlock> MakePolynomialBlock(
    const std::vector<FeaturePlace>& features,
    const PolynomialTransform& transform) {
  return std::make_unique<PolynomialBlock>(features, transform);
}

std::unique_ptr<DenseBlock> MakeRelativeBlock(
    const std::vector<FeaturePlace>& features) {
  return std::make_unique<RelativeBlock>(features);
}

}  // namespace sortition
