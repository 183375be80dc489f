#include "core/losses/multivariate_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr double kMinBeta = 1e-3;
constexpr double kMaxBeta = 1e3;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 1; }

double Count(size_t count) { return static_cast<double>(count); }

// Writes argmax_v Σ vᵢ worthᵢ with fewest <= Σv <= most to `chosen`.
void ChooseBest(std::span<const double> worths, size_t fewest, size_t most,
                std::vector<uint32_t>* order, std::vector<uint8_t>* chosen) {
  const size_t n = worths.size();
  const auto wanted = static_cast<size_t>(
      std::ranges::count_if(worths, [](double worth) { return worth > 0; }));
  most = std::min(most, n);
  const size_t size = std::clamp(wanted, std::min(fewest, most), most);
  chosen->assign(n, 0);
  if (size == wanted) {
    for (size_t i = 0; i < n; ++i) (*chosen)[i] = worths[i] > 0 ? 1 : 0;
    return;
  }
  order->resize(n);
  std::iota(order->begin(), order->end(), 0u);
  const auto end = order->begin() + static_cast<std::ptrdiff_t>(size);
  std::nth_element(
      order->begin(), end, order->end(), [&](uint32_t i, uint32_t j) {
        return worths[i] != worths[j] ? worths[i] > worths[j] : i < j;
      });
  std::for_each(order->begin(), end, [&](uint32_t i) { (*chosen)[i] = 1; });
}

// Sorts `items` by decreasing score, ties by item, and writes the sums of the
// first 0, 1, ... scores.
void SortByScore(std::span<const double> scores, std::vector<uint32_t>* items,
                 std::vector<double>* sums) {
  std::sort(items->begin(), items->end(), [&](uint32_t i, uint32_t j) {
    return scores[i] != scores[j] ? scores[i] > scores[j] : i < j;
  });
  sums->resize(items->size() + 1);
  (*sums)[0] = 0;
  for (size_t j = 0; j < items->size(); ++j) {
    (*sums)[j + 1] = (*sums)[j] + scores[(*items)[j]];
  }
}

}  // namespace

absl::Status CheckMultivariateLoss(const MultivariateLoss& loss) {
  if (!(loss.beta >= kMinBeta && loss.beta <= kMaxBeta)) {
    return absl::InvalidArgumentError(
        absl::StrCat("beta is ", loss.beta, ", must be within [", kMinBeta,
                     ", ", kMaxBeta, "]"));
  }
  if (loss.fewest > loss.most) {
    return absl::InvalidArgumentError(
        absl::StrCat("fewest is ", loss.fewest,
                     ", must be within [0, most = ", loss.most, "]"));
  }
  if (loss.measure == MultivariateMeasure::kPrecisionAtK &&
      (loss.fewest != loss.most || loss.most == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("fewest and most are ", loss.fewest, " and ", loss.most,
                     ", must both be k >= 1 for kPrecisionAtK"));
  }
  return absl::OkStatus();
}

double LossOfCounts(const MultivariateLoss& loss, const LabelCounts& labels,
                    size_t true_positives, size_t false_positives) {
  const double p = Count(labels.positives);
  const double n = Count(labels.negatives);
  const double a = Count(true_positives);
  const double b = Count(false_positives);
  switch (loss.measure) {
    case MultivariateMeasure::kAccuracy:
      return 1 - Ratio(a + n - b, p + n);
    case MultivariateMeasure::kBalanced:
      return 1 - (Ratio(a, p) + Ratio(n - b, n)) / 2;
    case MultivariateMeasure::kFBeta: {
      const double beta2 = loss.beta * loss.beta;
      return 1 - Ratio((1 + beta2) * a, a + b + beta2 * p);
    }
    case MultivariateMeasure::kPrecisionAtK:
      return 1 - a / Count(loss.most);
  }
  CHECK(false);
}

double LossOfLabels(const MultivariateLoss& loss,
                    std::span<const uint8_t> predicted,
                    std::span<const uint8_t> labels) {
  CHECK(predicted.size() == labels.size());
  LabelCounts counts;
  size_t true_positives = 0;
  size_t false_positives = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    ++(labels[i] != 0 ? counts.positives : counts.negatives);
    if (predicted[i] != 0) {
      ++(labels[i] != 0 ? true_positives : false_positives);
    }
  }
  return LossOfCounts(loss, counts, true_positives, false_positives);
}

std::vector<uint8_t> PredictLabels(const MultivariateLoss& loss,
                                   std::span<const double> scores) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> chosen;
  ChooseBest(scores, loss.fewest, loss.most, &order, &chosen);
  return chosen;
}

absl::StatusOr<MultivariateInference> MultivariateInference::Create(
    const MultivariateLoss& loss, std::span<const uint8_t> labels) {
  RETURN_IF_ERROR(CheckMultivariateLoss(loss));
  if (labels.empty() || labels.size() < loss.fewest) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels, must be at least ",
                     std::max<size_t>(1, loss.fewest), " = max(1, fewest)"));
  }
  return MultivariateInference(loss, labels);
}

MultivariateInference::MultivariateInference(const MultivariateLoss& loss,
                                             std::span<const uint8_t> labels)
    : loss_(loss), labels_(labels.begin(), labels.end()) {
  for (uint32_t i = 0; i < labels.size(); ++i) {
    (labels[i] != 0 ? positives_ : negatives_).push_back(i);
  }
  counts_ = {positives_.size(), negatives_.size()};
}

void MultivariateInference::Find(std::span<const double> scores,
                                 LossAugmentedLabels* result) {
  CHECK(scores.size() == labels_.size());
  if (loss_.measure == MultivariateMeasure::kFBeta) {
    ChooseCounts(scores, result);
  } else {
    ChooseItems(scores, result);
  }
  result->hinge = result->loss;
  for (size_t i = 0; i < scores.size(); ++i) {
    result->hinge += (result->labels[i] - labels_[i]) * scores[i];
  }
}

// Choosing a positive item adds its score minus what a true positive adds to
// the measure; choosing a negative item adds its score plus what a false
// positive takes from it.
void MultivariateInference::ChooseItems(std::span<const double> scores,
                                        LossAugmentedLabels* result) {
  double gain = 0;
  double harm = 0;
  switch (loss_.measure) {
    case MultivariateMeasure::kPrecisionAtK:
      gain = 1 / Count(loss_.most);
      break;
    case MultivariateMeasure::kBalanced:
      gain = 1 / (2 * Count(counts_.positives));
      harm = 1 / (2 * Count(counts_.negatives));
      break;
    default:
      gain = harm = 1 / Count(labels_.size());
  }
  worths_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    worths_[i] = labels_[i] != 0 ? scores[i] - gain : scores[i] + harm;
  }
  ChooseBest(worths_, loss_.fewest, loss_.most, &order_, &result->labels);
  result->loss = LossOfLabels(loss_, result->labels, labels_);
}

double MultivariateInference::Sum(size_t true_positives,
                                  size_t false_positives) const {
  return LossOfCounts(loss_, counts_, true_positives, false_positives) +
         positive_sums_[true_positives] + negative_sums_[false_positives];
}

size_t MultivariateInference::BestFalsePositives(size_t true_positives) const {
  const size_t a = true_positives;
  size_t low = loss_.fewest > a ? loss_.fewest - a : 0;
  size_t high = std::min(counts_.negatives, loss_.most - a);
  // If y has no positives, Δ is 0 for b = 0 and 1 for every b >= 1. So the sum
  // is concave only from b = 1 on, and b = 0 is compared separately.
  const bool may_be_empty = counts_.positives == 0 && low == 0;
  if (may_be_empty && high > 0) low = 1;
  // Bisects for the first b after which one more does not add anything.
  const size_t first = low;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (Sum(a, middle + 1) > Sum(a, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return may_be_empty && first > 0 && Sum(a, 0) >= Sum(a, low) ? 0 : low;
}

void MultivariateInference::ChooseCounts(std::span<const double> scores,
                                         LossAugmentedLabels* result) {
  SortByScore(scores, &positives_, &positive_sums_);
  SortByScore(scores, &negatives_, &negative_sums_);
  size_t best_a = 0;
  size_t best_b = 0;
  double best = -HUGE_VAL;
  const size_t fewest_a =
      loss_.fewest > counts_.negatives ? loss_.fewest - counts_.negatives : 0;
  const size_t most_a = std::min(counts_.positives, loss_.most);
  for (size_t a = fewest_a; a <= most_a; ++a) {
    const size_t b = BestFalsePositives(a);
    if (const double sum = Sum(a, b); sum > best) {
      best = sum;
      best_a = a;
      best_b = b;
    }
  }
  result->loss = LossOfCounts(loss_, counts_, best_a, best_b);
  result->labels.assign(scores.size(), 0);
  for (size_t j = 0; j < best_a; ++j) result->labels[positives_[j]] = 1;
  for (size_t j = 0; j < best_b; ++j) result->labels[negatives_[j]] = 1;
}

}  // namespace sortition
