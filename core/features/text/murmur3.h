#pragma once
// The hashes of Vowpal Wabbit: where a feature stands among 2^bits weights.
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sortition {

// MurmurHash3_x86_32 by Austin Appleby, little-endian on every machine.
uint32_t Murmur3(absl::string_view bytes, uint32_t seed);

// Hash of a feature in the namespace whose hash is `seed`, as Vowpal Wabbit's
// --hash strings: a value that is digits alone is seed + its number (mod 2^32),
// any other is Murmur3(value, seed).
uint32_t VowpalHash(absl::string_view value, uint32_t seed);

// Hash of a pair, as of Vowpal Wabbit's -q (FNV).
inline uint32_t VowpalCross(uint32_t left, uint32_t right) {
  return (left * 16777619u) ^ right;
}

// Hash of an n-gram with one word more, as of Vowpal Wabbit's --ngram.
inline uint32_t VowpalNgram(uint32_t ngram, uint32_t word) {
  return ngram * 27942141u + word;
}

}  // namespace sortition
