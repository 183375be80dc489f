#include "bench/papers/games/binary_problems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/support/shuffle.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr uint32_t kDigits = 10;

LabelledRows DigitAgainstRest(const LabelledRows& digits, uint32_t digit) {
  LabelledRows items = digits;
  for (uint32_t& label : items.labels) label = label == digit ? 1 : 0;
  return items;
}

LabelledRows Select(const LabelledRows& items,
                    std::span<const uint32_t> indexes) {
  LabelledRows selected;
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

absl::StatusOr<std::vector<BinaryProblem>> ReadOptdigits(
    const std::string& directory) {
  ASSIGN_OR_RETURN(const LabelledRows train,
                   ReadDigits(absl::StrCat(directory, "/optdigits.tra")));
  ASSIGN_OR_RETURN(const LabelledRows test,
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
  ASSIGN_OR_RETURN(problem.train,
                   ReadAdultRows(absl::StrCat(directory, "/a3a")));
  ASSIGN_OR_RETURN(problem.test,
                   ReadAdultRows(absl::StrCat(directory, "/a3a.t")));
  return problem;
}

HoldOut HoldOutThird(const LabelledRows& items, uint64_t seed) {
  std::vector<uint32_t> order = IndexesUpTo<uint32_t>(items.size());
  RandomSequence random(SeedKey(seed));
  Shuffle<uint32_t>(order, &random);
  const std::span<const uint32_t> all(order);
  const size_t third = order.size() / 3;
  return {Select(items, all.subspan(third)), Select(items, all.first(third))};
}

}  // namespace sortition
