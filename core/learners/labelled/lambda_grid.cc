#include "core/learners/labelled/lambda_grid.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace sortition {
namespace {

constexpr int kMostDoublings = 6;

}  // namespace

absl::StatusOr<std::vector<double>> LambdaGrid(
    const google::protobuf::RepeatedField<double>& lambdas, size_t n,
    absl::string_view name) {
  CHECK(n > 0);
  std::vector<double> grid(lambdas.begin(), lambdas.end());
  if (grid.empty()) {
    for (int power = kMostDoublings; power >= -kMostDoublings; --power) {
      grid.push_back(std::exp2(power) / static_cast<double>(n));
    }
  }
  for (const double lambda : grid) {
    if (!(lambda > 0 && lambda < HUGE_VAL)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", lambda, ", must be above 0 and finite"));
    }
  }
  std::sort(grid.begin(), grid.end(), std::greater<>());
  return grid;
}

size_t LambdaGridSize(const google::protobuf::RepeatedField<double>& lambdas) {
  return lambdas.empty() ? 2 * kMostDoublings + 1
                         : static_cast<size_t>(lambdas.size());
}

}  // namespace sortition
