#include "core/policies/distributions/sized_subset.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Up to so many entries in all, all rows are kept and none is computed twice.
constexpr size_t kCellsAtHand = 1 << 16;

// Returns log σ(±log_odds). Requires that its probability is not 0.
double LogProbability(bool in, double log_odds) {
  return 0 - stable::Softplus(in ? -log_odds : log_odds);
}

double Probability(double log_odds) {
  const double exp_minus_size = stable::Exp(-std::abs(log_odds));
  return (log_odds > 0 ? 1 : exp_minus_size) / (1 + exp_minus_size);
}

}  // namespace

void SizedSubset::SetLogits(std::span<const double> logits, uint32_t size) {
  DCHECK(size >= 1 && size <= logits.size());
  DCHECK(IsWithinLimit(logits.size(), size));
  logits_.assign(logits.begin(), logits.end());
  size_ = size;
}

void SizedSubset::FillEnd(LogRatio* row) const {
  row[0] = {HUGE_VAL, 0};
  std::fill(row + 1, row + size_ + 1, LogRatio{-HUGE_VAL, 0});
}

// Let E_i(j) = log e_j = log(exp E_{i+1}(j) + exp(l_i + E_{i+1}(j-1))). With a
// = l_i - D_{i+1}(j) >= b = l_i - D_{i+1}(j-1) it follows that
//   D_i(j) = D_{i+1}(j) + log(1 + e^a) - log(1 + e^b),
// and log(1 + e^a) = max(a, 0) + log(1 + e^-|a|).
void SizedSubset::Advance(double logit, const LogRatio* next, LogRatio* row) {
  const size_t width = size_ + 1;
  terms_.resize(width);
  corrections_.resize(width);
  for (size_t j = 0; j < width; ++j) {
    terms_[j] = (logit - next[j].reference) - next[j].excess;
    corrections_[j] = -std::abs(terms_[j]);
  }
  stable::ExpInPlace(corrections_);
  stable::Log1pInPlace(corrections_);
  // Downwards: entry j needs entry j - 1 of `next`.
  for (size_t j = size_; j > 0; --j) {
    const double correction = corrections_[j] - corrections_[j - 1];
    const LogRatio from = terms_[j] <= 0       ? next[j]
                          : terms_[j - 1] <= 0 ? LogRatio{logit, 0}
                                               : next[j - 1];
    row[j] = {from.reference, from.excess + correction};
  }
  row[0] = next[0];
}

void SizedSubset::SaveCheckpoints() {
  const size_t width = size_ + 1;
  const size_t m = logits_.size();
  const auto root = static_cast<size_t>(std::ceil(std::sqrt(m)));
  block_ = std::min(m, std::max(root, kCellsAtHand / width));
  const size_t num_blocks = (m + block_ - 1) / block_;
  checkpoints_.resize(num_blocks * width);
  FillEnd(&checkpoints_[(num_blocks - 1) * width]);
  for (size_t b = num_blocks - 1; b > 0; --b) {
    LogRatio* const row = &checkpoints_[(b - 1) * width];
    std::copy_n(&checkpoints_[b * width], width, row);
    for (size_t i = std::min(m, (b + 1) * block_); i > b * block_; --i) {
      Advance(logits_[i - 1], row, row);
    }
  }
}

template <typename Visit>
void SizedSubset::VisitForward(const Visit& visit) {
  SaveCheckpoints();
  const size_t width = size_ + 1;
  const size_t m = logits_.size();
  rows_.resize(block_ * width);
  for (size_t begin = 0; begin < m; begin += block_) {
    const size_t end = std::min(m, begin + block_);
    std::copy_n(&checkpoints_[begin / block_ * width], width,
                &rows_[(end - 1 - begin) * width]);
    for (size_t i = end - 1; i > begin; --i) {
      Advance(logits_[i], &rows_[(i - begin) * width],
              &rows_[(i - 1 - begin) * width]);
    }
    for (size_t i = begin; i < end; ++i) visit(i, &rows_[(i - begin) * width]);
  }
}

double SizedSubset::Draw(std::span<const double> numbers,
                         std::span<uint8_t> taken) {
  DCHECK(numbers.size() == logits_.size() && taken.size() == logits_.size());
  if (size_ == logits_.size()) {
    std::fill(taken.begin(), taken.end(), 1);
    return 0;
  }
  state_.resize(logits_.size());
  size_t left = size_;
  VisitForward([&](size_t i, const LogRatio* next) {
    const double log_odds =
        (logits_[i] - next[left].reference) - next[left].excess;
    const bool in = numbers[i] < Probability(log_odds);
    taken[i] = in ? 1 : 0;
    state_[i] = LogProbability(in, log_odds);
    left -= in ? 1 : 0;
  });
  CHECK(left == 0);
  return stable::Sum(state_);
}

double SizedSubset::LogPropensity(std::span<const uint8_t> taken) {
  DCHECK(taken.size() == logits_.size());
  if (size_ == logits_.size()) return 0;
  state_.resize(logits_.size());
  rows_.resize(size_ + 1);
  FillEnd(rows_.data());
  size_t left = 0;
  for (size_t i = logits_.size(); i > 0; --i) {
    const bool in = taken[i - 1] != 0;
    left += in ? 1 : 0;
    const double log_odds =
        (logits_[i - 1] - rows_[left].reference) - rows_[left].excess;
    state_[i - 1] = LogProbability(in, log_odds);
    Advance(logits_[i - 1], rows_.data(), rows_.data());
  }
  CHECK(left == size_);
  return stable::Sum(state_);
}

// Goes forward with the probabilities that j items are still to be chosen
// before item i.
void SizedSubset::Marginals(std::span<double> in, std::span<double> out) {
  DCHECK(in.size() == logits_.size() && out.size() == logits_.size());
  if (size_ == logits_.size()) {
    std::fill(in.begin(), in.end(), 1);
    std::fill(out.begin(), out.end(), 0);
    return;
  }
  state_.assign(size_ + 1, 0);
  state_[size_] = 1;
  std::vector<double>& sizes = corrections_;  // exp(-|log-odds|).
  VisitForward([&](size_t i, const LogRatio* next) {
    const size_t width = size_ + 1;
    sizes.resize(width);
    for (size_t j = 0; j < width; ++j) {
      sizes[j] = -std::abs((logits_[i] - next[j].reference) - next[j].excess);
    }
    stable::ExpInPlace(sizes);
    in[i] = 0;
    out[i] = 0;
    for (size_t j = 0; j < width; ++j) {
      const double log_odds = (logits_[i] - next[j].reference) - next[j].excess;
      const double total = 1 + sizes[j];
      const double chosen = state_[j] * ((log_odds > 0 ? 1 : sizes[j]) / total);
      const double passed = state_[j] * ((log_odds > 0 ? sizes[j] : 1) / total);
      in[i] += chosen;
      out[i] += passed;
      if (j > 0) state_[j - 1] += chosen;
      state_[j] = passed;
    }
  });
}

}  // namespace sortition
