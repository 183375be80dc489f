#pragma once
// Counter-based random numbers: Philox4x32-10 [SalmonMoraesDrorShaw11]
// (Random123). Every number is a pure function of (key, stream, index), so that
// draws can be repeated, in any order, on any machine.
#include <array>
#include <cstdint>
#include <span>

#include "core/base/hash.h"

namespace sortition {

// Uniform doubles of one key. Cheap to copy; Uniform() is const and
// thread-safe.
class CounterRandom {
 public:
  // `stream` separates independent uses under one key.
  explicit CounterRandom(const Hash128& key, uint32_t stream = 0)
      : key_(key), stream_(stream) {}

  // Numbers 2·block and 2·block + 1 of the stream, each uniform over the 2^52
  // midpoints (i + ½)·2^-52: never 0 or 1, so that log(u) and log(-log(u)) are
  // finite.
  std::array<double, 2> UniformPair(uint32_t block) const;

  // Writes numbers[i] = Uniform(2·first_block + i), but faster.
  void UniformBlocks(uint32_t first_block, std::span<double> numbers) const;

  double Uniform(uint32_t index) const {
    return UniformPair(index / 2)[index % 2];
  }

 private:
  Hash128 key_;
  uint32_t stream_;
};

// A sequence over a CounterRandom. Satisfies UniformRandomBitGenerator.
class RandomSequence {
 public:
  using result_type = uint32_t;
  explicit RandomSequence(const Hash128& key, uint32_t stream = 0)
      : random_(key, stream) {}

  double Uniform() { return random_.Uniform(next_++); }
  // Returns a number uniform in {0 .. bound - 1}. Requires bound > 0. The bias
  // is below bound · 2^-52.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>(Uniform() * static_cast<double>(bound));
  }
  // Returns a standard normal number, by Box–Muller.
  double Normal();

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }
  result_type operator()() {
    return static_cast<result_type>(Uniform() * 4294967296.0);
  }

 private:
  CounterRandom random_;
  uint32_t next_ = 0;
};

}  // namespace sortition
