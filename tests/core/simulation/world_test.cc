#include "core/simulation/world.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/data/action.h"
#include "core/simulation/user_model.h"
#include "io/datasets/letor.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

double Score(const LabelledQuery& query, size_t document_index,
             const std::vector<double>& weights) {
  double score = 0;
  for (size_t j = 0; j < weights.size(); ++j) {
    score +=
        weights[j] * static_cast<double>(
                         query.features[document_index * weights.size() + j]);
  }
  return score;
}

// The mean expected reward of the best-scored candidate, or of no answer if its
// score is below `threshold`.
double RewardOfLinear(const LabelledQueries& world,
                      const std::vector<double>& weights, double threshold) {
  const UserModel user({});
  double sum = 0;
  for (const LabelledQuery& query : world.queries) {
    int32_t best = kAbstain;
    double best_score = threshold;
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      const double score = Score(query, i, weights);
      if (score < best_score) continue;
      best_score = score;
      best = static_cast<int32_t>(i);
    }
    sum += user.ExpectedSelectReward(query.relevances, best);
  }
  return sum / static_cast<double>(world.queries.size());
}

TEST(WorldTest, IsAFunctionOfItsOptions) {
  config::v1::WorldOptions options;
  options.set_queries(50);
  ASSERT_OK_AND_ASSIGN(const LabelledQueries world, MakeWorld(options));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries again, MakeWorld(options));
  EXPECT_EQ(FormatLetor(world), FormatLetor(again));
  options.set_seed(8);
  ASSERT_OK_AND_ASSIGN(const LabelledQueries other, MakeWorld(options));
  EXPECT_NE(FormatLetor(world), FormatLetor(other));
}

TEST(WorldTest, MoreQueriesBeginWithTheSameOnes) {
  config::v1::WorldOptions options;
  options.set_queries(5);
  ASSERT_OK_AND_ASSIGN(const LabelledQueries few, MakeWorld(options));
  options.set_queries(9);
  ASSERT_OK_AND_ASSIGN(const LabelledQueries more, MakeWorld(options));
  for (size_t i = 0; i < few.queries.size(); ++i) {
    EXPECT_EQ(few.queries[i].features, more.queries[i].features);
  }
}

TEST(WorldTest, SurvivesLetorText) {
  config::v1::WorldOptions options;
  options.set_queries(20);
  ASSERT_OK_AND_ASSIGN(const LabelledQueries world, MakeWorld(options));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries read,
                       ParseLetor(FormatLetor(world)));
  ASSERT_EQ(read.num_features, world.num_features);
  ASSERT_EQ(read.queries.size(), world.queries.size());
  for (size_t i = 0; i < world.queries.size(); ++i) {
    EXPECT_EQ(read.queries[i].features, world.queries[i].features);
    EXPECT_EQ(read.queries[i].relevances, world.queries[i].relevances);
  }
}

TEST(WorldTest, HasTheShapeThatItsOptionsSay) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries world, MakeWorld({}));
  ASSERT_EQ(world.queries.size(), 2000u);
  EXPECT_EQ(world.num_features, 20u);
  std::set<size_t> sizes;
  std::set<uint32_t> relevances;
  int unanswerable = 0;
  for (const LabelledQuery& query : world.queries) {
    sizes.insert(query.relevances.size());
    relevances.insert(query.relevances.begin(), query.relevances.end());
    EXPECT_EQ(query.features.size(), 20 * query.relevances.size());
    unanswerable += *std::max_element(query.relevances.begin(),
                                      query.relevances.end()) == 0;
  }
  EXPECT_EQ(*sizes.begin(), 5u);
  EXPECT_EQ(*sizes.rbegin(), 50u);
  EXPECT_EQ(relevances, (std::set<uint32_t>{0, 1, 2}));
  // Binomial(2000, 1/4): standard deviation 19.4; five of them.
  EXPECT_NEAR(unanswerable, 500, 97);
}

TEST(WorldTest, RefusesAnEmptyRangeOfCandidates) {
  config::v1::WorldOptions options;
  options.set_min_candidates(9);
  options.set_max_candidates(8);
  EXPECT_THAT(MakeWorld(options),
              IsInvalidArgument("min_candidates is 9", "max_candidates = 8"));
}

TEST(WorldTest, HiddenWeightsAreAUnitVectorWithUselessFeatures) {
  const std::vector<double> weights = internal::HiddenWeights({});
  double squares = 0;
  for (const double weight : weights) squares += weight * weight;
  EXPECT_NEAR(squares, 1, 1e-12);
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 0.0), 8);  // 40 % of 20.
}

TEST(WorldTest, AThresholdOnALinearScoreNearlyAnswersItAll) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries world, MakeWorld({}));
  // If all answers are right: 3/4 · 0.95 + 1/4 · 0.3 = 0.7875.
  const double middle = (internal::kGoodQuality + internal::kPoorQuality) / 2;
  EXPECT_GT(RewardOfLinear(world, internal::HiddenWeights({}), middle), 0.76);
}

TEST(WorldTest, OneFeatureIsNotEnough) {
  ASSERT_OK_AND_ASSIGN(const LabelledQueries world, MakeWorld({}));
  const std::vector<double> hidden = internal::HiddenWeights({});
  std::vector<double> single(hidden.size(), 0.0);
  const auto largest = std::max_element(
      hidden.begin(), hidden.end(),
      [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  single[largest - hidden.begin()] = *largest > 0 ? 1 : -1;
  double best = 0;
  for (double threshold = -1; threshold < 4; threshold += 0.25) {
    best = std::max(best, RewardOfLinear(world, single, threshold));
  }
  // Never answering is worth 0.3; a linear policy gains at most a third of what
  // lies above it.
  EXPECT_LT(best, 0.3 + (0.7875 - 0.3) / 3);
}

}  // namespace
}  // namespace sortition
