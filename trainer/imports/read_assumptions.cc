#include "trainer/imports/read_assumptions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "io/datasets/label_file_options.h"

namespace sortition {

using Assumption = config::v1::LabelledReport::Assumption;

void ReadAssumptions::Add(const std::string& path,
                          const LabelledQueries& file) {
  for (const LabelledQuery& query : file.queries) {
    values_ += query.features.size();
  }
  absent_values_ += file.absent_values;
  extreme_values_ += file.extreme_values;
  if (!file.groups.empty()) {
    groups_.push_back(absl::StrCat(path, " by ", file.groups));
  }
}

std::vector<Assumption> ReadAssumptions::Of(
    const config::v1::LabelFileOptions& options) const {
  std::vector<Assumption> assumptions;
  const auto add = [&](absl::string_view option, std::string sentence) {
    Assumption& assumption = assumptions.emplace_back();
    assumption.set_option(std::string(option));
    assumption.set_sentence(std::move(sentence));
  };
  add("first_feature",
      absl::StrCat("features of the label files are numbered from ",
                   options.first_feature()));
  if (absent_values_ > 0) {
    add("absent features",
        absl::StrFormat("%.3g %% of the values are not stated by their lines; "
                        "to weights they are 0",
                        100 * static_cast<double>(absent_values_) /
                            static_cast<double>(values_)));
  }
  if (extreme_values_ > 0) {
    add("extreme_values",
        ExtremeValuesNote(options, "the label files", extreme_values_));
  }
  if (!groups_.empty()) {
    add("groups", absl::StrCat("lines without qid are grouped: ",
                               absl::StrJoin(groups_, ", ")));
  }
  return assumptions;
}

}  // namespace sortition
