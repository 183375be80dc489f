#include "bench/support/labelled_rows.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kDigits = 10;
constexpr uint32_t kPixels = 64;
constexpr uint32_t kMaxPixel = 16;
constexpr uint32_t kAdultFeatures = 123;

}  // namespace

size_t LabelledRows::num_positives() const {
  return static_cast<size_t>(std::count(labels.begin(), labels.end(), 1u));
}

absl::StatusOr<LabelledRows> ReadDigits(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  LabelledRows items;
  items.num_features = kPixels + 1;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
    for (size_t j = 0; j < fields.size(); ++j) {
      const uint32_t most = j < kPixels ? kMaxPixel : kDigits - 1;
      uint32_t value = 0;
      if (fields.size() != kPixels + 1 ||
          !absl::SimpleAtoi(fields[j], &value) || value > most) {
        return absl::InvalidArgumentError(absl::StrCat(
            path, ": row ", items.size(), ", field ", j, " of ", fields.size(),
            " is \"", fields[j], "\", must be one of ", kPixels + 1,
            " integers, within [0, ", most, "]"));
      }
      if (j < kPixels) {
        items.features.push_back(static_cast<float>(value) / kMaxPixel);
      } else {
        items.labels.push_back(value);
      }
    }
    items.features.push_back(1);
  }
  return items;
}

absl::StatusOr<LabelledRows> ReadAdultRows(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  LabelledRows items;
  items.num_features = kAdultFeatures + 1;
  std::vector<SvmlightFeature> features;
  const auto parse = [&](absl::string_view bytes,
                         size_t number) -> absl::Status {
    SvmlightLine line(bytes, number);
    double label = 0;
    RETURN_IF_ERROR(line.ParseNumber(line.NextToken(), "label", &label));
    if (label != 1 && label != -1) {
      return line.Error(absl::StrCat("label is ", label, ", must be -1 or 1"));
    }
    uint64_t extreme_values = 0;  // None: they are refused.
    RETURN_IF_ERROR(line.ParseFeatures(&features, &extreme_values));
    items.labels.push_back(label > 0 ? 1 : 0);
    const size_t row = items.features.size();
    items.features.resize(row + items.num_features);
    for (const SvmlightFeature& feature : features) {
      if (feature.column >= kAdultFeatures) {
        return line.Error(absl::StrCat("feature is ", feature.column + 1,
                                       ", must be within [1, ", kAdultFeatures,
                                       "]"));
      }
      items.features[row + feature.column] = feature.value;
    }
    items.features.back() = 1;
    return absl::OkStatus();
  };
  if (const absl::Status status = ForEachSvmlightLine(text, parse);
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.message()));
  }
  return items;
}

}  // namespace sortition
