#include "bench/papers/binary_problems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/support/shuffle.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kDigits = 10;
constexpr uint32_t kPixels = 64;
constexpr uint32_t kMaxPixel = 16;
constexpr uint32_t kAdultFeatures = 123;

// Reads images of digits; the labels are the digits.
absl::StatusOr<BinaryItems> ReadDigits(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  BinaryItems items;
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

BinaryItems DigitAgainstRest(const BinaryItems& digits, uint32_t digit) {
  BinaryItems items = digits;
  for (uint32_t& label : items.labels) label = label == digit ? 1 : 0;
  return items;
}

// Reads SVMlight lines with labels -1 and 1.
absl::StatusOr<BinaryItems> ReadSigns(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  BinaryItems items;
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
    RETURN_IF_ERROR(line.ParseFeatures(&features));
    items.labels.push_back(label > 0 ? 1 : 0);
    const size_t row = items.features.size();
    items.features.resize(row + items.num_features);
    for (const SvmlightFeature& feature : features) {
      if (feature.number > kAdultFeatures) {
        return line.Error(absl::StrCat("feature is ", feature.number,
                                       ", must be within [1, ", kAdultFeatures,
                                       "]"));
      }
      items.features[row + feature.number - 1] = feature.value;
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

BinaryItems Select(const BinaryItems& items,
                   std::span<const uint32_t> indexes) {
  BinaryItems selected;
  selected.num_features = items.num_features;
  for (const uint32_t i : indexes) {
    const auto row =
        items.features.begin() + static_cast<size_t>(i) * items.num_features;
    selected.features.insert(selected.features.end(), row,
                             row + items.num_features);
    selected.labels.push_back(items.labels[i]);
  }
  return selected;
}

}  // namespace

size_t BinaryItems::num_positives() const {
  return static_cast<size_t>(std::count(labels.begin(), labels.end(), 1u));
}

absl::StatusOr<std::vector<BinaryProblem>> ReadOptdigits(
    const std::string& directory) {
  ASSIGN_OR_RETURN(const BinaryItems train,
                   ReadDigits(absl::StrCat(directory, "/optdigits.tra")));
  ASSIGN_OR_RETURN(const BinaryItems test,
                   ReadDigits(absl::StrCat(directory, "/optdigits.tes")));
  std::vector<BinaryProblem> problems;
  for (uint32_t digit = 0; digit < kDigits; ++digit) {
    problems.push_back(
        {DigitAgainstRest(train, digit), DigitAgainstRest(test, digit)});
  }
  return problems;
}

absl::StatusOr<BinaryProblem> ReadAdult(const std::string& directory) {
  BinaryProblem problem;
  ASSIGN_OR_RETURN(problem.train, ReadSigns(absl::StrCat(directory, "/a3a")));
  ASSIGN_OR_RETURN(problem.test, ReadSigns(absl::StrCat(directory, "/a3a.t")));
  return problem;
}

HoldOut HoldOutThird(const BinaryItems& items, uint64_t seed) {
  std::vector<uint32_t> order = IndexesUpTo<uint32_t>(items.size());
  RandomSequence random(SeedKey(seed));
  Shuffle<uint32_t>(order, &random);
  const std::span<const uint32_t> all(order);
  const size_t third = order.size() / 3;
  return {Select(items, all.subspan(third)), Select(items, all.first(third))};
}

}  // namespace sortition
