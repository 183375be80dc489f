#include "core/learners/counterfactual/feature_block.h"

#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "core/learners/counterfactual/candidate_loss_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAreArray;

const LinearFamily kRankings{.action_kind = ActionKind::kRank,
                             .num_features = 7,
                             .uniform_mixture = 0.1};

// Stores features in a string.
class StringStore : public FeatureStore {
 public:
  // Moves them out of the tuple.
  void Store(BanditTuple* tuple) {
    tuple->stored = {
        .store = this,
        .offset = bytes_.size(),
        .num_values = static_cast<uint32_t>(tuple->values.size()),
        .num_row_offsets = static_cast<uint32_t>(tuple->row_offsets.size())};
    Take(&tuple->values);
    Take(&tuple->row_offsets);
    Take(&tuple->columns);
    EXPECT_EQ(bytes_.size(), tuple->stored.offset + tuple->stored.bytes());
  }
  void Read(uint64_t offset, void* data, size_t size) const override {
    ASSERT_LE(offset + size, bytes_.size());
    std::memcpy(data, &bytes_[offset], size);
  }

 private:
  template <typename T>
  void Take(std::vector<T>* values) {
    bytes_.append(reinterpret_cast<const char*>(values->data()),
                  values->size() * sizeof(T));
    *values = {};
  }
  std::string bytes_;
};

// Dense and sparse tuples, and the same tuples with the features of two in
// three in a store.
class FeatureBlockTest : public testing::Test {
 protected:
  FeatureBlockTest() {
    for (size_t i = 0; i < stored_.size(); ++i) {
      if (i % 3 > 0) store_.Store(&stored_[i]);
    }
    // Loads more tuples than fit at once, none of them at its own place.
    for (uint32_t i = 0; i < stored_.size(); ++i) {
      order_.push_back((i * 7 + 3) % static_cast<uint32_t>(stored_.size()));
    }
  }

  const std::vector<BanditTuple> tuples_ = RandomTuples(kRankings, 300, 5);
  std::vector<BanditTuple> stored_ = tuples_;
  StringStore store_;
  std::vector<uint32_t> order_;
};

TEST_F(FeatureBlockTest, GivesStoredFeaturesInAnyOrder) {
  FeatureBlock block;
  block.Assign(stored_, order_);
  for (const size_t k : {0, 1, 127, 128, 2, 299, 298, 0}) {
    const Candidates expected = tuples_[order_[k]].candidates();
    const Candidates& candidates = block[k];
    EXPECT_EQ(candidates.num_features(), 7);
    EXPECT_EQ(candidates.num_candidates(), expected.num_candidates());
    EXPECT_EQ(stored_[order_[k]].num_candidates(), expected.num_candidates());
    EXPECT_THAT(candidates.values(), ElementsAreArray(expected.values()));
    EXPECT_THAT(candidates.columns(), ElementsAreArray(expected.columns()));
    EXPECT_THAT(candidates.row_offsets(),
                ElementsAreArray(expected.row_offsets()));
  }
}

TEST_F(FeatureBlockTest, GivesOneRow) {
  FeatureBlock block;
  std::vector<double> weights = {1, 2, 3, 4, 5, 6, 7};
  for (size_t i = 0; i < tuples_.size(); ++i) {
    const uint32_t last =
        static_cast<uint32_t>(tuples_[i].num_candidates()) - 1;
    const auto [candidates, row] = block.LoadRow(stored_[i], last);
    EXPECT_EQ(candidates.Score(row, weights),
              tuples_[i].candidates().Score(last, weights));
  }
}

TEST_F(FeatureBlockTest, ThePolicyComputesTheSameBits) {
  RandomSequence random(SeedKey(1));
  const Eigen::VectorXd point = RandomPoint(kRankings, &random);
  std::vector<std::vector<double>> values;
  std::vector<Eigen::VectorXd> gradients;
  for (const auto* tuples : {&tuples_, &std::as_const(stored_)}) {
    ASSERT_OK_AND_ASSIGN(LinearTuplePolicy policy,
                         LinearTuplePolicy::Create(kRankings, *tuples));
    values.emplace_back(order_.size());
    policy.LogProbabilities(point, order_, values.back());
    gradients.emplace_back(Eigen::VectorXd::Zero(kRankings.dimension()));
    policy.AddGradient(values.back(), &gradients.back());
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_GT(gradients[0].norm(), 0);
}

TEST_F(FeatureBlockTest, TheLossModelComputesTheSameBits) {
  RandomSequence random(SeedKey(2));
  const Eigen::VectorXd point = RandomPoint(kRankings, &random);
  std::vector<double> losses;
  for (const BanditTuple& tuple : tuples_) losses.push_back(tuple.loss);
  std::vector<std::vector<double>> values;
  std::vector<Eigen::VectorXd> gradients;
  for (const auto* tuples : {&tuples_, &std::as_const(stored_)}) {
    ASSERT_OK_AND_ASSIGN(
        const CandidateLossModel fitted,
        CandidateLossModel::Fit(kRankings, *tuples, losses, {}));
    CandidateLossModel model = fitted;
    values.emplace_back(order_.size());
    model.ExpectedLosses(point, order_, values.back());
    gradients.emplace_back(Eigen::VectorXd::Zero(kRankings.dimension()));
    model.AddGradient(values.back(), &gradients.back());
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_GT(gradients[0].norm(), 0);
}

}  // namespace
}  // namespace sortition
