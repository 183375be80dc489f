#include "core/policies/marginals/arrival_counts.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace sortition {
namespace {

// Writes the first coefficients of product · (q + p z); may be in place.
void Multiply(double p, double q, std::span<const double> product,
              std::span<double> result) {
  for (size_t k = product.size() - 1; k > 0; --k) {
    result[k] = q * product[k] + p * product[k - 1];
  }
  result[0] = q * product[0];
}

// Multiplies a product by two factors at once: one pass instead of two, whose
// steps would wait for each other.
void MultiplyTwo(double p, double q, double next_p, double next_q,
                 std::span<double> product) {
  const double none = q * next_q;
  const double one = p * next_q + q * next_p;
  const double two = p * next_p;
  for (size_t k = product.size() - 1; k > 1; --k) {
    product[k] =
        none * product[k] + one * product[k - 1] + two * product[k - 2];
  }
  if (product.size() > 1) product[1] = none * product[1] + one * product[0];
  product[0] *= none;
}

// Goes back through Multiply(): returns the derivative by p, given the product
// it was applied to and the derivatives by the result, which become those by
// the product.
double MultiplyGradient(double p, double q, std::span<const double> product,
                        std::span<double> slopes) {
  const size_t last = product.size() - 1;
  double by_p = 0 - slopes[0] * product[0];
  for (size_t k = 1; k <= last; ++k) {
    by_p += slopes[k] * (product[k - 1] - product[k]);
  }
  for (size_t k = 0; k < last; ++k)
    slopes[k] = q * slopes[k] + p * slopes[k + 1];
  slopes[last] *= q;
  return by_p;
}

}  // namespace

std::span<double> ArrivalCounts::Push(size_t size) {
  CHECK(used_ + size <= stack_.size());
  used_ += size;
  return std::span(stack_).subspan(used_ - size, size);
}

void ArrivalCounts::Build(std::span<const double> p, std::span<const double> q,
                          size_t ranks) {
  DCHECK(p.size() == q.size() && !p.empty() && ranks >= 1);
  p_ = p;
  q_ = q;
  ranks_ = ranks;
  likely_ = static_cast<size_t>(
      std::partition_point(p.begin(), p.end(),
                           [](double value) { return value > 0.5; }) -
      p.begin());
  base_.assign(ranks, 0);
  base_[0] = 1;
  size_t degree = 1;
  size_t j = likely_;
  for (; j + 1 < p.size(); j += 2) {
    degree = std::min(ranks, degree + 2);
    MultiplyTwo(p[j], q[j], p[j + 1], q[j + 1], std::span(base_).first(degree));
  }
  if (j < p.size()) Multiply(p[j], q[j], base_, base_);
  all_ = base_;
  for (size_t i = 0; i < likely_; ++i) Multiply(p[i], q[i], all_, all_);
  others_.resize(ranks * p.size());
  if (likely_ > 0) {
    // Each level of AddSplitGradient() keeps a chain of half of its events and
    // three products.
    stack_.resize(ranks * (2 * likely_ + 4 * std::bit_width(likely_) + 8));
    used_ = 0;
    Split(0, likely_, base_);
  }
  DivideOut();
}

void ArrivalCounts::Split(size_t begin, size_t end,
                          std::span<const double> product) {
  if (end - begin == 1) {
    for (size_t k = 0; k < ranks_; ++k) {
      others_[k * p_.size() + begin] = product[k];
    }
    return;
  }
  const size_t middle = begin + (end - begin) / 2;
  const std::span<double> half = Push(ranks_);
  std::copy(product.begin(), product.end(), half.begin());
  for (size_t j = middle; j < end; ++j) Multiply(p_[j], q_[j], half, half);
  Split(begin, middle, half);
  std::copy(product.begin(), product.end(), half.begin());
  for (size_t j = begin; j < middle; ++j) Multiply(p_[j], q_[j], half, half);
  Split(middle, end, half);
  Pop(ranks_);
}

void ArrivalCounts::DivideOut() {
  const size_t n = p_.size();
  const double* const p = p_.data();
  inverses_.resize(n);
  for (size_t d = likely_; d < n; ++d) inverses_[d] = 1 / q_[d];
  const double* const inverse = inverses_.data();
  for (size_t k = 0; k < ranks_; ++k) {
    double* const row = others_.data() + k * n;
    const double all = all_[k];
    if (k == 0) {
      for (size_t d = likely_; d < n; ++d) row[d] = all * inverse[d];
      continue;
    }
    const double* const before = row - n;
    for (size_t d = likely_; d < n; ++d) {
      row[d] = (all - p[d] * before[d]) * inverse[d];
    }
  }
}

void ArrivalCounts::AddGradient(std::span<const double> factors,
                                std::span<double> gradient) {
  DCHECK(factors.size() == others_.size() && gradient.size() == p_.size());
  AddDivisionGradient(factors, gradient);
  if (likely_ == 0) return;
  const std::span<double> base_gradient = Push(ranks_);
  std::fill(base_gradient.begin(), base_gradient.end(), 0);
  AddSplitGradient(0, likely_, base_, factors, gradient, base_gradient);
  AddBaseGradient(base_gradient, gradient);
  Pop(ranks_);
}

// What goes back from the A of unlikely events to P is S[k][d] = ∂V / ∂P[k]
// through A[d]. An event does not change its own A, so that
//   ∂V / ∂p_j = Σ_k (Σ_d S[k][d] - S[k][j]) (A[j][k-1] - A[j][k]).
void ArrivalCounts::AddDivisionGradient(std::span<const double> factors,
                                        std::span<double> gradient) {
  const size_t n = p_.size();
  const double* const p = p_.data();
  const double* const inverse = inverses_.data();
  slopes_.resize(others_.size());
  for (size_t k = ranks_; k-- > 0;) {
    double* const row = slopes_.data() + k * n;
    const double* const factor = factors.data() + k * n;
    std::fill(row, row + likely_, 0.0);
    if (k + 1 == ranks_) {
      for (size_t d = likely_; d < n; ++d) row[d] = factor[d] * inverse[d];
      continue;
    }
    const double* const after = row + n;
    for (size_t d = likely_; d < n; ++d) {
      row[d] = (factor[d] - p[d] * after[d]) * inverse[d];
    }
  }
  for (size_t k = 0; k < ranks_; ++k) {
    const double* const row = slopes_.data() + k * n;
    const double* const other = others_.data() + k * n;
    double sum = 0;
    for (size_t d = likely_; d < n; ++d) sum += row[d];
    if (k == 0) {
      for (size_t j = 0; j < n; ++j) gradient[j] -= (sum - row[j]) * other[j];
      continue;
    }
    const double* const before = other - n;
    for (size_t j = 0; j < n; ++j) {
      gradient[j] += (sum - row[j]) * (before[j] - other[j]);
    }
  }
}

void ArrivalCounts::AddHalfGradient(size_t begin, size_t end,
                                    size_t other_begin, size_t other_end,
                                    std::span<const double> product,
                                    std::span<const double> factors,
                                    std::span<double> gradient,
                                    std::span<double> product_gradient) {
  const size_t size = other_end - other_begin;
  const std::span<double> chain = Push((size + 1) * ranks_);
  const auto link = [&](size_t i) { return chain.subspan(i * ranks_, ranks_); };
  std::copy(product.begin(), product.end(), chain.begin());
  for (size_t i = 0; i < size; ++i) {
    Multiply(p_[other_begin + i], q_[other_begin + i], link(i), link(i + 1));
  }
  const std::span<double> slopes = Push(ranks_);
  std::fill(slopes.begin(), slopes.end(), 0);
  AddSplitGradient(begin, end, link(size), factors, gradient, slopes);
  for (size_t i = size; i-- > 0;) {
    gradient[other_begin + i] += MultiplyGradient(
        p_[other_begin + i], q_[other_begin + i], link(i), slopes);
  }
  for (size_t k = 0; k < ranks_; ++k) product_gradient[k] += slopes[k];
  Pop((size + 2) * ranks_);
}

void ArrivalCounts::AddSplitGradient(size_t begin, size_t end,
                                     std::span<const double> product,
                                     std::span<const double> factors,
                                     std::span<double> gradient,
                                     std::span<double> product_gradient) {
  if (end - begin == 1) {
    for (size_t k = 0; k < ranks_; ++k) {
      product_gradient[k] += factors[k * p_.size() + begin];
    }
    return;
  }
  const size_t middle = begin + (end - begin) / 2;
  AddHalfGradient(begin, middle, middle, end, product, factors, gradient,
                  product_gradient);
  AddHalfGradient(middle, end, begin, middle, product, factors, gradient,
                  product_gradient);
}

// Goes back from the product of the unlikely events to each of them; without
// event j that product is B[j], divided out as in DivideOut().
void ArrivalCounts::AddBaseGradient(std::span<const double> base_gradient,
                                    std::span<double> gradient) const {
  for (size_t j = likely_; j < p_.size(); ++j) {
    const double inverse = inverses_[j];
    double without = base_[0] * inverse;
    double by_p = 0 - base_gradient[0] * without;
    for (size_t k = 1; k < ranks_; ++k) {
      const double next = (base_[k] - p_[j] * without) * inverse;
      by_p += base_gradient[k] * (without - next);
      without = next;
    }
    gradient[j] += by_p;
  }
}

}  // namespace sortition
