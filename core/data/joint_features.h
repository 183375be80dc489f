#pragma once
// Label-sensitive feature maps Ψ(x, j) of an item x and a class j (seed 001,
// sec. 17.2): to classify x is to select among q candidates, row j with the
// features Ψ(x, j). What is made here can be sent to Ranking.Select as it is.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"

namespace sortition {

// Candidates that own their numbers, as compressed sparse rows.
struct JointFeatures {
  std::vector<uint32_t> row_offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  uint32_t num_features = 0;

  // Returns a view of them. Requires a row and num_features above 0.
  Candidates View() const {
    return Candidates::SparseUnchecked(row_offsets, columns, values,
                                       num_features);
  }
};

// Returns the features of example 17.2, q rows of q d features: x in block j of
// q blocks, 0 elsewhere, so that w·Ψ(x, j) = w_j·x for w = (w_0, w_1, ..
// w_q-1). Zeros of x are left out. InvalidArgument where x is empty or has a
// value that is not finite, q is not within [1, 2^31 - 1], or q d is beyond
// 2^32 - 1.
absl::StatusOr<JointFeatures> MultiVectorFeatures(std::span<const float> x,
                                                  uint32_t num_classes);

// Example 17.3, term frequency times inverse document frequency:
//   Ψ_i(x, j) = TF(i, x) log(1 / DF(i, j)),
// where TF(i, x) is how often x contains word i, and DF(i, j) = n_ij / m is the
// share of the m training documents that contain word i and are not of class j.
// A word that no other class contains (n_ij = 0) counts as if half a document
// of another class did, log(2 m): finite, and more than any word of n_ij > 0.
// So a word of no training document has the same weight for all classes, and
// tells none of them apart. q rows of d features, however many classes there
// are. Immutable.
class TfIdf {
 public:
  // Learns from `documents`, one row of d word counts each, and their classes.
  // InvalidArgument where there is no document, there are not as many classes
  // as documents, q is not within [1, 2^31 - 1], a class is not below it, or a
  // count is not within [0, 1e30].
  static absl::StatusOr<TfIdf> Fit(const Candidates& documents,
                                   std::span<const uint32_t> classes,
                                   uint32_t num_classes);

  uint32_t num_classes() const { return num_classes_; }
  uint32_t num_features() const { return num_features_; }  // d

  // Returns log(1 / DF(word, label)). Requires both within range.
  double InverseDocumentFrequency(uint32_t word, uint32_t label) const {
    return weights_[static_cast<size_t>(word) * num_classes_ + label];
  }

  // Returns the features of a document from its d word counts. InvalidArgument
  // where there are not d counts, one is not within [0, 1e30], or all rows
  // together would have more than 2^32 - 1 numbers.
  absl::StatusOr<JointFeatures> Map(std::span<const float> counts) const;

 private:
  TfIdf(uint32_t num_features, uint32_t num_classes);

  uint32_t num_features_;
  uint32_t num_classes_;
  std::vector<double> weights_;  // d × q, by rows.
};

}  // namespace sortition
