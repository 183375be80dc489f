#pragma once
// The five folds of a LETOR 4.0 data set [QinLiu13].
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"

namespace sortition {

// The data that views of queries point to. Its elements are never moved.
using LetorFiles = std::deque<LabelledQueries>;

// Reads a file into `files` and returns views of its queries. Errors as
// ReadLetor(). `relevance_cut` as below.
absl::StatusOr<std::vector<LabelledItems>> ReadLetorFile(
    const std::string& path, LetorFiles* files, uint32_t relevance_cut = 0);

inline constexpr size_t kNumFolds = 5;

struct LetorFold {
  std::vector<LabelledItems> train;
  std::vector<LabelledItems> validation;
  std::vector<LabelledItems> test;
};

struct LetorFolds {
  std::shared_ptr<const void> data;  // What the folds view.
  std::array<LetorFold, kNumFolds> folds;
};

// Reads DIR/S1.txt .. S5.txt: fold i trains on parts i, i + 1, i + 2, validates
// on i + 3 and tests on i + 4, cyclically. If there are none, reads
// DIR/Fold1/{train,vali,test}.txt .. Fold5. Errors as ReadLetor(); NotFound if
// DIR has neither. If `relevance_cut` is not 0, labels of at least that become
// 1 and others 0.
absl::StatusOr<LetorFolds> ReadLetorFolds(const std::string& dir,
                                          uint32_t relevance_cut = 0);

}  // namespace sortition
