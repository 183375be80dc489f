#pragma once
// Draws without replacement in proportion to exp(logit), and the probabilities
// of these draws, without cancellation: a tree of log Σ exp(l) whose leaves are
// the candidates. To take one out renews the sums above it and subtracts
// nothing. O(n) to fill, O(log n) to draw, to ask or to take out.
#include <cstddef>
#include <span>
#include <vector>

namespace sortition {

// Reused between queries: no allocation when warm. Not thread-safe.
class LogSumTree {
 public:
  // Fills the tree with the logits alpha · scores, at least one, all finite.
  // All of them are left.
  void Assign(std::span<const double> scores, double alpha);

  // Returns log exp(l_i) / Σ exp(l_j) over those that are left. Requires that
  // `i` is left. Its relative error is some 1e-15 · log2(n), however large
  // logits are and however far apart.
  double LogShare(size_t i) const;

  // Returns the candidate at `place`, in [0, 1), of the distribution function
  // of those that are left: each has its share of the places, to 2^-52 or so.
  // Requires that one is left.
  size_t Draw(double place) const;

  // Takes `i` out. Requires that it is left.
  void Remove(size_t i);

 private:
  // log Σ exp(l) as reference + excess. The reference is the largest logit, so
  // that the difference from another logit keeps full precision however large
  // these are. Of nothing: the reference is -infinity.
  struct LogSum {
    double reference = 0;
    double excess = 0;

    bool is_empty() const;
  };

  static LogSum Add(const LogSum& a, const LogSum& b);

  // A power of two, at least the number of candidates. Node k has the children
  // 2 k and 2 k + 1; the leaf of candidate i is first_leaf_ + i.
  size_t first_leaf_ = 1;
  std::vector<LogSum> nodes_;
};

}  // namespace sortition
