#pragma once
// Computes the gradient of a random field over orders by its formulas, order by
// order: the baseline of core/losses/ranking_crf.h.
#include <span>

namespace sortition {

// Returns what RankingCrf::Evaluate() returns for kKullbackLeibler. Requires a
// relevant document.
double EnumerateKullbackLeibler(std::span<const double> scores,
                                std::span<const double> gains,
                                double temperature, std::span<double> gradient);

}  // namespace sortition
