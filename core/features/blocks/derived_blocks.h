#pragma once
// Features of features: products, and comparisons with other candidates.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/features/blocks/block.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// A feature that is declared before, by its place among the dense ones.
struct FeaturePlace {
  size_t index = 0;
  std::string name;
};

// All products of `transform.degree()` features or fewer, at least two. Their
// order: a*a, a*b, b*b, then a*a*a, a*a*b .. Requires checked messages.
std::unique_ptr<DenseBlock> MakePolynomialBlock(
    const std::vector<FeaturePlace>& features,
    const model::v1::PolynomialTransform& transform);

std::unique_ptr<DenseBlock> MakeRelativeBlock(
    const std::vector<FeaturePlace>& features);

}  // namespace sortition
