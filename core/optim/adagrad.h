#pragma once
// AdaGrad with a diagonal accumulator [DuchiHazanSinger11], in the form of
// [SwaminathanJoachims15, Algorithm 1, lines 14 and 22-25].
#include "Eigen/Core"

namespace sortition {

// One run of steps:
//   h ← h + g∘g,   j = g / √h,   w ← w - η j,
// with h starting at 1 (Algorithm 1, line 14), so that the first steps of a
// small gradient are about η g instead of η sign(g).
class AdaGrad {
 public:
  // Requires step_size η > 0.
  AdaGrad(Eigen::Index dimension, double step_size);

  // Moves `point` against `gradient`; returns ‖j‖, the length of the direction
  // before η. Requires sizes equal to the dimension.
  double Step(const Eigen::VectorXd& gradient, Eigen::VectorXd* point);

 private:
  Eigen::ArrayXd accumulator_;  // h
  Eigen::VectorXd direction_;   // j
  double step_size_;            // η
};

}  // namespace sortition
