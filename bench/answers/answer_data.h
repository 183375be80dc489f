#pragma once
// Questions with candidate sentences, as features.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/features/blocks/feature_matrix.h"
#include "core/features/feature_transform.h"
#include "io/columns/labelled_columns.h"

namespace sortition {

// Questions of one part of the data. A candidate is right if its relevance is
// not 0.
struct AnswerPart {
  std::vector<FeatureMatrix> features;  // By question.
  std::vector<std::vector<uint32_t>> relevances;

  size_t size() const { return features.size(); }
  // Views for learners, where right ones have `relevance`.
  std::vector<LabelledItems> Items(
      uint32_t relevance, std::vector<std::vector<uint32_t>>* store) const;
};

struct AnswerData {
  FeatureTransform transform;
  AnswerPart train;
  AnswerPart validate;
  AnswerPart test;
  // The same questions; of a seeded third the right sentences are taken out,
  // and of these, those without any other sentence are left out.
  AnswerPart triggering_train;
  AnswerPart triggering_validate;
  AnswerPart triggering_test;
};

// Reads selqa-ass-dev.tsv, four fifths of whose questions train and one fifth
// validates, and selqa-ass-test.tsv. Features are declared by `spec` and
// learned from the training questions alone.
absl::StatusOr<AnswerData> ReadAnswerData(const std::string& directory,
                                          const model::v1::FeatureSpec& spec);

}  // namespace sortition
