#pragma once
// A user's way down a ranking, as probabilities.
#include <cstddef>

#include "core/clicks/click_model.h"

namespace sortition {

// The probabilities of one step of the models. The model and what the list
// views must outlive it.
class ClickSteps {
 public:
  ClickSteps(const ClickModel& model, const ShownList& list)
      : model_(model), list_(list) {}

  // False: clicks of a ranking are independent.
  bool reads_on() const {
    return model_.kind != ClickModelKind::kPositionBased &&
           model_.kind != ClickModelKind::kTrustBias;
  }
  // P(click at `rank`). Requires !reads_on().
  double Independent(size_t rank) const {
    const double attraction = list_.attractions[rank];
    return model_.kind == ClickModelKind::kPositionBased
               ? model_.Examination(rank) * attraction
               : model_.Slope(rank) * attraction + model_.Offset(rank);
  }
  // P(the next rank is examined | `rank` was examined and clicked, or not).
  // Require reads_on().
  double AfterClick(size_t rank) const {
    switch (model_.kind) {
      case ClickModelKind::kDependentClick:
        return model_.Continuation(rank);
      case ClickModelKind::kBayesianNetwork:
        return model_.perseverance * (1 - list_.satisfactions[rank]);
      default:
        return 0;
    }
  }
  double AfterSkip() const {
    return model_.kind == ClickModelKind::kBayesianNetwork ? model_.perseverance
                                                           : 1;
  }
  double Attraction(size_t rank) const { return list_.attractions[rank]; }

 private:
  const ClickModel& model_;
  const ShownList list_;
};

// Goes down a ranking from rank 0, of whose clicks it learns one by one.
class ClickWalk {
 public:
  ClickWalk(const ClickModel& model, const ShownList& list)
      : steps_(model, list) {}

  // P(click at this rank | clicks above).
  double ClickProbability() const {
    return steps_.reads_on() ? examined_ * steps_.Attraction(rank_)
                             : steps_.Independent(rank_);
  }
  // Goes to the next rank.
  void Advance(bool clicked) {
    if (steps_.reads_on()) {
      if (clicked) {
        examined_ = steps_.AfterClick(rank_);
      } else {
        // By Bayes' rule P(examined | no click) = e (1 - a) / (1 - e a).
        const double attraction = steps_.Attraction(rank_);
        const double skipped = 1 - examined_ * attraction;
        examined_ = skipped > 0 ? examined_ * (1 - attraction) / skipped *
                                      steps_.AfterSkip()
                                : steps_.AfterSkip();
      }
    }
    ++rank_;
  }

 private:
  const ClickSteps steps_;
  size_t rank_ = 0;
  double examined_ = 1;  // P(this rank is examined | clicks above)
};

}  // namespace sortition
