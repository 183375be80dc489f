#pragma once
// Sums over a log, kept apart by group, from which estimates and their errors
// follow. A group holds whole units (users, sessions): what units do is
// independent, so the sums of groups are, whatever decisions of one unit have
// to do with each other.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// One pass over any number of decisions, in memory for num_groups() · width()
// numbers. The sums of the parts of a log can be added up.
class GroupSums {
 public:
  // Enough groups that the error of a standard error is some 1 %, and that no
  // group dominates.
  static constexpr size_t kDefaultGroups = 8192;

  // Requires num_groups >= 2 and width >= 1.
  GroupSums(size_t num_groups, size_t width)
      : width_(width), sums_(num_groups * width), is_used_(num_groups) {}

  size_t num_groups() const { return is_used_.size(); }
  size_t width() const { return width_; }  // Numbers of a group.

  // The sums of the group of a unit, to add to. `unit_hash` has mixed bits.
  std::span<double> GroupOf(uint64_t unit_hash) {
    const size_t g = unit_hash % num_groups();
    is_used_[g] = 1;
    return {sums_.data() + g * width_, width_};
  }
  std::span<const double> group(size_t g) const {
    return {sums_.data() + g * width_, width_};
  }

  // Whether anything was added to a group.
  bool is_used(size_t g) const { return is_used_[g] != 0; }

  // Requires equal shapes.
  void Merge(const GroupSums& other);

  // The sums over all groups.
  std::vector<double> Totals() const;
  size_t num_used_groups() const;

 private:
  size_t width_;
  std::vector<double> sums_;      // Row by row.
  std::vector<uint8_t> is_used_;  // By group.
};

// A linear function of the sums of a group, a sparse one: Σ factor ·
// sum[entry].
struct SumTerm {
  size_t entry;
  double factor;
};
using SumFunction = std::vector<SumTerm>;

double Apply(const SumFunction& function, std::span<const double> sums);

// Of the totals; reads nothing but the entries of `function`.
double ApplyToTotals(const SumFunction& function, const GroupSums& sums);

// The mean of something over decisions or over weights, as a ratio of totals.
struct Ratio {
  SumFunction numerator;
  SumFunction denominator;
  double factor = 1;  // In a sum of ratios.
};

struct RatioEstimate {
  double value = 0;
  // Infinity with fewer than two groups that have something in them.
  double standard_error = 0;
  size_t num_groups = 0;
};

// Returns Σ_k factor_k V_k for V_k = numerator_k(T) / denominator_k(T) of the
// totals T: one ratio, or a difference of two that is paired by decision. Its
// standard error is that of the delta method over groups g with sums t_g:
//   SE² = G/(G-1) Σ_g (Σ_k factor_k (numerator_k(t_g) - V_k denominator_k(t_g))
//         / denominator_k(T))²
// [Cochran77, sec. 6.8 and 9A.2: clusters of unequal sizes]. A ratio whose
// denominator is 0 is 0, with an infinite error; so is the sum of no ratios.
RatioEstimate EstimateRatios(const GroupSums& sums,
                             std::span<const Ratio> ratios);

// Returns the β that makes the variance of the mean of a - β c least, for a c
// whose mean is known: Cov(a, c) / Var(c) over groups, of the deviations from
// the means per `count`; 0 if c varies by no more than rounding.
double ControlFactor(const GroupSums& sums, const SumFunction& a,
                     const SumFunction& c, const SumFunction& count);

}  // namespace sortition
