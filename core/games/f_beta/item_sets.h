#pragma once
// Lists of subsets of n items as bit strings.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Counts the bits that are set, without branches, so that the compiler
// vectorises sums of such counts.
inline int CountBits(uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<int>((word * 0x0101010101010101u) >> 56);
}

// Returns a word whose lowest `count` bits, 0 .. 64, are set.
inline uint64_t Ones(int count) {
  return count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

class ItemSets {
 public:
  void Clear(int num_items) {
    words_ = (num_items + 63) / 64;
    bits_.clear();
    sizes_.clear();
  }

  int count() const { return static_cast<int>(sizes_.size()); }
  int size(int set) const { return sizes_[set]; }
  std::span<const uint64_t> bits(int set) const {
    return {bits_.data() + set * words_, words_};
  }

  // Adds an empty set, to be filled by AddRange(). Returns its index.
  int AddEmpty() {
    bits_.resize(bits_.size() + words_);
    sizes_.push_back(0);
    return count() - 1;
  }
  int Add(std::span<const uint64_t> bits, int size) {
    const int set = AddEmpty();
    Replace(set, bits, size);
    return set;
  }
  void Replace(int set, std::span<const uint64_t> bits, int size) {
    std::copy(bits.begin(), bits.end(), bits_.begin() + set * words_);
    sizes_[set] = size;
  }
  void MakeEmpty(int set) {
    std::fill_n(bits_.begin() + set * words_, words_, uint64_t{0});
    sizes_[set] = 0;
  }
  // Adds items begin .. end - 1. Requires that none of them is in the set.
  void AddRange(int set, int begin, int end) {
    sizes_[set] += end - begin;
    uint64_t* words = bits_.data() + set * words_;
    while (begin < end) {
      const int stop = std::min(end, (begin / 64 + 1) * 64);
      words[begin / 64] |= Ones(stop - begin) << (begin % 64);
      begin = stop;
    }
  }
  // Removes items begin .. end - 1. Returns how many of them were in the set.
  int TakeRange(int set, int begin, int end) {
    uint64_t* words = bits_.data() + set * words_;
    int count = 0;
    while (begin < end) {
      const int stop = std::min(end, (begin / 64 + 1) * 64);
      const uint64_t mask = Ones(stop - begin) << (begin % 64);
      count += CountBits(words[begin / 64] & mask);
      words[begin / 64] &= ~mask;
      begin = stop;
    }
    sizes_[set] -= count;
    return count;
  }
  // Removes a set. The last set takes its index.
  void Remove(int set) {
    Replace(set, bits(count() - 1), sizes_.back());
    sizes_.pop_back();
    bits_.resize(bits_.size() - words_);
  }

  int Find(std::span<const uint64_t> wanted,
           int size) const {  // -1: not there.
    for (int set = 0; set < count(); ++set) {
      if (sizes_[set] == size && std::ranges::equal(bits(set), wanted)) {
        return set;
      }
    }
    return -1;
  }

 private:
  size_t words_ = 0;
  std::vector<uint64_t> bits_;
  std::vector<int> sizes_;
};

inline int SizeOfIntersection(std::span<const uint64_t> a,
                              std::span<const uint64_t> b) {
  int size = 0;
  for (size_t w = 0; w < a.size(); ++w) size += CountBits(a[w] & b[w]);
  return size;
}

// Calls visit(item) for each item of the set, in order.
template <typename Visit>
void ForEachItem(std::span<const uint64_t> bits, Visit visit) {
  for (size_t w = 0; w < bits.size(); ++w) {
    for (uint64_t word = bits[w]; word != 0; word &= word - 1) {
      visit(static_cast<int>(64 * w) + __builtin_ctzll(word));
    }
  }
}

}  // namespace sortition
