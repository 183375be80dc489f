#pragma once
// Words as numbers: equal words have equal ids, and different ones differ but
// for one pair in 2^64.
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/base/hash.h"

namespace sortition {

inline uint64_t WordId(absl::string_view word) { return HashBytes(word).low; }

// Hash functor of tables whose keys are ids: their bits are already mixed.
struct WordIdHasher {
  size_t operator()(uint64_t id) const { return id; }
};

// The id of two words, one after the other.
inline uint64_t PairId(uint64_t first, uint64_t second) {
  uint64_t id = first * 0x9e3779b97f4a7c15u;
  id = (id ^ (id >> 29)) + second;
  id *= 0xbf58476d1ce4e5b9u;
  return id ^ (id >> 32);
}

}  // namespace sortition
