#include "core/choices/log_sum_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {

bool LogSumTree::LogSum::is_empty() const { return reference == -HUGE_VAL; }

LogSumTree::LogSum LogSumTree::Add(const LogSum& a, const LogSum& b) {
  if (b.is_empty()) return a;
  if (a.is_empty()) return b;
  const LogSum& larger = a.reference >= b.reference ? a : b;
  const LogSum& smaller = a.reference >= b.reference ? b : a;
  // Both terms are at least 0.
  return {
      larger.reference,
      larger.excess + stable::Softplus((smaller.reference - larger.reference) +
                                       (smaller.excess - larger.excess))};
}

void LogSumTree::Assign(std::span<const double> scores, double alpha) {
  DCHECK(!scores.empty());
  first_leaf_ = std::bit_ceil(scores.size());
  nodes_.assign(2 * first_leaf_, {-HUGE_VAL, 0});
  for (size_t i = 0; i < scores.size(); ++i) {
    nodes_[first_leaf_ + i] = {alpha * scores[i], 0};
  }
  for (size_t k = first_leaf_; k-- > 1;) {
    nodes_[k] = Add(nodes_[2 * k], nodes_[2 * k + 1]);
  }
}

double LogSumTree::LogShare(size_t i) const {
  const LogSum& all = nodes_[1];
  const double share =
      (nodes_[first_leaf_ + i].reference - all.reference) - all.excess;
  return share < 0 ? share : 0;
}

size_t LogSumTree::Draw(double place) const {
  size_t k = 1;
  while (k < first_leaf_) {
    const LogSum& left = nodes_[2 * k];
    const LogSum& right = nodes_[2 * k + 1];
    k *= 2;
    if (right.is_empty()) continue;
    if (left.is_empty()) {
      ++k;
      continue;
    }
    const double log_odds =
        (left.reference - right.reference) + (left.excess - right.excess);
    const double odds = stable::Exp(-std::abs(log_odds));
    const double large = 1 / (1 + odds);
    const double small = odds / (1 + odds);
    const double of_left = log_odds >= 0 ? large : small;
    const double of_right = log_odds >= 0 ? small : large;
    // What the right has no double for cannot be drawn.
    if (place < of_left || of_right == 0) {
      place /= of_left;
    } else {
      // Rounding may leave 1 or more, which is no place.
      place = std::min((place - of_left) / of_right, 0x1.fffffffffffffp-1);
      ++k;
    }
  }
  return k - first_leaf_;
}

void LogSumTree::Remove(size_t i) {
  size_t k = first_leaf_ + i;
  nodes_[k] = {-HUGE_VAL, 0};
  while (k > 1) {
    k /= 2;
    nodes_[k] = Add(nodes_[2 * k], nodes_[2 * k + 1]);
  }
}

}  // namespace sortition
