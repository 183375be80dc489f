#pragma once
// Subsets of exactly k of m items, each as probable as the product of exp(l_i)
// of its members: independent items on the condition that k are in
// [ChenDempsterLiu94],
//   log p(S) = Σ_{i in S} l_i - log e_k,  e_j = Σ_{|S| = j} Π_{i in S}
//   exp(l_i).
//
// Item by item: where j of the items from i on are still to be chosen, item i
// is one of them with log-odds l_i - D_{i+1}(j), where D_i(j) = log e_j - log
// e_{j-1} over the items from i on. D_i(j) is one of l_i, D_{i+1}(j) and
// D_{i+1}(j-1), and a correction of at most log 2: log e_j, which would cancel,
// is never formed, and large logits cost no digits. Time O(m k), memory
// O(k √m).
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// A reusable workspace: no allocation when warm.
class SizedSubset {
 public:
  // Of larger ones nothing is computed.
  static constexpr size_t kMaxCells = 10'000'000;
  static bool IsWithinLimit(size_t num_items, size_t size) {
    return size == num_items || num_items <= kMaxCells / size;
  }

  // Copies the logits: finite, at least one. Requires 1 <= size <= their number
  // and IsWithinLimit().
  void SetLogits(std::span<const double> logits, uint32_t size);

  // taken[i] says whether item i is in. Takes a number in (0, 1) for each item;
  // returns log p of what it drew, the same bits as LogPropensity().
  double Draw(std::span<const double> numbers, std::span<uint8_t> taken);

  // Requires that `taken` has as many members as SetLogits() said.
  double LogPropensity(std::span<const uint8_t> taken);

  // P(item i is in) and P(it is not), both without cancellation.
  void Marginals(std::span<double> in, std::span<double> out);

 private:
  // log e_j - log e_{j-1} as reference + excess, the reference one of the
  // logits, or infinite.
  struct LogRatio {
    double reference;
    double excess;
  };

  // D_i from `next` = D_{i+1}; they may be the same row.
  void Advance(double logit, const LogRatio* next, LogRatio* row);
  // Calls visit(i, D_{i+1}) for every item, from the first on.
  template <typename Visit>
  void VisitForward(const Visit& visit);
  void FillEnd(LogRatio* row) const;  // D_m.
  void SaveCheckpoints();

  std::vector<double> logits_;
  size_t size_ = 0;
  size_t block_ = 0;                   // Rows that are held at once.
  std::vector<LogRatio> checkpoints_;  // D at the end of each block.
  std::vector<LogRatio> rows_;         // D_{i+1} of a block's items.
  std::vector<double> terms_;
  std::vector<double> corrections_;
  std::vector<double> state_;
};

}  // namespace sortition
