#pragma once
// Which objective one would choose for a data set from all others.
#include <span>
#include <string>
#include <vector>

#include "bench/papers/poem/poem_results.h"

namespace sortition {

// Returns what sortition-trainer does by default first, then other settings of
// it and objectives that it does not have. All start at w = 0 and at h0.
std::vector<Method> ObjectivesToChooseFrom();

struct SetResults {
  std::string name;
  Results results;
};

// The share of the way from h0's expected loss to that of the most probable
// labels by a supervised learner: 0 if a method is no better than h0, 1 if it
// is as good as one that knows all right labels. The table has a row per
// method, with the mean and the least over sets.
std::string FormatShares(std::span<const SetResults> sets);

// A set that was left out of the choice.
struct LeftOut {
  std::string set;
  std::string chosen;  // The method with the largest mean share elsewhere.
  std::string best;    // The method with the largest share here.
  double share = 0;    // Of the chosen method.
  double best_share = 0;
  double default_share = 0;
  // Of the paired difference of the chosen method's and the default's share.
  double standard_error = 0;
};
std::vector<LeftOut> LeaveOneSetOut(std::span<const SetResults> sets);
std::string FormatChoices(std::span<const LeftOut> choices);

// The default is at most a standard error below what the other sets choose.
std::vector<Target> ChoiceTargets(std::span<const LeftOut> choices);

}  // namespace sortition
