#pragma once
// Risks that data bring along, for objectives that need more than the loss and
// the propensity of each tuple (core/learners/rankings).
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/optim/objective.h"

namespace sortition {

// A risk that training minimises instead of the tuples' weighted losses. Of one
// thread.
class GridRisk {
 public:
  virtual ~GridRisk() = default;

  // What mini-batches minimise the mean of, plus λ √(V / n).
  virtual TupleTerms* terms() = 0;
  // What BATCH minimises; null: the mean of the terms plus λ √(V / n).
  virtual const Objective* objective() const { return nullptr; }
  // Returns κ, the size of what is weighed: the root mean square of the terms
  // of a policy that does what logged. PoemOptions.scale_losses divides by it.
  virtual double loss_unit() const { return 1; }
};

// Makes one for a point of the grid: `clip` is M (infinity: none), `lambda` is
// λ. Thread-safe.
using MakeGridRisk = std::function<absl::StatusOr<std::unique_ptr<GridRisk>>(
    double clip, double lambda)>;

// A risk of the validation tuples.
struct ValidationRisk {
  MakeGridRisk make = {};  // λ is 0. Empty: there is none.
  // Terms of a policy that does the same as the policy that logged.
  std::vector<double> logged_terms = {};
};

}  // namespace sortition
