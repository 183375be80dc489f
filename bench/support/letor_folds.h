#pragma once
// The five folds of a LETOR 4.0 data set [QinLiu13].
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"

namespace sortition {

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

// From DIR/S1.txt .. S5.txt: fold i trains on parts i, i + 1, i + 2, validates
// on i + 3 and tests on i + 4, cyclically. Else from
// DIR/Fold1/{train,vali,test}.txt .. Fold5. Errors as ReadLetor()'s; NotFound
// naming what is missing where there is neither.
absl::StatusOr<LetorFolds> ReadLetorFolds(const std::string& dir);

}  // namespace sortition
