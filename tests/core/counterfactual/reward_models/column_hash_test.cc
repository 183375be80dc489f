#include "core/counterfactual/reward_models/column_hash.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(ColumnHashTest, RowsThatAreNotWideStayAsTheyAre) {
  const ColumnHash hash(kMaxDirectColumns);
  EXPECT_TRUE(hash.is_identity());
  EXPECT_EQ(hash.num_columns(), kMaxDirectColumns);
  const std::vector<float> row(kMaxDirectColumns, 2.0F);
  EXPECT_EQ(hash.Apply(row, {}).data(), row.data());
  const std::vector<double> coefficients(kMaxDirectColumns, 0.5);
  EXPECT_EQ(hash.Expand(coefficients), coefficients);
}

TEST(ColumnHashTest, ALinearModelPredictsTheSameFromBoth) {
  constexpr uint32_t kFeatures = 3000;
  RandomSequence random(SeedKey(1));
  std::vector<float> row(kFeatures);
  for (float& feature : row) feature = static_cast<float>(random.Normal());
  std::vector<double> coefficients(kHashedColumns);
  for (double& coefficient : coefficients) coefficient = random.Normal();
  const ColumnHash hash(kFeatures);
  std::vector<float> hashed(kHashedColumns);
  hash.Apply(row, hashed);
  double of_columns = 0;
  for (size_t k = 0; k < hashed.size(); ++k) {
    of_columns += coefficients[k] * hashed[k];
  }
  const std::vector<double> expanded = hash.Expand(coefficients);
  ASSERT_EQ(expanded.size(), kFeatures);
  double of_features = 0;
  for (size_t j = 0; j < row.size(); ++j) of_features += expanded[j] * row[j];
  // Columns are sums in single precision.
  EXPECT_NEAR(of_features, of_columns, 1e-3);
}

// The square of a row of 400 ones is 400. Hashed, each pair of them that shares
// a column adds 2 or -2: 79,800 / 512 = 156 pairs. The sum of their signs is
// beyond 62 = 5 standard errors with probability 6e-7; without signs it is 156.
TEST(ColumnHashTest, SignsKeepProductsRightOnAverage) {
  const ColumnHash hash(2000);
  std::vector<float> row(2000);
  for (size_t j = 0; j < 400; ++j) row[5 * j] = 1;
  std::vector<float> hashed(kHashedColumns);
  hash.Apply(row, hashed);
  double square = 0;
  for (const float value : hashed) square += value * value;
  EXPECT_LT(std::abs(square - 400) / 2, 62);
}

}  // namespace
}  // namespace sortition
