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

}  // namespace

uint32_t FormatVersionOf(const model::v1::Model& model) {
  bool is_newest = model.policy().plackett_luce().rank_factors_size() > 0;
  for (const auto& transform : model.features().spec().transform()) {
    is_newest = is_newest || WeighsWords(transform);
  }
  return is_newest ? kNewestFormatVersion : 1;
}

}  // namespace sortition
