#include "core/learners/labelled/lambda_path.h"

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

absl::StatusOr<std::vector<double>> LambdaPath(
    const google::protobuf::RepeatedField<double>& lambdas, size_t n,
    absl::string_view name) {
  CHECK(n > 0);
  std::vector<double> path(lambdas.begin(), lambdas.end());
  if (path.empty()) {
    for (int power = kMostDoublings; power >= -kMostDoublings; --power) {
      path.push_back(std::exp2(power) / static_cast<double>(n));
    }
  }
  for (const double lambda : path) {
    if (!(lambda > 0 && lambda < HUGE_VAL)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", lambda, ", must be above 0 and finite"));
    }
  }
  std::sort(path.begin(), path.end(), std::greater<>());
  return path;
}

size_t LambdaPathSize(const google::protobuf::RepeatedField<double>& lambdas) {
  return lambdas.empty() ? 2 * kMostDoublings + 1
                         : static_cast<size_t>(lambdas.size());
}

}  // namespace sortition
