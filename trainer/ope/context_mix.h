#pragma once
// Tests whether the versions that logged met the same mix of contexts.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/data/candidates.h"

namespace sortition {

// The estimators `balanced` and `weighted` mix the decisions of several
// versions and assume that every version met the same distribution of contexts.
// They are biased, for example, if one version served on weekdays and another
// at weekends. If the distribution is the same, the mean features of the
// contexts agree up to chance.
//
// Compares the number of candidates and the mean features of the candidates
// between each version and the others. Features beyond kNumFeatures are added
// to earlier ones with random signs. Decisions fall into kNumGroups groups by
// unit, and each difference is divided by its linearised standard error over
// groups, so that the decisions of one unit count as one observation. Usage:
// Add() for every decision, then Find(). Not thread-safe.
class ContextMix {
 public:
  static constexpr size_t kNumGroups = 64;
  static constexpr size_t kNumFeatures = 31;
  // Student's |t| with kNumGroups - 1 degrees of freedom is above this with
  // probability 8e-7: with 8 versions and 32 means, in fewer than one of 4,000
  // logs.
  static constexpr double kMaxDeviation = 5.5;

  struct Difference {
    size_t version = 0;    // Index of the version.
    double deviation = 0;  // In standard errors.
  };

  // Adds the context of a decision of the version with this index.
  void Add(size_t version, uint64_t unit, const Candidates& candidates);

  // Returns the largest difference if it is above kMaxDeviation, else nullopt.
  std::optional<Difference> Find() const;

 private:
  static constexpr size_t kNumMeans = kNumFeatures + 1;
  struct Sums {
    double decisions = 0;
    std::array<double, kNumMeans> values = {};
  };
  using Groups = std::array<Sums, kNumGroups>;

  // Returns the difference of the means of a version and the others in standard
  // errors; 0 where there are too few groups.
  double DeviationOf(const Groups& version, const Groups& all,
                     size_t mean) const;

  std::vector<Groups> versions_;
  Groups all_ = {};
};

}  // namespace sortition
