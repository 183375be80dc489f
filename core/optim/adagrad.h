#pragma once
// AdaGrad with a diagonal accumulator [DuchiHazanSinger11], in the form of
// [SwaminathanJoachims15, Algorithm 1, lines 14 and 22-25].
#include <cstdint>
#include <span>

#include "Eigen/Core"
#include "core/optim/parameter_frame.h"

namespace sortition {

// A set of entries of a vector, in groups of `size` consecutive ones: group k
// has the entries [k size, (k + 1) size). Each group occurs once; ascending
// groups are faster.
struct EntryGroups {
  std::span<const uint32_t> groups;
  uint32_t size = 1;
};

struct AdaGradStep {
  double direction_norm = 0;      // ‖j‖, before η and s.
  double point_squared_norm = 0;  // ‖w‖² of the moved entries afterwards.
};

// The state of one descent, whose steps are
//   g ← g + 2 μ w,   h ← h + g∘g,   j = g / √h,   w ← w - η j,
// with h starting at 1 (Algorithm 1, line 14), so that the first steps for a
// small gradient are about η g instead of η sign(g). In a frame (w₀, s) these
// are the steps of v = (w - w₀) / s: with the same w they are
//   g ← s g + 2 μ (w - w₀) / s,   h ← h + g∘g,   j = g / √h,   w ← w - η s j.
// A step is one pass over the memory. Results are bit-identical on every
// processor.
class AdaGrad {
 public:
  // Requires step_size η > 0.
  AdaGrad(Eigen::Index dimension, double step_size,
          const ParameterFrame& frame = {});

  // Moves `point` w against the sum of `gradient` g and the gradient of μ ‖v‖²,
  // μ = `l2`. Sets g to 0, so that the caller can add up the next one. Requires
  // sizes equal to the dimension.
  AdaGradStep Step(double l2, Eigen::VectorXd* gradient,
                   Eigen::VectorXd* point);

  // Does the same for μ = 0 and a gradient that is 0 outside `entries`, where
  // nothing moves. `point_squared_norm` is that of the entries.
  AdaGradStep StepSparse(const EntryGroups& entries, Eigen::VectorXd* gradient,
                         Eigen::VectorXd* point);

 private:
  AdaGradStep Move(const EntryGroups& entries, double l2,
                   Eigen::VectorXd* gradient, Eigen::VectorXd* point);

  Eigen::VectorXd accumulator_;  // h
  // Empty in the trivial frame.
  Eigen::VectorXd origin_;          // w₀
  Eigen::VectorXd scales_;          // s
  Eigen::VectorXd inverse_scales_;  // 1 / s
  double step_size_;                // η
};

}  // namespace sortition
