#pragma once
// A model with columns of every type, every transform, trees and hidden units.
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/made_up_columns.h"
#include "google/protobuf/text_format.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/core/scoring/random_trees.h"

namespace sortition {

inline constexpr char kColumnSpec[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'stars' type: NUMBER missing: true }
  column { name: 'color' type: CATEGORY text: 'none' }
  column { name: 'tags' type: CATEGORY_SET }
  column { name: 'sentence' type: TEXT }
  column { name: 'place' type: VECTOR size: 3 }
  column { name: 'question' type: TEXT scope: QUERY }
  column { name: 'city' type: CATEGORY scope: QUERY }
  column { name: 'age' type: NUMBER scope: QUERY number: 30 }
  column { name: 'home' type: VECTOR size: 3 scope: QUERY }
}
transform { number { column: 'price' standardise: true log1p: true } }
transform { number { column: 'stars' missing_indicator: true } }
transform { number { column: 'age' quantile_bins: 4 } }
transform { vocabulary { column: 'color' most_values: 10
                         unknown_indicator: true } }
transform { hash { column: 'tags' bits: 8 } }
transform { cross { left: 'city' right: 'color' bits: 8 } }
transform { ngrams { column: 'sentence' longest: 2 bits: 10
                     words { stemmer: 'english' } } }
transform { text_pair { query: 'question' candidate: 'sentence'
                        words { stemmer: 'english' }
                        measure: [BM25, IDF_OVERLAP, BIGRAM_OVERLAP,
                                  NUMBER_AGREEMENT, ANSWER_TYPE] } }
transform { vector { column: 'place' standardise: true } }
transform { cosine { left: 'home' right: 'place' } }
transform { relative { feature: 'bm25(question,sentence)' } }
)";

inline model::v1::FeatureSpec ColumnSpec() {
  model::v1::FeatureSpec spec;
  CHECK(google::protobuf::TextFormat::ParseFromString(kColumnSpec, &spec));
  return spec;
}

// `seed` decides what was learned, so that versions differ.
inline model::v1::Model MakeColumnModel(const std::string& name,
                                        uint64_t seed) {
  const model::v1::FeatureSpec spec = ColumnSpec();
  const Schema schema = *Schema::Create(spec.schema());
  RandomSequence random(SeedKey(seed));
  std::vector<v1::Columns> queries;
  for (int i = 0; i < 40; ++i) {
    queries.push_back(MakeUpColumns(schema, 5, &random));
  }
  const auto features =
      LearnFeatures(spec, [&](QueryVisitor visit) -> absl::Status {
        for (const v1::Columns& query : queries) {
          const absl::Status status = visit(query);
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      });
  CHECK(features.ok());
  model::v1::Model model;
  model.set_name(name);
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
  *model.mutable_features() = *features;
  const uint32_t d = FeatureTransform::Create(*features)->num_features();
  model.set_num_features(d);
  *model.mutable_trees() = RandomTrees({.num_features = d}, &random);
  constexpr uint32_t kUnits = 2;
  model.mutable_hidden_layer()->set_num_units(kUnits);
  for (uint32_t i = 0; i < d * kUnits; ++i) {
    model.mutable_hidden_layer()->add_weights(0.3 * random.Normal());
  }
  for (uint32_t i = 0; i < kUnits; ++i) {
    model.mutable_hidden_layer()->add_biases(random.Normal());
  }
  for (uint32_t i = 0; i < d + 1 + kUnits; ++i) {
    model.add_weights(0.3 * random.Normal());
  }
  return model;
}

}  // namespace sortition
