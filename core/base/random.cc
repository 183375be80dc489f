#include "core/base/random.h"

#include <Random123/philox.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace sortition {

namespace {

// Blocks whose numbers are made together.
constexpr uint32_t kBlocks = 8;

#if defined(__x86_64__)
// Four blocks, the numbers of each in the low halves of 64 bits; the high
// halves are not used.
struct PhiloxBlocks {
  __m256i counters[4];

  __attribute__((target("avx2"))) void Round(__m256i key0, __m256i key1) {
    const __m256i product0 =
        _mm256_mul_epu32(counters[0], _mm256_set1_epi64x(0xD2511F53));
    const __m256i product1 =
        _mm256_mul_epu32(counters[2], _mm256_set1_epi64x(0xCD9E8D57));
    const __m256i high0 = _mm256_srli_epi64(product0, 32);
    const __m256i high1 = _mm256_srli_epi64(product1, 32);
    counters[0] = _mm256_xor_si256(high1, _mm256_xor_si256(counters[1], key0));
    counters[1] = product1;
    counters[2] = _mm256_xor_si256(high0, _mm256_xor_si256(counters[3], key1));
    counters[3] = product0;
  }
};

// Returns (i + ½)·2^-52 for the 52 bits i of each pair, as UniformPair() does.
// There is no conversion of integers: i is put into the fraction of 2^52.
__attribute__((target("avx2"))) __m256d Units(__m256i high, __m256i low) {
  const __m256i fraction =
      _mm256_or_si256(_mm256_srli_epi64(_mm256_slli_epi64(high, 32), 12),
                      _mm256_srli_epi64(_mm256_slli_epi64(low, 32), 44));
  const __m256d offset = _mm256_set1_pd(0x1p52);
  const __m256d shifted = _mm256_or_pd(_mm256_castsi256_pd(fraction), offset);
  return _mm256_mul_pd(
      _mm256_add_pd(_mm256_sub_pd(shifted, offset), _mm256_set1_pd(0.5)),
      _mm256_set1_pd(0x1p-52));
}

// Writes the numbers of kBlocks blocks.
__attribute__((target("avx2"))) void WriteBlocksAvx2(const Hash128& key,
                                                     uint32_t stream,
                                                     uint32_t first_block,
                                                     double* numbers) {
  PhiloxBlocks groups[2];
  for (uint32_t g = 0; g < 2; ++g) {
    const uint32_t block = first_block + 4 * g;
    groups[g].counters[0] =
        _mm256_set_epi64x(block + 3, block + 2, block + 1, block);
    groups[g].counters[1] = _mm256_set1_epi64x(stream);
    groups[g].counters[2] = _mm256_set1_epi64x(static_cast<uint32_t>(key.high));
    groups[g].counters[3] =
        _mm256_set1_epi64x(static_cast<uint32_t>(key.high >> 32));
  }
  __m256i key0 = _mm256_set1_epi64x(static_cast<uint32_t>(key.low));
  __m256i key1 = _mm256_set1_epi64x(static_cast<uint32_t>(key.low >> 32));
  for (int round = 0; round < 10; ++round) {
    for (PhiloxBlocks& group : groups) group.Round(key0, key1);
    key0 = _mm256_add_epi64(key0, _mm256_set1_epi64x(0x9E3779B9));
    key1 = _mm256_add_epi64(key1, _mm256_set1_epi64x(0xBB67AE85));
  }
  for (const PhiloxBlocks& group : groups) {
    const __m256d even = Units(group.counters[0], group.counters[1]);
    const __m256d odd = Units(group.counters[2], group.counters[3]);
    const __m256d low = _mm256_unpacklo_pd(even, odd);
    const __m256d high = _mm256_unpackhi_pd(even, odd);
    _mm256_storeu_pd(numbers, _mm256_permute2f128_pd(low, high, 0x20));
    _mm256_storeu_pd(numbers + 4, _mm256_permute2f128_pd(low, high, 0x31));
    numbers += 8;
  }
}
#endif

}  // namespace

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
#if defined(__x86_64__)
  // The same numbers, four blocks in each instruction.
  if (__builtin_cpu_supports("avx2")) {
    while (numbers.size() >= 2 * kBlocks) {
      WriteBlocksAvx2(key_, stream_, first_block, numbers.data());
      numbers = numbers.subspan(2 * kBlocks);
      first_block += kBlocks;
    }
    double rest[2 * kBlocks];
    WriteBlocksAvx2(key_, stream_, first_block, rest);
    std::copy_n(rest, numbers.size(), numbers.begin());
    return;
  }
#endif
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const std::array<double, 2> pair =
        UniformPair(first_block + static_cast<uint32_t>(i / 2));
    numbers[i] = pair[0];
    if (i + 1 < numbers.size()) numbers[i + 1] = pair[1];
  }
}

double RandomSequence::Normal() {
  const double radius = std::sqrt(-2 * std::log(Uniform()));
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

}  // namespace sortition
