#include "io/models/format_version.h"

#include <algorithm>

namespace sortition {
namespace {

using model::v1::TextPairTransform;

bool WeighsWords(const model::v1::Transform& transform) {
  const auto& measures = transform.text_pair().measure();
  return transform.ngrams().idf() || transform.cross().idf() ||
         std::count(measures.begin(), measures.end(),
                    TextPairTransform::TF_IDF_COSINE) > 0;
}

bool ScalesCrossedNumbers(const model::v1::Transform& transform) {
  return transform.cross().log1p() || transform.cross().standardise();
}

}  // namespace

uint32_t FormatVersionOf(const model::v1::Model& model) {
  const auto& transforms = model.features().spec().transform();
  if (std::any_of(transforms.begin(), transforms.end(), ScalesCrossedNumbers)) {
    return 4;
  }
  if (std::any_of(transforms.begin(), transforms.end(), WeighsWords)) return 3;
  return model.policy().plackett_luce().rank_factors_size() > 0 ? 2 : 1;
}

}  // namespace sortition
