#include "core/counterfactual/confidence/ratio_blocks.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/confidence/mean_blocks.h"

namespace sortition {
namespace {

TEST(RatioBlocksTest, AMeanHasTheTextbooksError) {
  const Deviations deviations = DeviationsOf(MeanOf({1, 4, 2, 8, 5, 7}));
  EXPECT_DOUBLE_EQ(deviations.value, 4.5);
  // Sample variance 7.5 over 6.
  EXPECT_NEAR(deviations.StandardError(), std::sqrt(7.5 / 6), 1e-12);
  EXPECT_DOUBLE_EQ(deviations.LargestShare(), 3.5 * 3.5 / 37.5);
}

// Of B zeros and ones with mean p, it is (1 - 2p)² / (B p (1 - p)).
TEST(RatioBlocksTest, SkewnessOfRareEventsIsThatOfTheBinomial) {
  std::vector<double> values(400);
  for (size_t i = 0; i < 10; ++i) values[i * 40] = 1;
  const double p = 0.025;
  EXPECT_NEAR(DeviationsOf(MeanOf(values)).SquaredSkewness(),
              (1 - 2 * p) * (1 - 2 * p) / (400 * p * (1 - p)), 1e-12);
  EXPECT_EQ(DeviationsOf(MeanOf({2, 2, 2})).SquaredSkewness(),
            std::numeric_limits<double>::infinity());
}

// Counting a block thrice is having it three times.
TEST(RatioBlocksTest, DrawnBlocksAreThereAsOftenAsTheyWereDrawn) {
  RandomSequence random(SeedKey(1));
  const std::vector<double> counts = {3, 0, 1, 2, 1, 0, 4};
  RatioBlocks blocks(2);
  RatioBlocks repeated(2);
  blocks[0].factor = repeated[0].factor = 2;
  blocks[1].factor = repeated[1].factor = -0.5;
  for (size_t k = 0; k < 2; ++k) {
    for (const double count : counts) {
      const double numerator = random.Normal();
      const double denominator = 1 + random.Uniform();
      blocks[k].numerator.push_back(numerator);
      blocks[k].denominator.push_back(denominator);
      for (int i = 0; i < count; ++i) {
        repeated[k].numerator.push_back(numerator);
        repeated[k].denominator.push_back(denominator);
      }
    }
  }
  const Deviations expected = DeviationsOf(repeated);
  Deviations drawn;
  DeviationsOfDrawn(blocks, counts, &drawn);
  EXPECT_NEAR(drawn.value, expected.value, 1e-14);
  double squares = 0;
  double sum = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    squares += counts[b] * drawn.blocks[b] * drawn.blocks[b];
    sum += counts[b] * drawn.blocks[b];
  }
  EXPECT_NEAR(sum, 0, 1e-14);
  const double size = static_cast<double>(expected.blocks.size());
  EXPECT_NEAR(std::sqrt(squares * size / (size - 1)), expected.StandardError(),
              1e-14);
}

TEST(RatioBlocksTest, ADenominatorOfZeroIsNotKnown) {
  const Deviations deviations = DeviationsOf({{{1, 2}, {1, -1}, 1}});
  EXPECT_FALSE(deviations.is_known);
  EXPECT_EQ(deviations.StandardError(),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace sortition
