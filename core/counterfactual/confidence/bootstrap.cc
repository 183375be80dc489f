#include "core/counterfactual/confidence/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace sortition {
namespace {

constexpr double kMostConfidence = 0.999;

// So many that the quantiles are at the tenth smallest and largest, at least.
size_t NumDraws(double failure) {
  constexpr size_t kFewest = 999;
  return std::max(kFewest, static_cast<size_t>(std::ceil(10 / failure)) - 1);
}

// How often each block is drawn.
void Draw(const CounterRandom& random, std::vector<double>* numbers,
          std::vector<double>* counts) {
  random.UniformBlocks(0, *numbers);
  std::fill(counts->begin(), counts->end(), 0.0);
  const double size = static_cast<double>(counts->size());
  for (const double number : *numbers) {
    (*counts)[static_cast<size_t>(number * size)] += 1;
  }
}

// (V* - V) / SE* of a draw.
double Studentised(const Deviations& drawn, std::span<const double> counts,
                   double value) {
  const double size = static_cast<double>(counts.size());
  double squares = 0;
  for (size_t b = 0; b < counts.size(); ++b) {
    squares += counts[b] * drawn.blocks[b] * drawn.blocks[b];
  }
  const double difference = drawn.value - value;
  if (difference == 0) return 0;
  return difference / std::sqrt(size / (size - 1) * squares);
}

}  // namespace

std::optional<Interval> BootstrapInterval(const RatioBlocks& blocks,
                                          double confidence, uint64_t seed) {
  Deviations deviations = DeviationsOf(blocks);
  const double value = deviations.value;
  const double error = deviations.StandardError();
  if (confidence > kMostConfidence || !std::isfinite(error)) {
    return std::nullopt;
  }
  if (error == 0) return Interval{value, value, value};
  const double failure = (1 - confidence) / 2;
  const size_t num_draws = NumDraws(failure);
  std::vector<double> counts(deviations.blocks.size());
  std::vector<double> numbers(deviations.blocks.size());
  std::vector<double> quotients;
  quotients.reserve(num_draws);
  for (size_t draw = 0; draw < num_draws; ++draw) {
    Draw(CounterRandom(SeedKey(seed), static_cast<uint32_t>(draw)), &numbers,
         &counts);
    DeviationsOfDrawn(blocks, counts, &deviations);
    // Blocks without any weight: nobody knows what they would have shown.
    quotients.push_back(deviations.is_known
                            ? Studentised(deviations, counts, value)
                            : std::numeric_limits<double>::infinity());
  }
  std::sort(quotients.begin(), quotients.end());
  const size_t outside = static_cast<size_t>(
      std::floor(failure * static_cast<double>(num_draws + 1)));
  return Interval{value, value - quotients[num_draws - outside] * error,
                  value - quotients[outside - 1] * error};
}

}  // namespace sortition
