#pragma once
// The sets of labelled queries on which trees are compared with linear
// learners.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"

namespace sortition {

struct TreeSet {
  std::string name;
  // True if no linear score gives the order of the labels.
  bool has_interactions = false;
  std::shared_ptr<const void> data;  // Owns the data that the folds view.
  std::vector<LetorFold> folds;
};

// Returns three simulated sets of 100 training, 30 validation and 200 test
// queries of 20 candidates, in three folds each: labels by a linear score; by
// products and conjunctions of features; by thresholds and saturating features.
std::vector<TreeSet> SyntheticTreeSets();

// Errors as ReadLetorFolds().
absl::StatusOr<TreeSet> ReadLetorSet(const std::string& dir);

// Reads the three parts from files: LETOR or, if `features` names a
// FeatureSpec, files with columns. Features learn from the training part alone.
// Errors name the file.
absl::StatusOr<TreeSet> ReadFileSet(const std::string& train,
                                    const std::string& validation,
                                    const std::string& test,
                                    const std::string& features);

// Reads SelQA: every fifth question of selqa-ass-dev.tsv validates, the others
// train; selqa-ass-test.tsv tests.
absl::StatusOr<TreeSet> ReadSelqaSet(const std::string& dir,
                                     const std::string& features);

}  // namespace sortition
