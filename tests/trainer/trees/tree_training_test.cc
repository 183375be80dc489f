#include "trainer/trees/tree_training.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "core/base/random.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/tied_ranking.h"
#include "core/scoring/tree_ensemble.h"
#include "tests/testing/refusals.h"
#include "tests/trainer/trees/tree_queries.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;

// Mean NDCG@10 by our own scores.
double MeanNdcg(const model::v1::TreeEnsemble& model,
                const std::vector<LabelledItems>& queries) {
  const auto ensemble = TreeEnsemble::Create(model);
  EXPECT_OK(ensemble);
  double sum = 0;
  TreeScratch scratch;
  for (const LabelledItems& query : queries) {
    std::vector<uint32_t> order(query.items.num_candidates());
    std::iota(order.begin(), order.end(), 0u);
    std::vector<double> scores(order.size());
    ensemble->Scores(query.items, order, &scratch, scores);
    sum += Ndcg(TiedRanking(scores, query.relevances), 10);
  }
  return sum / static_cast<double>(queries.size());
}

TreeOptions SmallOptions() {
  TreeOptions options;
  options.set_rounds(60);
  options.set_max_depth(4);
  options.set_learning_rate(0.3);
  return options;
}

TEST(TreeTrainingTest, LearnsWhatNoLinearScoreOrders) {
  const TreeQueries train({.num_queries = 100}, 1);
  const TreeQueries test({}, 2);
  // The order of the best linear score is that of x2 alone; random orders have
  // 0.5, the best ones 1.
  for (const auto objective :
       {TreeOptions::RANK_NDCG, TreeOptions::RANK_PAIRWISE,
        TreeOptions::BINARY_LOGISTIC}) {
    TreeOptions options = SmallOptions();
    options.set_objective(objective);
    ASSERT_OK_AND_ASSIGN(const TrainedTrees trained,
                         TrainTrees(train.views(), {}, options));
    EXPECT_EQ(trained.rounds, 60u);
    EXPECT_EQ(trained.ensemble.trees_size(), 60);
    EXPECT_GT(MeanNdcg(trained.ensemble, test.views()), 0.85);
  }
}

TEST(TreeTrainingTest, KeepsTheBestRound) {
  // Much noise: later rounds are worse.
  const TreeQueries train({.num_queries = 20, .noise = 1}, 3);
  const TreeQueries validation({.num_queries = 20, .noise = 1}, 4);
  TreeOptions options = SmallOptions();
  options.set_rounds(300);
  options.set_patience(10);
  ASSERT_OK_AND_ASSIGN(const TrainedTrees trained,
                       TrainTrees(train.views(), validation.views(), options));
  const auto kept = static_cast<uint32_t>(trained.ensemble.trees_size());
  EXPECT_EQ(trained.rounds, kept + 10);
  EXPECT_NEAR(trained.validation_ndcg,
              MeanNdcg(trained.ensemble, validation.views()), 1e-12);
  // No round before it was as good, and none in the ten after it better.
  options.set_patience(0);
  for (uint32_t rounds = 1; rounds <= trained.rounds; ++rounds) {
    options.set_rounds(rounds);
    ASSERT_OK_AND_ASSIGN(
        const TrainedTrees other,
        TrainTrees(train.views(), validation.views(), options));
    EXPECT_EQ(other.ensemble.trees_size(), static_cast<int>(rounds));
    if (rounds < kept) {
      EXPECT_LT(other.validation_ndcg, trained.validation_ndcg);
    } else {
      EXPECT_LE(other.validation_ndcg, trained.validation_ndcg);
    }
  }
}

TEST(TreeTrainingTest, IsAFunctionOfDataAndOptions) {
  const TreeQueries train({}, 5);
  TreeOptions options = SmallOptions();
  options.set_subsample(0.5);
  ASSERT_OK_AND_ASSIGN(const TrainedTrees one,
                       TrainTrees(train.views(), {}, options));
  ASSERT_OK_AND_ASSIGN(const TrainedTrees same,
                       TrainTrees(train.views(), {}, options));
  EXPECT_EQ(one.ensemble.SerializeAsString(),
            same.ensemble.SerializeAsString());
  options.set_seed(2);
  ASSERT_OK_AND_ASSIGN(const TrainedTrees other,
                       TrainTrees(train.views(), {}, options));
  EXPECT_NE(one.ensemble.SerializeAsString(),
            other.ensemble.SerializeAsString());
}

// Copies of queries whose candidates, and themselves, are in another order.
class Reordered {
 public:
  // Sorts candidates by falling relevance, as real files do; otherwise
  // shuffles them.
  Reordered(std::span<const LabelledItems> queries, bool by_label,
            uint64_t seed) {
    RandomSequence random(SeedKey(seed));
    for (const LabelledItems& query : queries) {
      std::vector<uint32_t> order(query.relevances.size());
      std::iota(order.begin(), order.end(), 0u);
      std::shuffle(order.begin(), order.end(), random);
      if (by_label) {
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
          return query.relevances[a] > query.relevances[b];
        });
      }
      std::vector<float>& values = values_.emplace_back();
      std::vector<uint32_t>& relevances = relevances_.emplace_back();
      const size_t d = query.items.num_features();
      for (const uint32_t i : order) {
        const auto row = query.items.values().subspan(i * d, d);
        values.insert(values.end(), row.begin(), row.end());
        relevances.push_back(query.relevances[i]);
      }
      views_.push_back(
          {Candidates::DenseUnchecked(values, query.items.num_features()),
           relevances});
    }
    if (!by_label) std::shuffle(views_.begin(), views_.end(), random);
  }

  const std::vector<LabelledItems>& views() const { return views_; }

 private:
  std::deque<std::vector<float>> values_;
  std::deque<std::vector<uint32_t>> relevances_;
  std::vector<LabelledItems> views_;
};

// Features of few values, as in real files, make many ties.
TreeQueries CoarseQueries(uint64_t seed) {
  return TreeQueries({.num_queries = 40, .noise = 0.7, .levels = 2}, seed);
}

TEST(TreeTrainingTest, TheOrderOfTheFileDoesNotMatter) {
  const TreeQueries train = CoarseQueries(8);
  const TreeQueries validation = CoarseQueries(9);
  for (const auto objective :
       {TreeOptions::RANK_NDCG, TreeOptions::RANK_PAIRWISE,
        TreeOptions::BINARY_LOGISTIC}) {
    TreeOptions options = SmallOptions();
    options.set_objective(objective);
    options.set_learning_rate(0.1);
    options.set_patience(10);
    const auto trained = [&](bool by_label, uint64_t seed) {
      return *TrainTrees(
          Reordered(train.views(), by_label, seed).views(),
          Reordered(validation.views(), by_label, seed + 1).views(), options);
    };
    const TrainedTrees sorted = trained(true, 1);
    EXPECT_GT(sorted.ensemble.trees_size(), 1);
    for (const uint64_t seed : {3, 5}) {
      const TrainedTrees shuffled = trained(false, seed);
      EXPECT_EQ(sorted.ensemble.SerializeAsString(),
                shuffled.ensemble.SerializeAsString());
      EXPECT_NEAR(sorted.validation_ndcg, shuffled.validation_ndcg, 1e-12);
    }
  }
}

std::vector<float> RelevancesOf(std::span<const LabelledItems> queries,
                                float factor) {
  std::vector<float> all;
  for (const LabelledItems& query : queries) {
    for (const uint32_t relevance : query.relevances) {
      all.push_back(factor * static_cast<float>(relevance));
    }
  }
  return all;
}

// Starting scores that separate every training query widely leave no gradient,
// which shows that they are assigned to the right rows. With perfect validation
// scores no tree can improve.
TEST(TreeTrainingTest, AddsToTheScoresThatItStartsFrom) {
  const TreeQueries train({.num_queries = 20}, 10);
  const TreeQueries validation({.num_queries = 10}, 11);
  const std::vector<float> of_train = RelevancesOf(train.views(), 100);
  const std::vector<float> of_validation = RelevancesOf(validation.views(), 1);
  TreeOptions options = SmallOptions();
  options.set_objective(TreeOptions::RANK_PAIRWISE);
  options.set_rounds(3);
  ASSERT_OK_AND_ASSIGN(const TrainedTrees flat,
                       TrainTrees(train.views(), {}, options, {of_train, {}}));
  for (const auto& tree : flat.ensemble.trees()) {
    for (const double leaf : tree.leaf_values()) EXPECT_NEAR(leaf, 0, 1e-3);
  }
  ASSERT_OK_AND_ASSIGN(
      const TrainedTrees none,
      TrainTrees(train.views(), validation.views(), options,
                 {std::vector<float>(of_train.size()), of_validation}));
  EXPECT_EQ(none.ensemble.trees_size(), 0);
  EXPECT_EQ(none.rounds, 3);
  EXPECT_NEAR(none.validation_ndcg, 1, 1e-12);
  EXPECT_THAT(TrainTrees(train.views(), {}, options, {of_validation, {}}),
              IsInvalidArgument("start has 200 scores for 400 candidates"));
}

TEST(TreeTrainingTest, NamesWhatIsWrong) {
  const TreeQueries train({.num_queries = 3}, 6);
  EXPECT_THAT(TrainTrees({}, {}, {}), IsInvalidArgument("no training queries"));
  TreeOptions options;
  options.set_max_depth(0);
  EXPECT_THAT(TrainTrees(train.views(), {}, options),
              IsInvalidArgument("max_depth"));
  const std::vector<float> features = {1, 2};
  const std::vector<uint32_t> large = {32};
  const std::vector<uint32_t> good = {1};
  const LabelledItems wide{Candidates::DenseUnchecked(features, 2), good};
  EXPECT_THAT(TrainTrees(train.views(), {&wide, 1}, {}),
              IsInvalidArgument("query 0 has 2 features, must have "
                                "6, as the first one"));
  const LabelledItems extreme{Candidates::DenseUnchecked(features, 2), large};
  EXPECT_THAT(TrainTrees({&extreme, 1}, {}, {}),
              IsInvalidArgument("query 0 has a relevance of 32, must be "
                                "at most 31"));
  const TreeQueries sparse({.num_queries = 1, .sparse = true}, 7);
  EXPECT_THAT(TrainTrees(train.views(), sparse.views(), {}),
              IsInvalidArgument("query 0 is sparse, must be as the first"));
}

}  // namespace
}  // namespace sortition
