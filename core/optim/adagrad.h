#pragma once
// AdaGrad with a diagonal accumulator [DuchiHazanSinger11], in the form of
// [SwaminathanJoachims15, Algorithm 1, lines 14 and 22-25].
#include <cstdint>
#include <vector>

#include "Eigen/Core"
#include "core/optim/entry_groups.h"
#include "core/optim/parameter_frame.h"

namespace sortition {

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

  // Does the same for a gradient that is 0 outside `entries`, and moves only
  // those: the others owe the step of the penalty, until CatchUp().
  // `direction_norm` and `point_squared_norm` are those of the entries.
  // Requires that they owe nothing, and groups of one size.
  AdaGradStep StepSparse(double l2, const EntryGroups& entries,
                         Eigen::VectorXd* gradient, Eigen::VectorXd* point);

  // Makes the steps that `entries`, or all, owe. `l2` must not change between.
  // They end where Step() at each step ends, within 1e-8
  // (core/optim/idle_steps.h). All entries must have caught up before Step().
  void CatchUp(double l2, const EntryGroups& entries, Eigen::VectorXd* point);
  void CatchUpAll(double l2, Eigen::VectorXd* point);

  // Returns ‖j‖ of the entries outside `entries` in a step that leaves them
  // idle: only the penalty moves them.
  double IdleDirectionNorm(double l2, const EntryGroups& entries,
                           const Eigen::VectorXd& point) const;

 private:
  AdaGradStep Move(const EntryGroups& entries, double l2,
                   Eigen::VectorXd* gradient, Eigen::VectorXd* point);

  Eigen::VectorXd accumulator_;  // h
  // Empty in the trivial frame.
  Eigen::VectorXd origin_;          // w₀
  Eigen::VectorXd scales_;          // s
  Eigen::VectorXd inverse_scales_;  // 1 / s
  double step_size_;                // η
  // How many steps of StepSparse() with a penalty there were since all caught
  // up, and how many of them each group has made.
  uint32_t num_steps_ = 0;
  uint32_t group_size_ = 1;
  std::vector<uint32_t> done_;
};

}  // namespace sortition
