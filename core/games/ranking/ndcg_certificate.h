#pragma once
// Strategies of the NDCG game of ndcg_game.h, and bounds on its value that
// follow from them.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/games/ranking/ranking_certificate.h"

namespace sortition {

// The adversary's sets of the same size.
struct NdcgSets {
  size_t num_positives = 0;  // t.
  double probability = 0;
  std::vector<double> positives;  // By item: P(y_i = 1 and |y| = t).
};

// Returns bounds: `lower` from the best answer to d over sets of every size, in
// O(n²), and `upper` from the best order against the sets. `empty_score` is
// that of NdcgOptions.
RankingCertificate CertifyNdcg(std::span<const double> psi,
                               const Discounts& discounts,
                               std::optional<double> empty_score,
                               std::span<const double> expected_discounts,
                               std::span<const NdcgSets> sets);

}  // namespace sortition
