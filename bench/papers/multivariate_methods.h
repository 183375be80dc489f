#pragma once
// Three ways to learn a set of items for F1 or for precision at k, half the
// number of positives [WangXingAsifZiebart15, sec. 4]: prediction games,
// support vector machines for the measure, logistic regression.
#include <memory>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "bench/papers/binary_problems.h"

namespace sortition {

enum class SetMeasure { kF1, kPrecision };

// What is chosen by validation besides C.
struct Variant {
  std::string name;
  double value = 0;  // What it is, is the method's affair.
  // F1: scores are shifted so that so many items, as a multiple of the share of
  // positives that was trained on, have positive ones; 0: not.
  double share = 0;
};

// What a θ is worth on some items.
struct SetQuality {
  double expected = 0;    // Of the method's own, perhaps random, prediction.
  double mode = 0;        // Of the most probable set.
  double as_trained = 0;  // Expected, with nothing but C chosen.
};

class SetMethod {
 public:
  virtual ~SetMethod() = default;
  virtual std::string name() const = 0;
  // Ways to train, and to predict from one θ.
  virtual std::vector<Variant> training_variants(SetMeasure) const {
    return {{"", 0}};
  }
  virtual std::vector<Variant> prediction_variants(SetMeasure) const {
    return {{"", 0}};
  }

  // θ for each C of `cs`, ascending; what is minimised has weight C beside
  // ‖θ‖² / 2. The widest proved gap goes to `gap`, where there is one.
  virtual absl::StatusOr<std::vector<Eigen::VectorXd>> Train(
      const BinaryItems& items, SetMeasure measure, const Variant& variant,
      std::span<const double> cs, double* gap) const = 0;
  // `trained`: the items that θ was trained on.
  virtual absl::StatusOr<SetQuality> Judge(
      const Eigen::VectorXd& theta, const BinaryItems& items,
      SetMeasure measure, const Variant& variant,
      const BinaryItems& trained) const = 0;
};

std::unique_ptr<SetMethod> PredictionGameMethod();
// `with_share`: validation also chooses the share that is predicted for F1.
std::unique_ptr<SetMethod> MultivariateSvmMethod(bool with_share = false);
std::unique_ptr<SetMethod> LogisticMethod(bool with_share = false);

// θ with which the game is played.
Eigen::VectorXd Played(const Eigen::VectorXd& theta, const BinaryItems& items,
                       const Variant& variant, const BinaryItems& trained);

// F1 of the set that is best for it among those of the highest scores: what
// nobody can know without the labels.
double BestF1(const Eigen::VectorXd& theta, const BinaryItems& items);
// The k of a measure on those items.
size_t HalfOfPositives(const BinaryItems& items);

}  // namespace sortition
