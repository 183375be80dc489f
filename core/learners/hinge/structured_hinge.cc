#include "core/learners/hinge/structured_hinge.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/losses/multivariate_loss.h"
#include "core/losses/ndcg_hinge.h"
#include "core/losses/pairwise_hinge.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;

MultivariateLoss LossOf(const HingeOptions& options) {
  MultivariateLoss loss;
  loss.beta = options.beta();
  loss.fewest = options.fewest();
  if (options.most() != 0) loss.most = options.most();
  switch (options.loss()) {
    case HingeOptions::SENSITIVITY_SPECIFICITY:
      loss.measure = MultivariateMeasure::kBalanced;
      break;
    case HingeOptions::PRECISION:
      loss.measure = MultivariateMeasure::kPrecisionAtK;
      loss.fewest = loss.most = options.k();
      break;
    default:
      loss.measure = MultivariateMeasure::kFBeta;
  }
  return loss;
}

bool AllAlike(std::span<const uint32_t> relevances) {
  return std::all_of(relevances.begin(), relevances.end(),
                     [&](uint32_t y) { return y == relevances[0]; });
}

}  // namespace

struct StructuredHinges::Workspace {
  NdcgHinge ndcg;
  PairwiseHinge pairs;
  LossAugmentedLabels labels;
};

class StructuredHinges::Ndcg : public StructuredHinge {
 public:
  Ndcg(std::shared_ptr<Workspace> workspace,
       std::span<const uint32_t> relevances, size_t cutoff)
      : workspace_(std::move(workspace)),
        gains_(relevances.begin(), relevances.end()),
        cutoff_(cutoff),
        weight_(1 / static_cast<double>(CountPairs(relevances))) {}
  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    scaled_.assign(scores.begin(), scores.end());
    for (double& score : scaled_) score *= weight_;
    const double loss =
        workspace_->ndcg.Evaluate(scaled_, gains_, cutoff_, slopes).loss;
    for (double& slope : slopes) slope *= weight_;
    return loss;
  }

 private:
  const std::shared_ptr<Workspace> workspace_;
  const std::vector<double> gains_;
  const size_t cutoff_;
  const double weight_;
  std::vector<double> scaled_;
};

class StructuredHinges::Kendall : public StructuredHinge {
 public:
  Kendall(std::shared_ptr<Workspace> workspace,
          std::span<const uint32_t> relevances)
      : workspace_(std::move(workspace)),
        relevances_(relevances.begin(), relevances.end()),
        weight_(1 / static_cast<double>(CountPairs(relevances))) {}
  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    const auto sum = workspace_->pairs.Evaluate(scores, relevances_, slopes);
    for (double& slope : slopes) slope *= weight_;
    return weight_ * sum.num_active;
  }

 private:
  const std::shared_ptr<Workspace> workspace_;
  const std::vector<uint32_t> relevances_;
  const double weight_;
};

class StructuredHinges::Selection : public StructuredHinge {
 public:
  explicit Selection(std::span<const uint32_t> relevances) {
    const uint32_t most = *std::ranges::max_element(relevances);
    const auto num_best =
        static_cast<double>(std::ranges::count(relevances, most));
    for (const uint32_t y : relevances) {
      costs_.push_back(static_cast<double>(most - y) / most);
      own_.push_back(y == most ? 1 / num_best : 0);
    }
  }
  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    const double best =
        std::inner_product(own_.begin(), own_.end(), scores.begin(), 0.0);
    size_t worst = 0;
    double most = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double sum = costs_[i] + scores[i] - best;
      if (own_[i] == 0 && sum > most) {
        most = sum;
        worst = i;
      }
      slopes[i] = 0;
    }
    if (most == 0) return 0;
    for (size_t i = 0; i < scores.size(); ++i) slopes[i] = -own_[i];
    slopes[worst] = 1;
    return costs_[worst];
  }

 private:
  std::vector<double> costs_;  // Δ
  std::vector<double> own_;    // ψ(y)
};

class StructuredHinges::Sets : public StructuredHinge {
 public:
  Sets(std::shared_ptr<Workspace> workspace, std::span<const uint8_t> labels,
       const MultivariateLoss& loss)
      : workspace_(std::move(workspace)),
        inference_(*MultivariateInference::Create(loss, labels)),
        own_(labels.begin(), labels.end()) {
    // The best sets of an allowed size have as many relevant candidates as
    // possible, and no others than they must.
    const double relevant = std::accumulate(own_.begin(), own_.end(), 0.0);
    const auto n = static_cast<double>(labels.size());
    const double k = std::clamp(relevant, static_cast<double>(loss.fewest),
                                static_cast<double>(loss.most));
    if (k == relevant) return;
    for (double& share : own_) {
      share = share > 0      ? std::min(1.0, k / relevant)
              : k > relevant ? (k - relevant) / (n - relevant)
                             : 0;
    }
  }
  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    LossAugmentedLabels& found = workspace_->labels;
    inference_.Find(scores, &found);
    for (size_t i = 0; i < own_.size(); ++i) {
      slopes[i] = found.labels[i] - own_[i];
    }
    return found.loss;
  }

 private:
  const std::shared_ptr<Workspace> workspace_;
  MultivariateInference inference_;
  std::vector<double> own_;  // ψ(y)
};

StructuredHinges::StructuredHinges(const HingeOptions& options)
    : options_(options), workspace_(std::make_shared<Workspace>()) {}

absl::StatusOr<StructuredHinges> StructuredHinges::Create(
    const HingeOptions& options) {
  const bool takes_k = options.loss() == HingeOptions::NDCG ||
                       options.loss() == HingeOptions::PRECISION;
  if (!takes_k && options.k() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("k is ", options.k(), ", must be 0 for ",
                     HingeOptions::Loss_Name(options.loss()),
                     "; NDCG and PRECISION have "
                     "one"));
  }
  if (options.loss() == HingeOptions::PRECISION && options.k() == 0) {
    return absl::InvalidArgumentError(
        "k is 0, must be at least 1 for PRECISION");
  }
  const bool takes_bounds =
      options.loss() == HingeOptions::F_BETA ||
      options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY;
  if (!takes_bounds && (options.fewest() != 0 || options.most() != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "fewest and most are ", options.fewest(), " and ", options.most(),
        ", must be 0 for ", HingeOptions::Loss_Name(options.loss()),
        "; SENSITIVITY_SPECIFICITY and F_BETA have them"));
  }
  RETURN_IF_ERROR(CheckMultivariateLoss(LossOf(options)));
  return StructuredHinges(options);
}

std::unique_ptr<StructuredHinge> StructuredHinges::Of(
    std::span<const uint32_t> relevances) const {
  const HingeOptions::Loss loss = options_.loss();
  const bool sets_of_any_size =
      (loss == HingeOptions::F_BETA ||
       loss == HingeOptions::SENSITIVITY_SPECIFICITY) &&
      options_.fewest() == 0 && options_.most() == 0;
  if (!sets_of_any_size && AllAlike(relevances)) return nullptr;
  if (loss == HingeOptions::NDCG) {
    return std::make_unique<Ndcg>(workspace_, relevances, options_.k());
  }
  if (loss == HingeOptions::KENDALL) {
    return std::make_unique<Kendall>(workspace_, relevances);
  }
  if (loss == HingeOptions::SELECTION) {
    return std::make_unique<Selection>(relevances);
  }
  std::vector<uint8_t> labels;
  std::vector<uint32_t> relevant;
  for (const uint32_t y : relevances) {
    relevant.push_back(y >= options_.relevant_from() ? 1 : 0);
    labels.push_back(static_cast<uint8_t>(relevant.back()));
  }
  const uint32_t fewest = std::max(options_.k(), options_.fewest());
  if (!sets_of_any_size &&
      (relevances.size() <= fewest || AllAlike(relevant))) {
    return nullptr;
  }
  return std::make_unique<Sets>(workspace_, labels, LossOf(options_));
}

}  // namespace sortition
