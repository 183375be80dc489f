#pragma once
// Products of a few sparse rows with a thin matrix, as a mini-batch needs them.
#include <cstdint>
#include <span>

#include "core/learners/multilabel/label_tuples.h"

namespace sortition {

// scores[r q + l] = Σ_j x[rows[r]][j] weights[j q + l]; q labels, as many as
// the contexts have. The same bits on every processor.
void ScoreSparseRows(const LabelContexts& contexts,
                     std::span<const uint32_t> rows, const double* weights,
                     double* scores);

// gradient[j q + l] += Σ_r x[rows[r]][j] factors[r q + l]
void AddSparseRows(const LabelContexts& contexts,
                   std::span<const uint32_t> rows, const double* factors,
                   double* gradient);

}  // namespace sortition
