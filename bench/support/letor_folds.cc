#include "bench/support/letor_folds.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/datasets/letor.h"

namespace sortition {
namespace {

void Append(const std::vector<LabelledItems>& queries,
            std::vector<LabelledItems>* all) {
  all->insert(all->end(), queries.begin(), queries.end());
}

absl::StatusOr<LetorFolds> FromParts(const std::string& dir, uint32_t cut) {
  const auto files = std::make_shared<LetorFiles>();
  std::array<std::vector<LabelledItems>, kNumFolds> parts;
  for (size_t p = 0; p < kNumFolds; ++p) {
    ASSIGN_OR_RETURN(
        parts[p],
        ReadLetorFile(absl::StrCat(dir, "/S", p + 1, ".txt"), &*files, cut));
  }
  LetorFolds folds;
  folds.data = files;
  for (size_t f = 0; f < kNumFolds; ++f) {
    const auto part = [&](size_t step) {
      return parts[(f + step) % kNumFolds];
    };
    for (const size_t step : {0, 1, 2}) {
      Append(part(step), &folds.folds[f].train);
    }
    folds.folds[f].validation = part(3);
    folds.folds[f].test = part(4);
  }
  return folds;
}

absl::StatusOr<LetorFolds> FromFolds(const std::string& dir, uint32_t cut) {
  const auto files = std::make_shared<LetorFiles>();
  LetorFolds folds;
  folds.data = files;
  for (size_t f = 0; f < kNumFolds; ++f) {
    const std::string fold = absl::StrCat(dir, "/Fold", f + 1);
    LetorFold& into = folds.folds[f];
    ASSIGN_OR_RETURN(into.train,
                     ReadLetorFile(fold + "/train.txt", &*files, cut));
    ASSIGN_OR_RETURN(into.validation,
                     ReadLetorFile(fold + "/vali.txt", &*files, cut));
    ASSIGN_OR_RETURN(into.test,
                     ReadLetorFile(fold + "/test.txt", &*files, cut));
  }
  return folds;
}

}  // namespace

absl::StatusOr<std::vector<LabelledItems>> ReadLetorFile(
    const std::string& path, LetorFiles* files, uint32_t relevance_cut) {
  ASSIGN_OR_RETURN(LabelledQueries file, ReadLetor(path));
  for (LabelledQuery& query : file.queries) {
    CutRelevances(relevance_cut, query.relevances);
  }
  files->push_back(std::move(file));
  std::vector<LabelledItems> queries;
  for (const LabelledQuery& query : files->back().queries) {
    ASSIGN_OR_RETURN(
        const Candidates items,
        Candidates::Dense(query.features, files->back().num_features));
    queries.push_back({items, query.relevances});
  }
  return queries;
}

absl::StatusOr<LetorFolds> ReadLetorFolds(const std::string& dir,
                                          uint32_t relevance_cut) {
  const std::filesystem::path path(dir);
  if (std::filesystem::exists(path / "S1.txt"))
    return FromParts(dir, relevance_cut);
  if (std::filesystem::exists(path / "Fold1"))
    return FromFolds(dir, relevance_cut);
  return absl::NotFoundError(absl::StrCat(
      "letor is ", dir, ": there is neither S1.txt nor Fold1 in it"));
}

}  // namespace sortition
