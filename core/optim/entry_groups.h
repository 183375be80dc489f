#pragma once
// Sets of entries of a vector.
#include <cstddef>
#include <cstdint>
#include <span>

namespace sortition {

// A set of entries of a vector, in groups of `size` consecutive ones: group k
// has the entries [k size, (k + 1) size). Each group occurs once; ascending
// groups are faster.
struct EntryGroups {
  std::span<const uint32_t> groups;
  uint32_t size = 1;

  size_t num_entries() const { return groups.size() * size; }
};

}  // namespace sortition
