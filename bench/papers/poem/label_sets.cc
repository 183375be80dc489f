#include "bench/papers/poem/label_sets.h"

#include <cstdint>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/labelled_rows.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint32_t kDigits = 10;

// With one label, the rows of class 1 have it; with more, the rows of class l
// have label l alone.
LabelledContexts ToContexts(const LabelledRows& rows, uint32_t num_labels) {
  LabelledContexts all;
  all.contexts.num_features = rows.num_features;
  all.contexts.num_labels = num_labels;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (uint32_t j = 0; j < rows.num_features; ++j) {
      const float value = rows.features[i * rows.num_features + j];
      if (value == 0) continue;
      all.contexts.columns.push_back(j);
      all.contexts.values.push_back(value);
    }
    all.contexts.row_offsets.push_back(all.contexts.values.size());
    for (uint32_t l = 0; l < num_labels; ++l) {
      all.labels.push_back(rows.labels[i] == (num_labels == 1 ? 1 : l) ? 1 : 0);
    }
  }
  return all;
}

absl::StatusOr<LabelData> ReadSet(const std::string& name,
                                  const std::string& folder) {
  if (name == "optdigits") {
    ASSIGN_OR_RETURN(const LabelledRows train,
                     ReadDigits(absl::StrCat(folder, "/optdigits.tra")));
    ASSIGN_OR_RETURN(const LabelledRows test,
                     ReadDigits(absl::StrCat(folder, "/optdigits.tes")));
    return LabelData{ToContexts(train, kDigits), ToContexts(test, kDigits)};
  }
  if (name == "adult") {
    ASSIGN_OR_RETURN(const LabelledRows train,
                     ReadAdultRows(absl::StrCat(folder, "/a3a")));
    ASSIGN_OR_RETURN(const LabelledRows test,
                     ReadAdultRows(absl::StrCat(folder, "/a3a.t")));
    return LabelData{ToContexts(train, 1), ToContexts(test, 1)};
  }
  return ReadLabelData(absl::StrCat(folder, "/", name, "_train.svm"),
                       absl::StrCat(folder, "/", name, "_test.svm"));
}

}  // namespace

absl::StatusOr<std::vector<LabelSet>> ReadLabelSets(
    const std::string& directory) {
  std::vector<LabelSet> sets;
  for (const std::string name : {"scene", "yeast", "optdigits", "adult"}) {
    const std::string folder = absl::StrCat(directory, "/", name);
    if (!std::filesystem::is_directory(folder)) {
      absl::PrintF("%s: skipped, %s is not a directory\n", name, folder);
      continue;
    }
    ASSIGN_OR_RETURN(LabelData data, ReadSet(name, folder));
    sets.push_back({name, std::move(data)});
  }
  return sets;
}

}  // namespace sortition
