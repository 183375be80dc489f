// Other uses of a decision id do not depend on what was drawn for it.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// The split into training and test must not depend on what was drawn: over 1e5
// ids the correlation of independent numbers has standard deviation 1/√1e5,
// exceeded 4 times with probability 6e-5 (fixed ids).
TEST(SplitIndependenceTest, SplitIsIndependentOfTheAction) {
  constexpr int kIds = 100000;
  const LinearPolicy policy = LinearPolicy::Uniform(ActionKind::kSelect, false);
  const std::vector<float> features(10, 0);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 1);
  PolicyWorkspace workspace;
  Draw draw;
  double sum_xy = 0;
  double sum_xx = 0;
  double sum_yy = 0;
  for (int i = 0; i < kIds; ++i) {
    const std::string id = absl::StrCat("decision-", i);
    policy.Decide(query, DecisionKey("default", 1, id), &workspace, &draw);
    const double x = draw.action[0] - 4.5;
    const double y = UnitInterval(StableHash(HashDomain::kSplit, {id})) - 0.5;
    sum_xy += x * y;
    sum_xx += x * x;
    sum_yy += y * y;
  }
  EXPECT_LT(std::abs(sum_xy) / std::sqrt(sum_xx * sum_yy), 4 / std::sqrt(kIds));
}

}  // namespace
}  // namespace sortition
