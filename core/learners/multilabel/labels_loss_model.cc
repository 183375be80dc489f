#include "core/learners/multilabel/labels_loss_model.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/optim/ridge.h"

namespace sortition {
namespace {

constexpr uint32_t kNoPlace = std::numeric_limits<uint32_t>::max();

// The rows of the regression: x ⊗ y of each tuple of `sample`, followed by a 1,
// times the root of its weight. Column j q + l is for feature j and label l.
class OuterRows : public RidgeRows {
 public:
  OuterRows(const LabelContexts& contexts, const LabelTuples& tuples,
            std::vector<uint32_t> sample)
      : contexts_(contexts),
        tuples_(tuples),
        sample_(std::move(sample)),
        roots_(Eigen::VectorXd::Ones(rows())) {
    if (tuples.weights.empty()) return;
    for (Eigen::Index k = 0; k < rows(); ++k) {
      roots_[k] = std::sqrt(tuples.weights[sample_[static_cast<size_t>(k)]]);
    }
  }

  // The losses times the roots.
  Eigen::VectorXd Targets() const {
    Eigen::VectorXd targets = roots_;
    for (Eigen::Index k = 0; k < rows(); ++k) {
      targets[k] *= tuples_.losses[sample_[static_cast<size_t>(k)]];
    }
    return targets;
  }

  Eigen::Index rows() const override {
    return static_cast<Eigen::Index>(sample_.size());
  }
  Eigen::Index columns() const override {
    return static_cast<Eigen::Index>(contexts_.num_features) *
               contexts_.num_labels +
           1;
  }
  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    *products = v[columns() - 1] * roots_;
    ForEachEntry([&](Eigen::Index row, Eigen::Index column, double value) {
      (*products)[row] += value * v[column];
    });
  }
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    ForEachEntry([&](Eigen::Index row, Eigen::Index column, double value) {
      (*sum)[column] += value * factors[row];
    });
    (*sum)[columns() - 1] += factors.dot(roots_);
  }
  void AddSquares(Eigen::VectorXd* sum) const override {
    ForEachEntry([&](Eigen::Index, Eigen::Index column, double value) {
      (*sum)[column] += value * value;
    });
    (*sum)[columns() - 1] += roots_.squaredNorm();
  }

 private:
  // Visits all entries except the ones.
  template <typename Visit>
  void ForEachEntry(const Visit& visit) const {
    const uint32_t q = contexts_.num_labels;
    std::vector<uint32_t> set;
    for (Eigen::Index row = 0; row < rows(); ++row) {
      const uint32_t i = sample_[static_cast<size_t>(row)];
      set.clear();
      for (uint32_t l = 0; l < q; ++l) {
        if (tuples_.labels[size_t{i} * q + l] == 1) set.push_back(l);
      }
      const uint32_t context = tuples_.contexts[i];
      for (uint64_t k = contexts_.row_offsets[context];
           k < contexts_.row_offsets[context + 1]; ++k) {
        const Eigen::Index first =
            static_cast<Eigen::Index>(contexts_.columns[k]) * q;
        for (const uint32_t l : set) {
          visit(row, first + l, roots_[row] * contexts_.values[k]);
        }
      }
    }
  }

  const LabelContexts& contexts_;
  const LabelTuples& tuples_;
  std::vector<uint32_t> sample_;
  Eigen::VectorXd roots_;
};

// Returns the tuples outside the fold, or all if there is only one.
std::vector<uint32_t> SampleWithout(uint32_t fold, uint32_t folds,
                                    const LabelTuples& tuples) {
  std::vector<uint32_t> sample;
  for (uint32_t i = 0; i < tuples.size(); ++i) {
    if (folds == 1 || tuples.contexts[i] % folds != fold) sample.push_back(i);
  }
  return sample;
}

}  // namespace

LabelsLossModel::LabelsLossModel(const LabelContexts& contexts,
                                 const LabelTuples& tuples)
    : contexts_(&contexts),
      tuples_(&tuples),
      scorer_(contexts),
      place_of_context_(contexts.size(), kNoPlace) {}

absl::StatusOr<LabelsLossModel> LabelsLossModel::Fit(
    const LabelContexts& contexts, const LabelTuples& tuples,
    const LossModelFit& fit) {
  RETURN_IF_ERROR(ValidateLossModelFit(fit));
  LabelsLossModel model(contexts, tuples);
  const Eigen::Index size = model.scorer_.dimension();
  // The intercept is not penalised.
  Eigen::VectorXd penalties = Eigen::VectorXd::Constant(size + 1, fit.l2);
  if (fit.scales.size() > 0) {
    penalties.head(size).array() /= fit.scales.array().square();
  }
  penalties[size] = 0;
  auto effects = std::make_shared<LabelScorer::Matrix>(
      static_cast<Eigen::Index>(contexts.size()), contexts.num_labels);
  auto intercepts = std::make_shared<std::vector<double>>();
  for (uint32_t fold = 0; fold < fit.folds; ++fold) {
    const OuterRows rows(contexts, tuples,
                         SampleWithout(fold, fit.folds, tuples));
    const Eigen::VectorXd solution =
        SolveRidge(rows, rows.Targets(), penalties);
    const LabelScorer::Matrix scores =
        model.scorer_.Scores(solution.head(size));
    for (Eigen::Index row = fold; row < effects->rows(); row += fit.folds) {
      effects->row(row) = scores.row(row);
    }
    intercepts->push_back(solution[size]);
  }
  model.effects_ = std::move(effects);
  model.intercepts_ = std::move(intercepts);
  return model;
}

std::unique_ptr<LabelsLossModel> LabelsLossModel::Clone() const {
  auto clone = std::unique_ptr<LabelsLossModel>(
      new LabelsLossModel(*contexts_, *tuples_));
  clone->effects_ = effects_;
  clone->intercepts_ = intercepts_;
  return clone;
}

double LabelsLossModel::LoggedLoss(size_t i) const {
  const auto effects = effects_->row(tuples_->contexts[i]);
  const uint32_t q = contexts_->num_labels;
  double loss = InterceptOf(tuples_->contexts[i]);
  for (uint32_t l = 0; l < q; ++l) {
    if (tuples_->labels[i * q + l] == 1) loss += effects[l];
  }
  return loss;
}

void LabelsLossModel::ExpectedLosses(const Eigen::VectorXd& parameters,
                                     std::span<const uint32_t> tuples,
                                     std::span<double> losses) {
  DCHECK(tuples.size() == losses.size());
  rows_.clear();
  place_.clear();
  for (const uint32_t tuple : tuples) {
    uint32_t& place = place_of_context_[tuples_->contexts[tuple]];
    if (place == kNoPlace) {
      place = static_cast<uint32_t>(rows_.size());
      rows_.push_back(tuples_->contexts[tuple]);
    }
    place_.push_back(place);
  }
  for (const uint32_t row : rows_) place_of_context_[row] = kNoPlace;
  scores_.resize(static_cast<Eigen::Index>(rows_.size()),
                 contexts_->num_labels);
  scorer_.SetParameters(parameters);
  scorer_.Score(rows_, {scores_.data(), static_cast<size_t>(scores_.size())});
  slopes_.resize(scores_.rows(), scores_.cols());
  Eigen::VectorXd expected(scores_.rows());
  for (Eigen::Index r = 0; r < scores_.rows(); ++r) {
    const uint32_t context = rows_[static_cast<size_t>(r)];
    const auto effects = effects_->row(context).array();
    // Computes σ(s) and σ(-s) from e = exp(-|s|), which neither overflows nor
    // cancels.
    const auto e = (-scores_.row(r).array().abs()).exp().eval();
    const auto large = (1 / (1 + e)).eval();
    const auto positive =
        (scores_.row(r).array() >= 0).select(large, e * large).eval();
    expected[r] = InterceptOf(context) + (positive * effects).sum();
    slopes_.row(r) = e * large.square() * effects;
  }
  for (size_t k = 0; k < tuples.size(); ++k) losses[k] = expected[place_[k]];
}

void LabelsLossModel::AddGradient(std::span<const double> factors,
                                  Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == place_.size());
  Eigen::VectorXd row_factors =
      Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows_.size()));
  for (size_t k = 0; k < factors.size(); ++k) {
    row_factors[place_[k]] += factors[k];
  }
  scores_ = row_factors.asDiagonal() * slopes_;
  scorer_.AddOuterProducts(
      rows_, {scores_.data(), static_cast<size_t>(scores_.size())}, SerialFor,
      gradient);
}

}  // namespace sortition
