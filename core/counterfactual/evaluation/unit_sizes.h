#pragma once
// How many decisions each unit has, for any number of units in constant memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sortition {

// One pass over the units of a log counts; then ShareOf() says how much a
// decision counts. Units are hashed to 2^20 buckets: units of one bucket count
// as one, which can only weigh them down.
class UnitSizes {
 public:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  void Add(uint64_t unit_hash);
  void Merge(const UnitSizes& other);

  // Returns min(1, N / size) for N = max(1, min(largest_unit, √n / 2)), n
  // units: a unit counts as at most N decisions. A single account that has most
  // of the decisions would decide alone, and whether one like it is in the
  // sample is chance. Requires a unit that was added.
  double ShareOf(uint64_t unit_hash, double largest_unit = kNoLimit) const;

  // Returns how many decisions a group of units, hash modulo num_groups, could
  // count at most with these shares, however large its units were: how many
  // units it has, which says nothing about what they do, times N.
  // Requires a power of two up to 2^20.
  double LargestGroup(size_t num_groups, double largest_unit = kNoLimit) const;

  // Estimated: by the buckets in use [WhangEtAl90], with more than two units a
  // bucket by leading zeros of hashes [FlajoletEtAl07]; within some 1 %, and
  // exact, up to collisions, for few units.
  uint64_t num_units() const;
  uint64_t num_decisions() const { return num_decisions_; }
  // Returns the number of decisions of the largest bucket.
  uint64_t largest_unit() const;

  // Returns true if units have several decisions. That is the case if a bucket
  // has more decisions than in all but one of a million logs of units with one
  // decision each, or if num_units() is below the number of decisions by more
  // than five of its standard errors. Fewer repeats than both tests detect
  // hardly change a variance.
  bool HasRepeats() const;

 private:
  static constexpr size_t kBuckets = size_t{1} << 20;
  static constexpr int kRegisterBits = 14;
  static constexpr size_t kRegisters = size_t{1} << kRegisterBits;

  double MostOfUnit(double largest_unit) const;
  void Raise(size_t index, uint8_t rank);

  std::vector<uint32_t> counts_ = std::vector<uint32_t>(kBuckets);
  uint64_t num_used_ = 0;  // Buckets.
  uint64_t num_decisions_ = 0;
  std::array<uint8_t, kRegisters> ranks_ = {};
  double inverse_sum_ = kRegisters;  // Σ 2^-rank
};

}  // namespace sortition
