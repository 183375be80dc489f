#include "core/learners/multilabel/labels_policy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/learners/multilabel/sparse_rows.h"
#include "core/learners/multilabel/wide.h"

namespace sortition {
namespace {

constexpr uint32_t kUnmapped = std::numeric_limits<uint32_t>::max();

// If more than this share of their values is not 0, rows are faster as dense
// ones.
constexpr double kDenseShare = 0.25;

// Contexts that are scored together, so that their scores stay in the first
// caches.
constexpr size_t kContextsPerBlock = 256;

// Labels whose factors 1 + e <= 2 are multiplied: 2^512 still is a double.
constexpr uint32_t kProductLabels = 512;

// Sparse rows are requested this far ahead.
constexpr size_t kRowsAhead = 4;

// Labels that are processed at once.
constexpr size_t kLanes = 4;

// Returns Π (1 + e) over some labels of a row, at most 2^kProductLabels, and
// adds Σ max(s, 0) to `sum`. One logarithm of the product then serves many
// labels; its error is that of as many roundings of 1 + e.
inline SORTITION_WIDE double MultiplyPartition(std::span<const double> scores,
                                               const double* e, double* sum) {
  double products[kLanes] = {1, 1, 1, 1};
  double sums[kLanes] = {};
  size_t l = 0;
  for (; l + kLanes <= scores.size(); l += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      products[k] *= 1 + e[l + k];
      sums[k] += scores[l + k] > 0 ? scores[l + k] : 0;
    }
  }
  for (size_t k = 0; l + k < scores.size(); ++k) {
    products[k] *= 1 + e[l + k];
    sums[k] += scores[l + k] > 0 ? scores[l + k] : 0;
  }
  *sum += (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (products[0] * products[1]) * (products[2] * products[3]);
}

// Returns Σ_l y_l s_l.
inline SORTITION_WIDE double ScoreOf(const uint8_t* labels,
                                     std::span<const double> scores) {
  double sums[kLanes] = {};
  size_t l = 0;
  for (; l + kLanes <= scores.size(); l += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) {
      sums[k] += labels[l + k] * scores[l + k];
    }
  }
  for (size_t k = 0; l + k < scores.size(); ++k) {
    sums[k] += labels[l + k] * scores[l + k];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

LabelScorer::LabelScorer(const LabelContexts& contexts)
    : contexts_(contexts), parameters_(nullptr) {
  const double entries = static_cast<double>(contexts.size()) *
                         static_cast<double>(contexts.num_features);
  if (static_cast<double>(contexts.values.size()) < kDenseShare * entries) {
    return;
  }
  dense_ = ContextRows(contexts.size(), contexts.num_features);
  for (size_t row = 0; row < contexts.size(); ++row) {
    for (uint64_t k = contexts.row_offsets[row];
         k < contexts.row_offsets[row + 1]; ++k) {
      dense_.Set(row, contexts.columns[k], contexts.values[k]);
    }
  }
}

void LabelScorer::SetParameters(const Eigen::VectorXd& parameters) {
  DCHECK(parameters.size() == dimension());
  parameters_ = parameters.data();
  if (dense_.empty()) return;
  dense_.SetWeights(
      contexts_.num_labels,
      {parameters.data(), static_cast<size_t>(parameters.size())});
}

void LabelScorer::Score(std::span<const uint32_t> rows,
                        std::span<double> scores) const {
  if (!dense_.empty()) return dense_.Multiply(rows, scores);
  ScoreSparseRows(contexts_, rows, parameters_, scores.data());
}

void LabelScorer::AddOuterProducts(std::span<const uint32_t> rows,
                                   std::span<const double> factors,
                                   const ParallelFor& parallel_for,
                                   Eigen::VectorXd* gradient) {
  DCHECK(gradient->size() == dimension());
  const uint32_t q = contexts_.num_labels;
  DCHECK(factors.size() == rows.size() * q);
  if (!dense_.empty()) {
    return dense_.AddTransposedProduct(
        rows, q, factors, parallel_for,
        {gradient->data(), static_cast<size_t>(gradient->size())});
  }
  AddSparseRows(contexts_, rows, factors.data(), gradient->data());
}

LabelScorer::Matrix LabelScorer::Scores(const Eigen::VectorXd& parameters) {
  std::vector<uint32_t> rows(contexts_.size());
  std::iota(rows.begin(), rows.end(), 0u);
  Matrix scores(rows.size(), contexts_.num_labels);
  SetParameters(parameters);
  Score(rows, {scores.data(), static_cast<size_t>(scores.size())});
  return scores;
}

void LabelScorer::PrefetchColumns(uint32_t row) const {
  constexpr size_t kLine = 64 / sizeof(uint32_t);
  for (uint64_t k = contexts_.row_offsets[row];
       k < contexts_.row_offsets[row + 1]; k += kLine) {
    __builtin_prefetch(contexts_.columns.data() + k);
  }
}

std::span<const uint32_t> LabelScorer::Features(
    std::span<const uint32_t> rows) {
  is_found_.resize(contexts_.num_features / 64 + 1);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r + kRowsAhead < rows.size()) PrefetchColumns(rows[r + kRowsAhead]);
    const uint32_t row = rows[r];
    for (uint64_t k = contexts_.row_offsets[row];
         k < contexts_.row_offsets[row + 1]; ++k) {
      const uint32_t column = contexts_.columns[k];
      is_found_[column / 64] |= uint64_t{1} << (column % 64);
    }
  }
  features_.clear();
  for (uint32_t word = 0; word < is_found_.size(); ++word) {
    for (uint64_t bits = is_found_[word]; bits != 0; bits &= bits - 1) {
      features_.push_back(64 * word +
                          static_cast<uint32_t>(std::countr_zero(bits)));
    }
    is_found_[word] = 0;
  }
  return features_;
}

absl::StatusOr<LabelsPolicy> LabelsPolicy::Create(const LabelContexts& contexts,
                                                  const LabelTuples& tuples,
                                                  ParallelFor parallel_for) {
  const size_t n = tuples.size();
  if (tuples.labels.size() != n * contexts.num_labels ||
      tuples.losses.size() != n || tuples.log_propensities.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        n, " tuples have ", tuples.labels.size(), " labels, ",
        tuples.losses.size(), " losses and ", tuples.log_propensities.size(),
        " propensities, must have ", n * contexts.num_labels, ", ", n, " and ",
        n));
  }
  for (size_t i = 0; i < n; ++i) {
    if (tuples.contexts[i] >= contexts.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("context of tuple ", i, " is ", tuples.contexts[i],
                       ", must be below ", contexts.size()));
    }
  }
  for (size_t k = 0; k < tuples.labels.size(); ++k) {
    if (tuples.labels[k] > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", k % contexts.num_labels, " of tuple ",
                       k / contexts.num_labels, " is ", tuples.labels[k],
                       ", must be 0 or 1"));
    }
  }
  return LabelsPolicy(contexts, tuples, std::move(parallel_for));
}

LabelsPolicy::LabelsPolicy(const LabelContexts& contexts,
                           const LabelTuples& tuples, ParallelFor parallel_for)
    : contexts_(&contexts),
      tuples_(&tuples),
      parallel_for_(std::move(parallel_for)),
      scorer_(contexts),
      place_of_context_(contexts.size(), kUnmapped) {}

void LabelsPolicy::FindContexts(std::span<const uint32_t> tuples) {
  if (std::equal(tuples.begin(), tuples.end(), block_.begin(), block_.end())) {
    return;  // Entries() of the same tuples came before.
  }
  block_.assign(tuples.begin(), tuples.end());
  rows_.clear();
  place_.resize(tuples.size());
  for (size_t k = 0; k < tuples.size(); ++k) {
    const uint32_t context = tuples_->contexts[tuples[k]];
    uint32_t& place = place_of_context_[context];
    if (place == kUnmapped) {
      place = static_cast<uint32_t>(rows_.size());
      rows_.push_back(context);
    }
    place_[k] = place;
  }
  for (const uint32_t row : rows_) place_of_context_[row] = kUnmapped;
}

void LabelsPolicy::ScoreRows(size_t begin, size_t end) {
  const uint32_t q = contexts_->num_labels;
  const size_t first = begin * q;
  const size_t size = (end - begin) * q;
  double* const scores = scores_.data() + first;
  double* const probabilities = probabilities_.data() + first;
  scorer_.Score(std::span(rows_).subspan(begin, end - begin), {scores, size});
  // With e = exp(-|s|), σ is 1 / (1 + e) or e / (1 + e), and log(1 + exp(s)) =
  // max(s, 0) + log(1 + e). The logarithm is taken of products of 1 + e.
  for (size_t k = 0; k < size; ++k) probabilities[k] = -std::abs(scores[k]);
  stable::ExpInPlace({probabilities, size});
  std::fill_n(log_partitions_.begin() + begin, end - begin, 0);
  std::array<double, kContextsPerBlock> products;
  for (uint32_t from = 0; from < q; from += kProductLabels) {
    const uint32_t to = std::min(q, from + kProductLabels);
    internal::RunWide([&]() SORTITION_WIDE {
      for (size_t r = begin; r < end; ++r) {
        const size_t row = (r - begin) * q;
        products[r - begin] =
            MultiplyPartition({scores + row + from, to - from},
                              probabilities + row + from, &log_partitions_[r]);
      }
    });
    stable::LogInPlace({products.data(), end - begin});
    for (size_t r = begin; r < end; ++r) {
      log_partitions_[r] += products[r - begin];
    }
  }
  internal::RunWide([&]() SORTITION_WIDE {
    for (size_t k = 0; k < size; ++k) {
      const double e = probabilities[k];
      probabilities[k] = (scores[k] >= 0 ? 1 : e) / (1 + e);
    }
  });
}

void LabelsPolicy::LogProbabilities(const Eigen::VectorXd& parameters,
                                    std::span<const uint32_t> tuples,
                                    std::span<double> log_probabilities) {
  DCHECK(tuples.size() == log_probabilities.size());
  const uint32_t q = contexts_->num_labels;
  FindContexts(tuples);
  scores_.resize(rows_.size() * q);
  probabilities_.resize(rows_.size() * q);
  log_partitions_.resize(rows_.size());
  scorer_.SetParameters(parameters);
  parallel_for_((rows_.size() + kContextsPerBlock - 1) / kContextsPerBlock,
                [this](size_t chunk) {
                  ScoreRows(
                      chunk * kContextsPerBlock,
                      std::min((chunk + 1) * kContextsPerBlock, rows_.size()));
                });
  internal::RunWide([&]() SORTITION_WIDE {
    for (size_t k = 0; k < tuples.size(); ++k) {
      const double* row = scores_.data() + size_t{place_[k]} * q;
      const uint8_t* labels = tuples_->labels.data() + size_t{tuples[k]} * q;
      log_probabilities[k] =
          ScoreOf(labels, {row, q}) - log_partitions_[place_[k]];
    }
  });
}

void LabelsPolicy::Prefetch(std::span<const uint32_t> tuples) const {
  for (const uint32_t i : tuples) {
    __builtin_prefetch(&tuples_->contexts[i]);
    __builtin_prefetch(tuples_->labels.data() +
                       size_t{i} * contexts_->num_labels);
  }
  for (const uint32_t i : tuples) {
    const uint32_t context = tuples_->contexts[i];
    __builtin_prefetch(&place_of_context_[context], 1);
    scorer_.Prefetch(context);
  }
}

void LabelsPolicy::AddGradient(std::span<const double> factors,
                               Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == block_.size());
  const uint32_t q = contexts_->num_labels;
  factors_.assign(rows_.size() * q, 0);
  internal::RunWide([&]() SORTITION_WIDE {
    for (size_t k = 0; k < block_.size(); ++k) {
      if (factors[k] == 0) continue;
      double* row = factors_.data() + size_t{place_[k]} * q;
      const double* probabilities =
          probabilities_.data() + size_t{place_[k]} * q;
      const uint8_t* labels = tuples_->labels.data() + size_t{block_[k]} * q;
      for (uint32_t l = 0; l < q; ++l) {
        row[l] += factors[k] * (labels[l] - probabilities[l]);
      }
    }
  });
  scorer_.AddOuterProducts(rows_, factors_, parallel_for_, gradient);
}

std::optional<EntryGroups> LabelsPolicy::Entries(
    std::span<const uint32_t> tuples) {
  if (scorer_.is_dense()) return std::nullopt;
  FindContexts(tuples);
  return EntryGroups{scorer_.Features(rows_), contexts_->num_labels};
}

}  // namespace sortition
