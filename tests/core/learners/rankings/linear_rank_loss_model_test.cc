#include "core/learners/rankings/linear_rank_loss_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "Eigen/LU"
#include "core/base/hash.h"
#include "core/counterfactual/moments.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/optim/ridge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/cascade_world.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

std::vector<double> LossesOf(const RankLossModel& model, const RankedLog& log,
                             size_t i, size_t k) {
  std::vector<double> losses(log.tuples[i].num_candidates());
  model.Losses(i, k, losses);
  return losses;
}

// The shown ranks outside a fold as a dense matrix, one row (x, 1) for each.
struct DenseRanks {
  DenseRanks(const RankedLog& log, uint32_t fold, uint32_t folds) {
    const Eigen::Index d = log.family.num_features;
    for (size_t i = 0; i < log.tuples.size(); ++i) {
      if (folds > 1 && log.tuples[i].unit % folds == fold) continue;
      for (size_t k = 0; k < log.ranks[i].num_shown(); ++k) {
        Eigen::VectorXd row = Eigen::VectorXd::Zero(d + 1);
        log.tuples[i].candidates().AddRow(
            static_cast<uint32_t>(log.tuples[i].action[k]), 1,
            {row.data(), static_cast<size_t>(d)});
        row[d] = 1;
        rows.conservativeResize(rows.rows() + 1, d + 1);
        rows.row(rows.rows() - 1) = row.transpose();
        groups.push_back(std::min<size_t>(k, 10));
        losses.push_back(log.loss(i, k));
        weights.push_back(log.weights.empty() ? 1 : log.weights[i]);
      }
    }
  }

  // Least squares of the losses given e, penalised but for the constant.
  Eigen::VectorXd Line(const std::vector<double>& e, double l2) const {
    const Eigen::Index d = rows.cols();
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(d, d);
    Eigen::VectorXd side = Eigen::VectorXd::Zero(d);
    matrix.diagonal().head(d - 1).setConstant(l2);
    for (size_t r = 0; r < groups.size(); ++r) {
      const Eigen::VectorXd row =
          e[groups[r]] * rows.row(static_cast<Eigen::Index>(r)).transpose();
      matrix += weights[r] * row * row.transpose();
      side += weights[r] * losses[r] * row;
    }
    return matrix.fullPivLu().solve(side);
  }

  // Least squares given α of each row, over the largest.
  std::vector<double> Examinations(const std::vector<double>& alpha) const {
    std::vector<double> e(11, 0);
    for (size_t g = 0; g < 11; ++g) {
      double product = 0, square = 0;
      for (size_t r = 0; r < groups.size(); ++r) {
        if (groups[r] != g) continue;
        product += weights[r] * losses[r] * alpha[r];
        square += weights[r] * alpha[r] * alpha[r];
      }
      if (square > 0) e[g] = product / square;
    }
    const double largest = *std::max_element(e.begin(), e.end());
    for (double& value : e) value /= largest;
    return e;
  }

  std::vector<double> Alphas(const Eigen::VectorXd& line) const {
    std::vector<double> alphas;
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      alphas.push_back(std::clamp(rows.row(r).dot(line), -1.0, 0.0));
    }
    return alphas;
  }

  Eigen::MatrixXd rows = Eigen::MatrixXd(0, 0);
  std::vector<size_t> groups;
  std::vector<double> losses;
  std::vector<double> weights;
};

void ExpectAsDense(const RankedLog& log, uint32_t folds, double tolerance) {
  constexpr double kL2 = 0.7;
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                       LinearRankLossModel::Fit(log, kL2, folds));
  const Eigen::Index d = log.family.num_features;
  for (uint32_t fold = 0; fold < folds; ++fold) {
    const DenseRanks dense(log, fold, folds);
    std::vector<double> e =
        dense.Examinations(std::vector<double>(dense.groups.size(), -1));
    e = dense.Examinations(dense.Alphas(dense.Line(e, kL2)));
    const Eigen::VectorXd line = dense.Line(e, kL2);
    for (size_t i = 0; i < log.tuples.size(); ++i) {
      if (log.tuples[i].unit % folds != fold) continue;
      const std::vector<double> scores = ScoresOf(log.tuples[i], line.head(d));
      for (const size_t k : {size_t{0}, size_t{1}, size_t{3}, size_t{30}}) {
        const double examination = e[std::min<size_t>(k, 10)];
        EXPECT_NEAR(model.Examination(i, k), examination, tolerance);
        const std::vector<double> losses = LossesOf(model, log, i, k);
        for (size_t a = 0; a < scores.size(); ++a) {
          EXPECT_NEAR(losses[a],
                      examination * std::clamp(scores[a] + line[d], -1.0, 0.0),
                      tolerance);
        }
      }
    }
  }
}

// Weights, ranks that were shown otherwise, sparse and dense rows.
TEST(LinearRankLossModelTest, IsTheRegressionThatADenseMatrixGives) {
  const RankedTuples data(0.1, 60, 1);
  ExpectAsDense(data.Log(), 3, 1e-6);
  RankedLog unweighted = data.Log();
  unweighted.weights = {};
  ExpectAsDense(unweighted, 1, 1e-6);
}

// Rows of more features than are solved at once, every other one sparse.
TEST(LinearRankLossModelTest, WideRowsAreSolvedInSteps) {
  RankedTuples data(0.1, 60, 2);
  const auto wide = static_cast<uint32_t>(kMaxDirectColumns + 10);
  RandomSequence random(SeedKey(3));
  data.family = RankFamily(wide, 0.1);
  for (BanditTuple& tuple : data.tuples) {
    const size_t n = tuple.num_candidates();
    const bool sparse = !tuple.row_offsets.empty();
    tuple.values.clear();
    tuple.columns.clear();
    tuple.num_features = wide;
    for (size_t row = 0; row < n; ++row) {
      for (uint32_t j = 0; j < wide; ++j) {
        const bool is_zero = random.Uniform() < 0.9;
        const auto value = static_cast<float>(random.Normal());
        if (!sparse) {
          tuple.values.push_back(is_zero ? 0 : value);
        } else if (!is_zero) {
          tuple.columns.push_back(j);
          tuple.values.push_back(value);
        }
      }
      if (sparse) {
        tuple.row_offsets[row + 1] = static_cast<uint32_t>(tuple.values.size());
      }
    }
  }
  ExpectAsDense(data.Log(), 2, 1e-5);
}

// Features that are read from a store.
class MemoryStore : public FeatureStore {
 public:
  void Read(uint64_t offset, void* data, size_t size) const override {
    std::memcpy(data, bytes_.data() + offset, size);
  }
  template <typename T>
  void Append(const std::vector<T>& values) {
    const char* const begin = reinterpret_cast<const char*>(values.data());
    bytes_.insert(bytes_.end(), begin, begin + values.size() * sizeof(T));
  }
  uint64_t size() const { return bytes_.size(); }

 private:
  std::vector<char> bytes_;
};

TEST(LinearRankLossModelTest, FeaturesOutsideMemoryChangeNothing) {
  RankedTuples data(0.1, 300, 4);
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel expected,
                       LinearRankLossModel::Fit(data.Log(), 1, 3));
  MemoryStore store;
  for (BanditTuple& tuple : data.tuples) {
    tuple.stored = {&store, store.size(),
                    static_cast<uint32_t>(tuple.values.size()),
                    static_cast<uint32_t>(tuple.row_offsets.size())};
    store.Append(tuple.values);
    store.Append(tuple.row_offsets);
    store.Append(tuple.columns);
    tuple.values.clear();
    tuple.row_offsets.clear();
    tuple.columns.clear();
  }
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel stored,
                       LinearRankLossModel::Fit(data.Log(), 1, 3));
  for (size_t i = 0; i < data.tuples.size(); ++i) {
    EXPECT_EQ(LossesOf(stored, data.Log(), i, 1),
              LossesOf(expected, data.Log(), i, 1));
  }
}

// Every decision has a unit of its own, but for three that share one.
TEST(LinearRankLossModelTest, WhatIsSaidOfAUnitDoesNotComeFromItsLosses) {
  RankedTuples data(0.1, 60, 5);
  data.tuples[12].unit = data.tuples[33].unit = data.tuples[6].unit;
  for (const uint32_t folds : {1u, 4u}) {
    ASSERT_OK_AND_ASSIGN(const LinearRankLossModel before,
                         LinearRankLossModel::Fit(data.Log(), 1, folds));
    RankedTuples changed = data;
    for (const size_t i : {6, 12, 33}) {
      for (double& loss : changed.ranks[i].losses) loss = -1 - loss;
    }
    ASSERT_OK_AND_ASSIGN(const LinearRankLossModel after,
                         LinearRankLossModel::Fit(changed.Log(), 1, folds));
    std::set<uint64_t> unchanged;
    for (size_t i = 0; i < data.tuples.size(); ++i) {
      if (LossesOf(before, data.Log(), i, 0) ==
          LossesOf(after, data.Log(), i, 0)) {
        unchanged.insert(data.tuples[i].unit);
      }
    }
    EXPECT_EQ(unchanged.contains(data.tuples[6].unit), folds > 1);
    // The others of its fold do not change either.
    EXPECT_LT(unchanged.size(), 40);
  }
}

// Ranks earn e_k times what their candidates attract, without noise, and what
// attracts is mostly shown first. Mean losses alone take half of that for e.
TEST(LinearRankLossModelTest, TellsRanksFromWhatIsShownThere) {
  const double e[] = {1, 0.6, 0.3};
  const Eigen::Vector2d taste(-0.7, -0.2);
  RandomSequence random(SeedKey(6));
  std::vector<BanditTuple> tuples(2000);
  std::vector<RankedTuple> ranks(tuples.size());
  double means[] = {0, 0, 0};
  for (size_t i = 0; i < tuples.size(); ++i) {
    BanditTuple& tuple = tuples[i];
    tuple.num_features = 2;
    tuple.unit = i;
    for (int j = 0; j < 8; ++j) {
      tuple.values.push_back(static_cast<float>(random.Uniform()));
    }
    std::vector<std::pair<double, int32_t>> order;
    const std::vector<double> alphas = ScoresOf(tuple, taste);
    for (int32_t a = 0; a < 4; ++a) {
      order.push_back({alphas[a] + 0.2 * random.Normal(), a});
    }
    std::sort(order.begin(), order.end());
    for (size_t k = 0; k < 3; ++k) {
      tuple.action.push_back(order[k].second);
      ranks[i].losses.push_back(e[k] * alphas[order[k].second]);
      ranks[i].log_conditionals.push_back(-1);
      means[k] += ranks[i].losses[k];
    }
  }
  const RankedLog log{RankFamily(2, 0.1), tuples, ranks};
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                       LinearRankLossModel::Fit(log, 1e-6, 5));
  for (size_t k = 1; k < 3; ++k) {
    const double confounded = std::abs(means[k] / means[0] - e[k]);
    EXPECT_GT(confounded, 0.08);
    EXPECT_LT(std::abs(model.Examination(0, k) - e[k]), confounded / 2);
  }
  // No rank below was shown.
  EXPECT_EQ(model.Examination(0, 7), 0);
}

// Terms with the fitted model have the same expectation, and vary less.
TEST(LinearRankLossModelTest, LessVarianceIsLeftToCascadeTerms) {
  constexpr int kWorlds = 6;
  double without = 0, with = 0, difference = 0, squares = 0;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    CascadeWorld world(seed);
    for (int i = 0; i < 800; ++i) world.AddSession();
    const RankedLog log = world.Log();
    ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                         LinearRankLossModel::Fit(log, 1, 5));
    ASSERT_OK_AND_ASSIGN(CascadeTerms cascade,
                         CascadeTerms::Create(log, {HUGE_VAL}, &model));
    class None : public RankLossModel {
      void Losses(size_t, size_t, std::span<double> losses) const override {
        std::fill(losses.begin(), losses.end(), 0);
      }
    } none;
    ASSERT_OK_AND_ASSIGN(CascadeTerms prefixes,
                         CascadeTerms::Create(log, {HUGE_VAL}, &none));
    const std::vector<double> one = AllValues(world.taste(), &cascade);
    const std::vector<double> other = AllValues(world.taste(), &prefixes);
    Moments ones, others, differences;
    ones.Add(one);
    others.Add(other);
    for (size_t i = 0; i < one.size(); ++i) differences.Add(one[i] - other[i]);
    with += ones.variance();
    without += others.variance();
    difference += differences.mean();
    squares += differences.variance() / 800;
  }
  EXPECT_LT(with, 0.9 * without);
  // Four standard errors.
  EXPECT_LT(std::abs(difference), 4 * std::sqrt(squares));
}

TEST(LinearRankLossModelTest, WithoutLossesNothingIsExpected) {
  RankedTuples data(0.1, 40, 7);
  for (RankedTuple& tuple : data.ranks) {
    std::fill(tuple.losses.begin(), tuple.losses.end(), 0);
  }
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                       LinearRankLossModel::Fit(data.Log(), 1, 2));
  for (const double loss : LossesOf(model, data.Log(), 0, 0)) {
    EXPECT_EQ(loss, 0);
  }
}

TEST(LinearRankLossModelTest, NamesWhatIsOutOfRange) {
  RankedTuples data(0.1, 5, 8);
  EXPECT_THAT(LinearRankLossModel::Fit(data.Log(), 0, 2),
              IsInvalidArgument("loss_model_l2 is 0"));
  EXPECT_THAT(LinearRankLossModel::Fit(data.Log(), 1, 0),
              IsInvalidArgument("folds"));
  data.ranks[1].losses[0] = -2;
  EXPECT_THAT(LinearRankLossModel::Fit(data.Log(), 1, 2),
              IsInvalidArgument("losses of tuple 1 has -2"));
}

// What prefixes are for: more is learned from the same few sessions.

Eigen::VectorXd Trained(const CascadeWorld& world, PrefixWeights kind) {
  PrefixTerms terms =
      *PrefixTerms::Create(world.Log(), kind, {ClippedTerm(10)});
  PoemRun run;
  run.crm.lambda = 0.5;
  run.crm.l2 = 1e-3;
  return TrainPoemOnTerms(&terms, run)->parameters;
}

// The same sessions, optimiser, clip and penalties. Over 12 worlds the mean
// difference of true values is more than 2.2 of its standard errors (Student's
// 97.5 % point for 11 degrees of freedom) above 0, and prefixes are better than
// what logged.
TEST(CascadeLearningTest, PrefixesLearnMoreFromFewSessions) {
  constexpr int kWorlds = 12;
  constexpr int kSessions = 150;
  double sum = 0, squares = 0, whole_sum = 0, prefix_sum = 0, start_sum = 0;
  double best_sum = 0;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    CascadeWorld world(seed);
    for (int i = 0; i < kSessions; ++i) world.AddSession();
    const double whole =
        world.TrueValue(Trained(world, PrefixWeights::kWholeOrder));
    const double prefix =
        world.TrueValue(Trained(world, PrefixWeights::kPrefixes));
    sum += prefix - whole;
    squares += (prefix - whole) * (prefix - whole);
    whole_sum += whole;
    prefix_sum += prefix;
    start_sum += world.TrueValue(Eigen::VectorXd::Zero(4));
    best_sum += world.TrueValue(10 * world.taste());
  }
  const double mean = sum / kWorlds;
  const double error =
      std::sqrt((squares / kWorlds - mean * mean) / (kWorlds - 1));
  RecordProperty("uniform", std::to_string(start_sum / kWorlds));
  RecordProperty("whole_order", std::to_string(whole_sum / kWorlds));
  RecordProperty("prefixes", std::to_string(prefix_sum / kWorlds));
  RecordProperty("best", std::to_string(best_sum / kWorlds));
  EXPECT_GT(mean, 2.2 * error)
      << "uniform " << start_sum / kWorlds << ", whole order "
      << whole_sum / kWorlds << ", prefixes " << prefix_sum / kWorlds
      << ", best " << best_sum / kWorlds << ", difference " << mean << " +- "
      << error;
  EXPECT_GT(prefix_sum, start_sum);
}

}  // namespace
}  // namespace sortition
