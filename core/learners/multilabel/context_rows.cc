#include "core/learners/multilabel/context_rows.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/learners/multilabel/context_rows_kernels.h"

namespace sortition {
namespace internal {

void ScoreRowsPortable(const ContextRowsTask& task, LabelBlock labels) {
  constexpr size_t kLanes = 8;
  for (size_t r = 0; r < task.rows.size(); ++r) {
    const float* const row = task.rows[r];
    for (uint32_t l = labels.first; l < labels.first + labels.size; ++l) {
      const double* const weights = task.by_label + l * task.stride;
      double lanes[kLanes] = {};
      for (size_t j = 0; j < task.stride; j += kLanes) {
        for (size_t k = 0; k < kLanes; ++k) {
          lanes[k] += static_cast<double>(row[j + k]) * weights[j + k];
        }
      }
      task.scores[r * task.num_labels + l] =
          ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
          ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    }
  }
}

void SumRowsPortable(const ContextRowsTask& task, LabelBlock labels) {
  for (uint32_t l = labels.first; l < labels.first + labels.size; ++l) {
    double* const sums = task.by_label + l * task.stride;
    for (size_t r = 0; r < task.rows.size(); ++r) {
      const float* const row = task.rows[r];
      const double factor = task.factors[r * task.num_labels + l];
      for (size_t j = task.begin; j < task.end; ++j) {
        sums[j] += factor * static_cast<double>(row[j]);
      }
    }
  }
}

}  // namespace internal

namespace {

using internal::ContextRowsTask;
using internal::LabelBlock;

constexpr size_t kEight = 8;

// Rows that are processed together. With some hundred features they fit the
// second-level cache.
constexpr size_t kRowsPerBlock = 128;

// Number of parts of the features that threads share. With fewer than kFewRows
// rows it is not worth it.
constexpr size_t kParts = 8;
constexpr size_t kFewRows = 2048;

using Kernel = void (*)(const ContextRowsTask& task, LabelBlock labels);

Kernel ScoreRows() {
#if defined(__x86_64__)
  if (internal::HasAvx2()) return internal::ScoreRowsAvx2;
#endif
  return internal::ScoreRowsPortable;
}

Kernel SumRows() {
#if defined(__x86_64__)
  if (internal::HasAvx2()) return internal::SumRowsAvx2;
#endif
  return internal::SumRowsPortable;
}

// Calls `kernel` for all labels, in blocks of nearly equal sizes.
void ForLabels(const ContextRowsTask& task, Kernel kernel) {
  const uint32_t q = task.num_labels;
  const uint32_t blocks = (q + internal::kMaxLabels - 1) / internal::kMaxLabels;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t first = q * block / blocks;
    kernel(task, {first, q * (block + 1) / blocks - first});
  }
}

}  // namespace

ContextRows::ContextRows(size_t num_rows, uint32_t num_features)
    : num_features_(num_features),
      stride_((num_features + kEight - 1) / kEight * kEight),
      values_(num_rows * stride_ / kEight) {}

void ContextRows::SetWeights(uint32_t num_labels,
                             std::span<const double> weights) {
  DCHECK(weights.size() == size_t{num_features_} * num_labels);
  num_labels_ = num_labels;
  // The padding behind the features is 0 and stays so.
  weights_.resize(num_labels * stride_ / kEight);
  double* const by_label = weights_.data()->values;
  for (uint32_t l = 0; l < num_labels; ++l) {
    double* const of_label = by_label + l * stride_;
    for (size_t j = 0; j < num_features_; ++j) {
      of_label[j] = weights[j * num_labels + l];
    }
  }
}

void ContextRows::Multiply(std::span<const uint32_t> rows,
                           std::span<double> scores) const {
  DCHECK(scores.size() == rows.size() * num_labels_);
  const float* const values = values_.data()->values;
  const float* chunk[kRowsPerBlock];
  for (size_t begin = 0; begin < rows.size(); begin += kRowsPerBlock) {
    const size_t size = std::min(kRowsPerBlock, rows.size() - begin);
    for (size_t r = 0; r < size; ++r) {
      chunk[r] = values + rows[begin + r] * stride_;
    }
    // ScoreRows does not write to the weights.
    double* const weights = const_cast<double*>(weights_.data()->values);
    ForLabels({.rows = {chunk, size},
               .stride = stride_,
               .num_labels = num_labels_,
               .factors = nullptr,
               .scores = scores.data() + begin * num_labels_,
               .by_label = weights},
              ScoreRows());
  }
}

void ContextRows::AddTransposedProduct(std::span<const uint32_t> rows,
                                       uint32_t num_labels,
                                       std::span<const double> factors,
                                       const ParallelFor& parallel_for,
                                       std::span<double> gradient) {
  DCHECK(factors.size() == rows.size() * num_labels);
  DCHECK(gradient.size() == size_t{num_features_} * num_labels);
  active_.clear();
  factors_.clear();
  const float* const values = values_.data()->values;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto of_row = factors.subspan(r * num_labels, num_labels);
    if (std::all_of(of_row.begin(), of_row.end(),
                    [](double factor) { return factor == 0; })) {
      continue;
    }
    active_.push_back(values + rows[r] * stride_);
    factors_.insert(factors_.end(), of_row.begin(), of_row.end());
  }
  sums_.assign(num_labels * stride_ / kEight, {});
  double* const sums = sums_.data()->values;
  // Each part of the features has its own sums, over the rows in a fixed order.
  const size_t parts = active_.size() < kFewRows ? 1 : kParts;
  parallel_for(parts, [&](size_t part) {
    const size_t begin = stride_ / kEight * part / parts * kEight;
    const size_t end = stride_ / kEight * (part + 1) / parts * kEight;
    for (size_t r = 0; r < active_.size(); r += kRowsPerBlock) {
      const size_t size = std::min(kRowsPerBlock, active_.size() - r);
      ForLabels({.rows = std::span(active_).subspan(r, size),
                 .stride = stride_,
                 .num_labels = num_labels,
                 .factors = factors_.data() + r * num_labels,
                 .scores = nullptr,
                 .by_label = sums,
                 .begin = begin,
                 .end = end},
                SumRows());
    }
    for (size_t j = begin; j < std::min<size_t>(end, num_features_); ++j) {
      for (uint32_t l = 0; l < num_labels; ++l) {
        gradient[j * num_labels + l] += sums[l * stride_ + j];
      }
    }
  });
}

}  // namespace sortition
