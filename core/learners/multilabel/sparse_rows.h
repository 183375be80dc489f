#pragma once
// Multiplies a few sparse rows with a thin matrix, as a mini-batch needs it.
#include <cstdint>
#include <span>

#include "core/learners/multilabel/label_tuples.h"

namespace sortition {

// Computes scores[r q + l] = Σ_j x[rows[r]][j] weights[j q + l] for the q
// labels of the contexts. Bit-identical on every processor.
void ScoreSparseRows(const LabelContexts& contexts,
                     std::span<const uint32_t> rows, const double* weights,
                     double* scores);

// Computes gradient[j q + l] += Σ_r x[rows[r]][j] factors[r q + l].
void AddSparseRows(const LabelContexts& contexts,
                   std::span<const uint32_t> rows, const double* factors,
                   double* gradient);

}  // namespace sortition
