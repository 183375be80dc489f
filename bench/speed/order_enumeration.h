#pragma once
// The gradient of a random field over orders as its formulas read, order by
// order: what core/losses/ranking_crf.h is to be faster than.
#include <span>

namespace sortition {

// As RankingCrf::Evaluate() for kKullbackLeibler. Requires something relevant.
double EnumerateKullbackLeibler(std::span<const double> scores,
                                std::span<const double> gains,
                                double temperature, std::span<double> gradient);

}  // namespace sortition
