#pragma once
// Moments and a histogram of many values, in memory that does not grow.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/random.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Mean and variance, one value after the other [Welford62].
class RunningMoments {
 public:
  void Add(double value);

  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  // Divided by count; 0 for none.
  double variance() const;
  // The square root of the variance; 1 where that is 0 or not normal: what a
  // standardised value is divided by.
  double Scale() const;

 private:
  uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Sum of squared deviations.
};

// Returns inner edges of at most `num_bins` bins between quantiles of the
// values, strictly ascending; a bin [edge, next edge) holds about as many
// values as any other. Where there are not more distinct values than bins, each
// has a bin of its own. No value is below the first bin's.
std::vector<double> QuantileEdges(std::vector<double> values, size_t num_bins);

// A uniform sample of what was added, everything while that is at most kMost
// [Vitter85, algorithm R]. The same values in the same order give the same
// sample.
class ValueSample {
 public:
  static constexpr size_t kMost = 65536;

  ValueSample();
  void Add(double value);
  const std::vector<double>& values() const { return values_; }

 private:
  RandomSequence random_;
  uint64_t count_ = 0;
  std::vector<double> values_;
};

// What ValueStatistics says of numbers.
class ValueSketch {
 public:
  static constexpr size_t kNumBins = 10;

  void Add(double value);
  void AddMissing() { ++missing_; }
  model::v1::ValueStatistics Finish(absl::string_view name) const;

 private:
  uint64_t missing_ = 0;
  RunningMoments moments_;
  double min_ = 0;
  double max_ = 0;
  ValueSample sample_;
};

// What ValueStatistics says of categories.
class CategorySketch {
 public:
  static constexpr size_t kMostListed = 50;

  void Add(absl::string_view category);
  void AddMissing() { ++missing_; }
  model::v1::ValueStatistics Finish(absl::string_view name) const;

  // Returns the values that were there at least `min_count` times, the most
  // frequent ones first (ties by bytes), `most` at the most.
  std::vector<std::pair<std::string, uint64_t>> MostFrequent(
      size_t most, uint64_t min_count) const;

 private:
  uint64_t missing_ = 0;
  absl::flat_hash_map<std::string, uint64_t> counts_;
};

// Returns the bin of a value: how many edges are at most the value.
size_t BinOf(const model::v1::ValueStatistics& statistics, double value);

}  // namespace sortition
