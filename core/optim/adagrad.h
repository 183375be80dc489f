#pragma once
// AdaGrad with a diagonal accumulator [DuchiHazanSinger11], in the form of
// [SwaminathanJoachims15, Algorithm 1, lines 14 and 22-25].
#include <cstdint>
#include <span>

#include "Eigen/Core"

namespace sortition {

// Some entries of a vector: groups of `size` consecutive ones, group k being
// the entries [k size, (k + 1) size); each once. Ascending is faster.
struct EntryGroups {
  std::span<const uint32_t> groups;
  uint32_t size = 1;
};

struct AdaGradStep {
  double direction_norm = 0;      // ‖j‖, before η.
  double point_squared_norm = 0;  // ‖w‖² after the step, of what it moved.
};

// One run of steps:
//   g ← g + 2 μ w,   h ← h + g∘g,   j = g / √h,   w ← w - η j,
// with h starting at 1 (Algorithm 1, line 14), so that the first steps of a
// small gradient are about η g instead of η sign(g). One pass over the memory;
// the same bits on every processor.
class AdaGrad {
 public:
  // Requires step_size η > 0.
  AdaGrad(Eigen::Index dimension, double step_size);

  // Moves `point` w against `gradient` g and that of μ ‖w‖², μ = `l2`; clears
  // g, for the next to be added up. Requires sizes equal to the dimension.
  AdaGradStep Step(double l2, Eigen::VectorXd* gradient,
                   Eigen::VectorXd* point);

  // The same for μ = 0 and a gradient that is 0 elsewhere: nothing moves there.
  // `point_squared_norm` is that of the entries.
  AdaGradStep StepSparse(const EntryGroups& entries, Eigen::VectorXd* gradient,
                         Eigen::VectorXd* point);

 private:
  Eigen::VectorXd accumulator_;  // h
  double step_size_;             // η
};

}  // namespace sortition
