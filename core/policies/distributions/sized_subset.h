#pragma once
// Subsets of exactly k of m items, with a probability in proportion to the
// product of exp(l_i) of their members: independent items, conditioned on k of
// them being in [ChenDempsterLiu94],
//   log p(S) = Σ_{i in S} l_i - log e_k,  e_j = Σ_{|S| = j} Π_{i in S}
//   exp(l_i).
//
// Subsets are drawn item by item: where j of the items from i on are still to
// be chosen, item i is one of them with log-odds l_i - D_{i+1}(j), where D_i(j)
// = log e_j - log e_{j-1} over the items from i on. D_i(j) is one of l_i,
// D_{i+1}(j) and D_{i+1}(j-1) plus a correction of at most log 2. So log e_j,
// which would cancel, is never formed, and large logits cost no digits. Takes
// O(m k) time and O(k √m) memory.
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// A reusable workspace: no allocation when warm.
class SizedSubset {
 public:
  // Limit of the number of items times the size.
  static constexpr size_t kMaxCells = 10'000'000;
  static bool IsWithinLimit(size_t num_items, size_t size) {
    return size == num_items || num_items <= kMaxCells / size;
  }

  // Copies the logits. Requires finite logits, at least one, 1 <= size <= their
  // number, and IsWithinLimit().
  void SetLogits(std::span<const double> logits, uint32_t size);

  // Draws a subset by one number in (0, 1) per item and sets taken[i] to
  // whether item i is in. Returns log p of the subset, the same bits as
  // LogPropensity().
  double Draw(std::span<const double> numbers, std::span<uint8_t> taken);

  // Returns log p of the subset. Requires that `taken` has as many members as
  // SetLogits() said.
  double LogPropensity(std::span<const uint8_t> taken);

  // Writes P(item i is in) and P(it is not), both without cancellation.
  void Marginals(std::span<double> in, std::span<double> out);

 private:
  // log e_j - log e_{j-1} as reference + excess, where the reference is one of
  // the logits or infinite.
  struct LogRatio {
    double reference;
    double excess;
  };

  // Computes D_i from `next` = D_{i+1}; they may be the same row.
  void Advance(double logit, const LogRatio* next, LogRatio* row);
  // Calls visit(i, D_{i+1}) for every item, beginning with the first.
  template <typename Visit>
  void VisitForward(const Visit& visit);
  void FillEnd(LogRatio* row) const;  // Writes D_m.
  void SaveCheckpoints();

  std::vector<double> logits_;
  size_t size_ = 0;
  size_t block_ = 0;                   // Rows that are kept at once.
  std::vector<LogRatio> checkpoints_;  // D at the end of each block.
  std::vector<LogRatio> rows_;         // D_{i+1} of the items of a block.
  std::vector<double> terms_;
  std::vector<double> corrections_;
  std::vector<double> state_;
};

}  // namespace sortition
