#pragma once
// Whether the versions that logged have met the same mix of contexts.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/data/candidates.h"

namespace sortition {

// The estimators `balanced` and `weighted` mix the decisions of several
// versions by shares other than those in which each kind of context met each
// version. They are biased where one version served on weekdays and another at
// weekends, for example. Contexts do not depend on the policy when the mix is
// the same, so that the means of their features must agree up to chance.
//
// Compares the number of candidates and the mean features of the candidates
// (beyond kNumFeatures, sums of several with random signs) between each version
// and the others. Decisions fall into kNumGroups groups by unit, and a
// difference is divided by its standard error over groups (linearised), so that
// the many decisions of a unit count as one observation. Not thread-safe.
class ContextMix {
 public:
  static constexpr size_t kNumGroups = 64;
  static constexpr size_t kNumFeatures = 31;
  // Of Student's t with kNumGroups - 1 degrees of freedom, |t| is above this
  // with probability 8e-7: with 8 versions and 32 means in less than one of
  // 4,000 logs.
  static constexpr double kMaxDeviation = 5.5;

  struct Difference {
    size_t version = 0;    // Its index.
    double deviation = 0;  // In standard errors.
  };

  // Adds the context of a decision of the version with this index.
  void Add(size_t version, uint64_t unit, const Candidates& candidates);

  // Returns the largest difference if it is above kMaxDeviation.
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
