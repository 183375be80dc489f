#include "core/learners/rankings/linear_rank_loss_model.h"

#include <algorithm>
#include <cmath>

#include "Eigen/Core"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_model.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/optim/ridge.h"

namespace sortition {
namespace {

// The ranks with an e of their own, and one for all below.
constexpr size_t kOwnRanks = 10;
constexpr size_t kRankGroups = kOwnRanks + 1;

size_t GroupOf(size_t rank) { return std::min(rank, kOwnRanks); }

// What one model is fitted to: the shown ranks of some tuples, in order.
struct Sample {
  const RankedLog& log;
  std::vector<uint32_t> tuples = {};

  double weight(size_t i) const {
    return log.weights.empty() ? 1 : log.weights[i];
  }
};

// Leaves out the fold `fold`, unless there is only one.
Sample SampleWithout(uint32_t fold, uint32_t num_folds, const RankedLog& log) {
  Sample sample{.log = log};
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    if (num_folds > 1 && log.tuples[i].unit % num_folds == fold) continue;
    sample.tuples.push_back(static_cast<uint32_t>(i));
  }
  return sample;
}

// The rows of the regression: of each shown rank e_k (x, 1) of its candidate,
// times the root of the tuple's weight.
class RankRows : public RidgeRows {
 public:
  RankRows(const Sample& sample, std::span<const double> examinations)
      : sample_(sample), examinations_(examinations) {
    for (const uint32_t i : sample.tuples) {
      rows_ += static_cast<Eigen::Index>(sample.log.shown(i).size());
    }
  }

  Eigen::Index rows() const override { return rows_; }
  Eigen::Index columns() const override { return num_features() + 1; }
  // The losses, times the roots of the weights.
  Eigen::VectorXd Targets() const {
    Eigen::VectorXd targets(rows_);
    Eigen::Index next = 0;
    for (const uint32_t i : sample_.tuples) {
      const double root = std::sqrt(sample_.weight(i));
      for (size_t k = 0; k < sample_.log.shown(i).size(); ++k) {
        targets[next++] = root * sample_.log.loss(i, k);
      }
    }
    return targets;
  }

  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    products->resize(rows_);
    const std::span<const double> weights(v.data(), num_features());
    ForEach([&](const Candidates& candidates, uint32_t row, double scale,
                Eigen::Index place) {
      (*products)[place] =
          scale * (candidates.Score(row, weights) + v[num_features()]);
    });
  }
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    const std::span<double> weights(sum->data(), num_features());
    ForEach([&](const Candidates& candidates, uint32_t row, double scale,
                Eigen::Index place) {
      const double factor = scale * factors[place];
      candidates.AddRow(row, factor, weights);
      (*sum)[num_features()] += factor;
    });
  }
  void AddSquares(Eigen::VectorXd* sum) const override {
    ForEach([&](const Candidates& candidates, uint32_t row, double scale,
                Eigen::Index /*place*/) {
      const size_t d = num_features();
      const bool sparse = candidates.sparse();
      const size_t begin = sparse ? candidates.row_offsets()[row] : row * d;
      const size_t end = sparse ? candidates.row_offsets()[row + 1] : begin + d;
      for (size_t entry = begin; entry < end; ++entry) {
        const double value = scale * candidates.values()[entry];
        const size_t column =
            sparse ? candidates.columns()[entry] : entry - begin;
        (*sum)[static_cast<Eigen::Index>(column)] += value * value;
      }
      (*sum)[num_features()] += scale * scale;
    });
  }
  // In one pass, many rows at once.
  void AddProducts(Eigen::MatrixXd* matrix) const override {
    constexpr Eigen::Index kRows = 64;
    Eigen::MatrixXd block = Eigen::MatrixXd::Zero(columns(), kRows);
    Eigen::Index used = 0;
    const auto flush = [&] {
      matrix->selfadjointView<Eigen::Lower>().rankUpdate(block);
      block.setZero();
      used = 0;
    };
    ForEach([&](const Candidates& candidates, uint32_t row, double scale,
                Eigen::Index /*place*/) {
      candidates.AddRow(row, scale, {block.col(used).data(), num_features()});
      block(num_features(), used) = scale;
      if (++used == kRows) flush();
    });
    flush();
  }

 private:
  uint32_t num_features() const { return sample_.log.family.num_features; }

  // Calls visit(candidates, row, √w e_k, place) for each shown rank.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    features_.Assign(sample_.log.tuples, sample_.tuples);
    Eigen::Index place = 0;
    for (size_t s = 0; s < sample_.tuples.size(); ++s) {
      const uint32_t i = sample_.tuples[s];
      const Candidates& candidates = features_[s];
      const double root = std::sqrt(sample_.weight(i));
      const std::span<const int32_t> shown = sample_.log.shown(i);
      for (size_t k = 0; k < shown.size(); ++k) {
        visit(candidates, static_cast<uint32_t>(shown[k]),
              root * examinations_[GroupOf(k)], place++);
      }
    }
  }

  const Sample& sample_;
  std::span<const double> examinations_;
  Eigen::Index rows_ = 0;
  mutable FeatureBlock features_;
};

// α of a row.
double Attraction(const Candidates& candidates, uint32_t row,
                  const Eigen::VectorXd& line) {
  const size_t d = candidates.num_features();
  // Without the clamp an error of the line would draw the policy to candidates
  // with large features.
  return std::clamp(candidates.Score(row, {line.data(), d}) +
                        line[static_cast<Eigen::Index>(d)],
                    -1.0, 0.0);
}

// Divides by the largest of them; all 0 stay 0.
void Normalise(std::vector<double>* examinations) {
  const double largest =
      *std::max_element(examinations->begin(), examinations->end());
  if (!(largest > 0)) return;
  for (double& value : *examinations) value /= largest;
}

// Minimises Σ w (δ_k - e_k α)² over each e_k, the α of each shown rank being
// `attraction(s, row)`, s its place in the sample.
template <typename AttractionOf>
std::vector<double> FitExaminations(const Sample& sample,
                                    const AttractionOf& attraction) {
  std::vector<double> products(kRankGroups, 0), squares(kRankGroups, 0);
  for (size_t s = 0; s < sample.tuples.size(); ++s) {
    const uint32_t i = sample.tuples[s];
    const std::span<const int32_t> shown = sample.log.shown(i);
    for (size_t k = 0; k < shown.size(); ++k) {
      const double alpha = attraction(s, static_cast<uint32_t>(shown[k]));
      products[GroupOf(k)] += sample.weight(i) * sample.log.loss(i, k) * alpha;
      squares[GroupOf(k)] += sample.weight(i) * alpha * alpha;
    }
  }
  for (size_t g = 0; g < kRankGroups; ++g) {
    products[g] = squares[g] > 0 ? products[g] / squares[g] : 0;
  }
  Normalise(&products);
  return products;
}

struct Model {
  std::vector<double> examinations;  // e by group of ranks.
  Eigen::VectorXd line;              // v followed by b.
};

Model FitModel(const Sample& sample, double l2) {
  Eigen::VectorXd penalties =
      Eigen::VectorXd::Constant(sample.log.family.num_features + 1, l2);
  penalties[sample.log.family.num_features] = 0;
  const auto fit_line = [&](std::span<const double> examinations) {
    const RankRows rows(sample, examinations);
    return SolveRidge(rows, rows.Targets(), penalties);
  };
  Model model;
  // With equal α, e is the mean loss of a rank, but for the sign.
  model.examinations =
      FitExaminations(sample, [](size_t, uint32_t) { return -1.0; });
  model.line = fit_line(model.examinations);
  FeatureBlock features;
  features.Assign(sample.log.tuples, sample.tuples);
  model.examinations = FitExaminations(sample, [&](size_t s, uint32_t row) {
    return Attraction(features[s], row, model.line);
  });
  model.line = fit_line(model.examinations);
  return model;
}

}  // namespace

absl::StatusOr<LinearRankLossModel> LinearRankLossModel::Fit(
    const RankedLog& log, double l2, uint32_t folds) {
  RETURN_IF_ERROR(ValidateRankedLog(log));
  RETURN_IF_ERROR(ValidateLossModelFit({.l2 = l2, .folds = folds}));
  LinearRankLossModel model;
  std::vector<Eigen::VectorXd> lines;
  for (uint32_t fold = 0; fold < folds; ++fold) {
    Model fitted = FitModel(SampleWithout(fold, folds, log), l2);
    model.examinations_.push_back(std::move(fitted.examinations));
    lines.push_back(std::move(fitted.line));
  }
  FeatureBlock features;
  std::vector<uint32_t> all(log.tuples.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  features.Assign(log.tuples, all);
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    const auto fold = static_cast<uint32_t>(log.tuples[i].unit % folds);
    model.folds_.push_back(fold);
    model.begins_.push_back(model.attractions_.size());
    const Candidates& candidates = features[i];
    for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
      model.attractions_.push_back(
          static_cast<float>(Attraction(candidates, row, lines[fold])));
    }
  }
  return model;
}

void LinearRankLossModel::Losses(size_t i, size_t k,
                                 std::span<double> losses) const {
  DCHECK(begins_[i] + losses.size() <= attractions_.size());
  const double examination = Examination(i, k);
  for (size_t a = 0; a < losses.size(); ++a) {
    losses[a] = examination * attractions_[begins_[i] + a];
  }
}

double LinearRankLossModel::Examination(size_t i, size_t k) const {
  return examinations_[folds_[i]][GroupOf(k)];
}

}  // namespace sortition
