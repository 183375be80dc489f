#include "core/learners/classes/multivariate_svm.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<MultivariateSvm>> MultivariateSvm::Create(
    const Candidates& items, std::span<const uint8_t> labels,
    const MultivariateLoss& loss, const config::v1::OneSlackOptions& options) {
  if (labels.size() != items.num_candidates()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels, must be ",
                     items.num_candidates(), ", one per item"));
  }
  ASSIGN_OR_RETURN(MultivariateInference inference,
                   MultivariateInference::Create(loss, labels));
  return std::unique_ptr<MultivariateSvm>(
      new MultivariateSvm(items, labels, std::move(inference), options));
}

MultivariateSvm::MultivariateSvm(const Candidates& items,
                                 std::span<const uint8_t> labels,
                                 MultivariateInference inference,
                                 const config::v1::OneSlackOptions& options)
    : items_(items),
      labels_(labels.begin(), labels.end()),
      indexes_(labels.size()),
      inference_(std::move(inference)),
      solver_(
          [this](const Eigen::VectorXd& w, double /*tolerance*/,
                 RiskPlane* plane) {
            Evaluate(w, plane);
            return absl::OkStatus();
          },
          items.num_features(), options),
      scores_(labels.size()) {
  std::iota(indexes_.begin(), indexes_.end(), 0u);
}

void MultivariateSvm::Evaluate(const Eigen::VectorXd& w, RiskPlane* plane) {
  items_.Scores(indexes_, {w.data(), static_cast<size_t>(w.size())}, scores_);
  inference_.Find(scores_, &augmented_);
  plane->value = augmented_.hinge;
  plane->offset = augmented_.loss;
  plane->slope.setZero(w.size());
  const std::span<double> slope(plane->slope.data(),
                                static_cast<size_t>(w.size()));
  for (const uint32_t i : indexes_) {
    const int difference = augmented_.labels[i] - labels_[i];
    if (difference != 0) items_.AddRow(i, difference, slope);
  }
}

}  // namespace sortition
