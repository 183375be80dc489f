#pragma once
// Three ways to learn a set of items [WangXingAsifZiebart15, sec. 4]:
// prediction games, support vector machines for the measure, and logistic
// regression. The measure is F1, or precision at k with k half the number of
// positives.
#include <memory>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "bench/papers/games/binary_problems.h"

namespace sortition {

enum class SetMeasure { kF1, kPrecision };

// A choice that validation makes besides C.
struct Variant {
  std::string name;
  double value = 0;  // Training for precision: k, relative to P.
  // F1: scores are shifted so that the share of positive ones is this multiple
  // of the share of positives in the training items; 0: no shift.
  double share = 0;
};

// The quality of a θ on some items.
struct SetQuality {
  double expected = 0;    // Score of the method's own prediction.
  double mode = 0;        // Score of the most probable set.
  double as_trained = 0;  // The expected score if only C is chosen.
  // By how much the mode's score would change, times the number of items, if an
  // item weighed more: the variance of their mean is that of the score.
  std::vector<double> influences = {};
};

class SetMethod {
 public:
  virtual ~SetMethod() = default;
  virtual std::string name() const = 0;
  // How to train, and how to predict from one θ.
  virtual std::vector<Variant> training_variants(SetMeasure) const {
    return {{"", 0}};
  }
  virtual std::vector<Variant> prediction_variants(SetMeasure) const {
    return {{"", 0}};
  }

  // Trains θ for each C of `cs`, ascending; C weighs the loss beside ‖θ‖² / 2.
  // Writes the widest proved gap to `gap`, if the method proves one.
  virtual absl::StatusOr<std::vector<Eigen::VectorXd>> Train(
      const LabelledRows& items, SetMeasure measure, const Variant& variant,
      std::span<const double> cs, double* gap) const = 0;
  // `trained`: the items that θ was trained on.
  virtual absl::StatusOr<SetQuality> Judge(
      const Eigen::VectorXd& theta, const LabelledRows& items,
      SetMeasure measure, const Variant& variant,
      const LabelledRows& trained) const = 0;
};

// `with_share`: validation also chooses the share that is predicted for F1.
std::unique_ptr<SetMethod> PredictionGameMethod(bool with_share = false);
std::unique_ptr<SetMethod> MultivariateSvmMethod(bool with_share = false);
std::unique_ptr<SetMethod> LogisticMethod(bool with_share = false);

// Returns the θ with which the game of `items` is played: shifted as the
// variant says, scaled to their number, and scaled by what serves the training
// items best.
absl::StatusOr<Eigen::VectorXd> Played(const Eigen::VectorXd& theta,
                                       const LabelledRows& items,
                                       SetMeasure measure,
                                       const Variant& variant,
                                       const LabelledRows& trained);

// Returns the best F1 of any threshold on the scores. It needs the labels, so
// it is a bound on what a learner can reach.
double BestF1(const Eigen::VectorXd& theta, const LabelledRows& items);
// Returns the k at which precision on these items is measured.
size_t HalfOfPositives(const LabelledRows& items);

}  // namespace sortition
