#include "bench/papers/poem/author_descent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/poem.h"

namespace sortition {
namespace {

constexpr size_t kBatchSize = 100;
constexpr uint32_t kBatchesCompared = 50;
constexpr uint32_t kPatience = 5;
constexpr double kTolerance = 1e-6;

// A and 2 B of algorithm 1, by which gradients are multiplied.
struct Factors {
  double linear = 1;
  double quadratic = 0;
};

class Descent {
 public:
  Descent(TupleTerms* terms, const AuthorDescent& run)
      : terms_(terms),
        run_(run),
        order_(terms->num_tuples()),
        gradient_(Eigen::VectorXd::Zero(terms->dimension())),
        history_(Eigen::VectorXd::Ones(terms->dimension())),
        parameters_(Eigen::VectorXd::Zero(terms->dimension())),
        best_(parameters_) {}

  Eigen::VectorXd Run() {
    for (uint32_t epoch = 1; Epoch(epoch); ++epoch) {
    }
    return patience_ >= kPatience ? best_ : parameters_;
  }

 private:
  // Returns false at the end of the run.
  bool Epoch(uint32_t epoch) {
    ShuffleTuples(run_.seed, epoch, order_);
    const Factors factors = FactorsHere();
    const std::span<const uint32_t> order(order_);
    const auto first_epoch = static_cast<uint32_t>(order.size() / kBatchSize);
    const uint32_t most = std::max(2 * first_epoch, run_.most_batches);
    for (size_t begin = 0; begin < order.size(); begin += kBatchSize) {
      if (++batches_ >= most) return false;
      const double loss = BatchGradient(
          order.subspan(begin, std::min(kBatchSize, order.size() - begin)),
          run_.scales_majoriser ? factors : Factors());
      history_.array() += gradient_.array().square();
      gradient_.array() /= history_.array().sqrt();
      if (!run_.scales_majoriser) {
        gradient_ *= factors.linear + factors.quadratic * loss;
      }
      const bool is_late = batches_ >= first_epoch;
      if (is_late && gradient_.norm() <= 2 * kTolerance) return false;
      sum_ += loss;
      if (batches_ % kBatchesCompared == 0 && !Compare(is_late)) return false;
      parameters_ -= run_.step * gradient_;
    }
    return true;
  }

  // Returns false if too many comparisons have found nothing lower.
  bool Compare(bool is_late) {
    // The authors' program does not set the sum back to 0.
    sum_ /= kBatchesCompared;
    if (is_late && sum_ >= lowest_ + kTolerance) {
      return ++patience_ < kPatience;
    }
    lowest_ = sum_;
    patience_ = 0;
    best_ = parameters_;
    return true;
  }

  Factors FactorsHere() {
    if (run_.lambda == 0) return {};
    const VarianceMajoriser majoriser = MajoriseStandardDeviation(
        MomentsOf(*terms_, AllValues(parameters_, terms_)));
    const double n = static_cast<double>(terms_->num_tuples());
    return {1 + run_.lambda * std::sqrt(n) * majoriser.linear,
            2 * run_.lambda * majoriser.quadratic / std::sqrt(n)};
  }

  // Sets gradient_ to the batch mean of (A + 2 B n u) ∇u, in units of labels,
  // and returns ū, which is in [-1, 0], like the losses of Factors.
  double BatchGradient(std::span<const uint32_t> batch,
                       const Factors& factors) {
    values_.resize(batch.size());
    terms_->Values(parameters_, batch, values_);
    double sum = 0;
    for (const double value : values_) sum += value;
    const double size = static_cast<double>(batch.size());
    const double n = static_cast<double>(order_.size());
    for (double& value : values_) {
      value = (factors.linear + factors.quadratic * n * value) *
              run_.loss_factor / size;
    }
    gradient_.setZero();
    terms_->AddGradient(values_, &gradient_);
    return sum / size;
  }

  TupleTerms* terms_;
  const AuthorDescent& run_;
  std::vector<uint32_t> order_;
  std::vector<double> values_;
  Eigen::VectorXd gradient_;
  Eigen::VectorXd history_;
  Eigen::VectorXd parameters_;
  Eigen::VectorXd best_;
  uint32_t batches_ = 0;
  uint32_t patience_ = 0;
  double sum_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
};

}  // namespace

absl::StatusOr<Eigen::VectorXd> DescendAsAuthors(TuplePolicy* policy,
                                                 const AuthorDescent& run) {
  ASSIGN_OR_RETURN(
      WeightedTerms terms,
      WeightedTerms::Create(policy, ClippedTerm(run.clip), nullptr));
  return Descent(&terms, run).Run();
}

double AuthorClip(const TuplePolicy& policy) {
  std::vector<double> log_propensities(policy.num_tuples());
  for (size_t i = 0; i < log_propensities.size(); ++i) {
    log_propensities[i] = policy.log_propensity(i);
  }
  std::sort(log_propensities.begin(), log_propensities.end());
  const double last = static_cast<double>(log_propensities.size() - 1);
  const auto at = [&](double rank) {
    return log_propensities[static_cast<size_t>(rank)];
  };
  return std::exp(
      std::max(1.0, at(std::floor(0.9 * last)) - at(std::ceil(0.1 * last))));
}

}  // namespace sortition
