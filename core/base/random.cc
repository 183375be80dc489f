#include "core/base/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace sortition {

std::array<double, 2> CounterRandom::UniformPair(uint32_t block) const {
  // The 64 bits of `low` are the key; `high` and (stream, block) the counter.
  const r123::Philox4x32::ctr_type counter = {
      {block, stream_, static_cast<uint32_t>(key_.high),
       static_cast<uint32_t>(key_.high >> 32)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<uint32_t>(key_.low), static_cast<uint32_t>(key_.low >> 32)}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(counter, key);
  const auto unit = [](uint32_t high, uint32_t low) {
    const uint64_t bits = (static_cast<uint64_t>(high) << 20) | (low >> 12);
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  };
  return {unit(out[0], out[1]), unit(out[2], out[3])};
}

void CounterRandom::UniformBlocks(uint32_t first_block,
                                  std::span<double> numbers) const {
  const size_t pairs = numbers.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const std::array<double, 2> pair =
        UniformPair(first_block + static_cast<uint32_t>(i));
    numbers[2 * i] = pair[0];
    numbers[2 * i + 1] = pair[1];
  }
  if (numbers.size() % 2 == 1) {
    numbers.back() = UniformPair(first_block + static_cast<uint32_t>(pairs))[0];
  }
}

double RandomSequence::Normal() {
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

}  // namespace sortition
