#include "io/datasets/multilabel.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxLabel = 1000000;

absl::Status ParseLabels(const SvmlightLine& line, absl::string_view token,
                         std::vector<uint32_t>* labels) {
  for (const absl::string_view part : absl::StrSplit(token, ',')) {
    double label = 0;
    RETURN_IF_ERROR(line.ParseNumber(part, "label", &label));
    if (!(label >= 0 && label <= kMaxLabel) || label != std::floor(label)) {
      return line.Error(absl::StrCat(
          "label is ", label, ", must be an integer in [0, ", kMaxLabel, "]"));
    }
    labels->push_back(static_cast<uint32_t>(label));
  }
  std::sort(labels->begin(), labels->end());
  const auto twice = std::adjacent_find(labels->begin(), labels->end());
  if (twice == labels->end()) return absl::OkStatus();
  return line.Error(absl::StrCat("label ", *twice, " occurs twice"));
}

}  // namespace

absl::StatusOr<MultilabelData> ParseMultilabel(absl::string_view text,
                                               const SvmlightOptions& options) {
  MultilabelData data;
  std::vector<SvmlightFeature> features;
  const auto parse = [&](absl::string_view bytes,
                         size_t number) -> absl::Status {
    SvmlightLine line(bytes, number, options);
    std::vector<uint32_t>& labels = data.labels.emplace_back();
    const absl::string_view first = line.NextToken();
    if (first.find(':') == absl::string_view::npos) {
      RETURN_IF_ERROR(ParseLabels(line, first, &labels));
    } else {
      line.Unread();
    }
    RETURN_IF_ERROR(line.ParseFeatures(&features, &data.extreme_values));
    for (const SvmlightFeature& feature : features) {
      data.num_features = std::max(data.num_features, feature.column + 1);
      if (std::isnan(feature.value)) continue;
      data.columns.push_back(feature.column);
      data.values.push_back(feature.value);
    }
    data.row_offsets.push_back(data.columns.size());
    if (!labels.empty()) {
      data.num_labels = std::max(data.num_labels, labels.back() + 1);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachSvmlightLine(text, parse));
  if (data.labels.empty()) return absl::InvalidArgumentError("there is no row");
  if (data.num_features == 0) {
    return absl::InvalidArgumentError("no line has a feature");
  }
  if (data.num_labels == 0) {
    return absl::InvalidArgumentError("no line has a label");
  }
  return data;
}

absl::StatusOr<MultilabelData> ReadMultilabel(const std::string& path,
                                              const SvmlightOptions& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto data = ParseMultilabel(text, options);
  if (!data.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", data.status().message()));
  }
  return data;
}

}  // namespace sortition
