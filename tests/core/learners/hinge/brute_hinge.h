#pragma once
// Structured hinges of tiny queries by their definition, over every answer y'.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "sortition/config/v1/hinge.pb.h"

namespace sortition {

using config::v1::HingeOptions;

inline double DcgOf(std::span<const uint32_t> relevances,
                    const std::vector<size_t>& order, size_t cutoff) {
  double sum = 0;
  for (size_t r = 0; r < order.size() && (cutoff == 0 || r < cutoff); ++r) {
    sum += relevances[order[r]] / std::log2(static_cast<double>(r) + 2);
  }
  return sum;
}

// Hinge of rankings: 1 - NDCG, and the mean over pairs of different relevances
// of the score lost by inverting them.
inline double BruteNdcgHinge(size_t cutoff, std::span<const uint32_t> y,
                             std::span<const double> s) {
  std::vector<size_t> order(y.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<size_t> ideal = order;
  std::sort(ideal.begin(), ideal.end(),
            [&](size_t a, size_t b) { return y[a] > y[b]; });
  const double best = DcgOf(y, ideal, cutoff);
  double most = -HUGE_VAL;
  do {
    double wrong = 0, pairs = 0;
    for (size_t r = 0; r < order.size(); ++r) {
      for (size_t below = r + 1; below < order.size(); ++below) {
        const size_t i = order[r], j = order[below];
        pairs += y[i] != y[j];
        if (y[j] > y[i]) wrong += s[i] - s[j];
      }
    }
    most = std::max(most, 1 - DcgOf(y, order, cutoff) / best + wrong / pairs);
  } while (std::next_permutation(order.begin(), order.end()));
  return most;
}

inline double BruteKendallHinge(std::span<const uint32_t> y,
                                std::span<const double> s) {
  double sum = 0, pairs = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t j = 0; j < y.size(); ++j) {
      if (y[i] <= y[j]) continue;
      ++pairs;
      sum += std::max(0.0, 1 - s[i] + s[j]);
    }
  }
  return sum / pairs;
}

inline double BruteSelectionHinge(std::span<const uint32_t> y,
                                  std::span<const double> s) {
  const double best = *std::max_element(y.begin(), y.end());
  double sum = 0, count = 0, most = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] < best) continue;
    sum += s[i];
    ++count;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == best) continue;
    most = std::max(most, (best - y[i]) / best + s[i] - sum / count);
  }
  return most;
}

// Δ of a set, from a, b, c and d of definition 17.9.
inline double LossOfSet(const HingeOptions& options,
                        std::span<const uint32_t> y, uint32_t set) {
  double a = 0, b = 0, c = 0, d = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const bool relevant = y[i] >= options.relevant_from();
    const bool chosen = (set >> i & 1) != 0;
    (relevant ? chosen ? a : c : chosen ? b : d) += 1;
  }
  const double beta2 = options.beta() * options.beta();
  switch (options.loss()) {
    case HingeOptions::SENSITIVITY_SPECIFICITY:
      return 1 -
             ((a + c > 0 ? a / (a + c) : 1) + (b + d > 0 ? d / (b + d) : 1)) /
                 2;
    case HingeOptions::PRECISION:
      return 1 - a / options.k();
    default:
      return a + b + c > 0
                 ? 1 - (1 + beta2) * a / ((1 + beta2) * a + b + beta2 * c)
                 : 0;
  }
}

// The hinge of sets, relative to the mean over the sets of least Δ.
inline double BruteSetHinge(const HingeOptions& options,
                            std::span<const uint32_t> y,
                            std::span<const double> s) {
  double least = HUGE_VAL, most = -HUGE_VAL, own = 0, count = 0;
  for (uint32_t set = 0; set < (1u << y.size()); ++set) {
    double score = 0;
    uint32_t size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      score += s[i];
      ++size;
    }
    if (options.loss() == HingeOptions::PRECISION && size != options.k()) {
      continue;
    }
    if (size < options.fewest()) continue;
    if (options.most() != 0 && size > options.most()) continue;
    const double loss = LossOfSet(options, y, set);
    if (loss < least - 1e-12) least = loss, own = count = 0;
    if (loss <= least + 1e-12) own += score, ++count;
    most = std::max(most, loss + score);
  }
  return most - own / count;
}

// Requires labels that are not all the same.
inline double BruteHinge(const HingeOptions& options,
                         std::span<const uint32_t> relevances,
                         std::span<const double> scores) {
  switch (options.loss()) {
    case HingeOptions::NDCG:
      return BruteNdcgHinge(options.k(), relevances, scores);
    case HingeOptions::KENDALL:
      return BruteKendallHinge(relevances, scores);
    case HingeOptions::SELECTION:
      return BruteSelectionHinge(relevances, scores);
    default:
      return BruteSetHinge(options, relevances, scores);
  }
}

// The options of each loss.
inline std::vector<HingeOptions> AllHinges() {
  std::vector<HingeOptions> all;
  for (int loss = HingeOptions::Loss_MIN; loss <= HingeOptions::Loss_MAX;
       ++loss) {
    HingeOptions options;
    options.set_loss(static_cast<HingeOptions::Loss>(loss));
    if (options.loss() == HingeOptions::PRECISION) options.set_k(2);
    all.push_back(options);
  }
  return all;
}

}  // namespace sortition
