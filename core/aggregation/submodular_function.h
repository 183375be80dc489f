#pragma once
// Submodular functions and their Lovász-Bregman divergences [IyerBilmes13],
// which measure how far scores x are from an order σ:
//   d(x‖σ) = <x, h_σx - h_σ>  (eq. 12),
// where h_σ is the extreme subgradient of the Lovász extension f̂ at points of
// order σ (lemma 2.2) and σ_x the order of x. It is convex in x, never
// negative, 0 if σ orders x, and small if the scores hardly differ.
//
// If f separates pairs in both directions, d is twice what eq. 14 and rows 1
// and 5 of table 1 print: f̂ and <x, h_σ> both count each inverted pair.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"

namespace sortition {

// A function f of sets of num_items items with f(∅) = 0. Immutable,
// thread-safe. Orders must be valid (ValidateOrder) and scores finite.
class SubmodularFunction {
 public:
  virtual ~SubmodularFunction() = default;
  size_t num_items() const { return num_items_; }

  // Returns f(S); in_set[i] says whether item i is in S.
  virtual double Value(std::span<const uint8_t> in_set) const = 0;

  // Writes h_σ: h[σ(j)] = f({σ(0) .. σ(j)}) - f({σ(0) .. σ(j-1)}).
  virtual void ExtremeSubgradient(std::span<const uint32_t> order,
                                  std::span<double> h) const = 0;

  // Returns d(x‖σ), computed as a sum of terms that are not negative.
  virtual double Divergence(std::span<const double> x,
                            std::span<const uint32_t> order) const = 0;

  // Writes the mean of h_σ over all orders σ that have the items of lower
  // groups first. ties[i] is the group of item i, below num_items(); a group
  // may be empty.
  virtual void TiedSubgradient(std::span<const uint32_t> ties,
                               std::span<double> h) const = 0;

 protected:
  explicit SubmodularFunction(size_t num_items) : num_items_(num_items) {}

 private:
  const size_t num_items_;
};

// f(S) = g(|S|) for a concave g: table 1, rows 1 to 4, 6 and 7; eq. 15 to 18.
class CardinalityFunction : public SubmodularFunction {
 public:
  // `increments`: δ(r) = g(r + 1) - g(r) for each item. InvalidArgument unless
  // they are finite and do not increase.
  static absl::StatusOr<std::unique_ptr<CardinalityFunction>> Create(
      std::vector<double> increments);

  // f(S) = |S| |V∖S|. d is twice the sum of |x_i - x_j| over the inverted
  // pairs, a weighted Kendall's tau. If x is 1 for good and 0 for bad items, d
  // is 2 |good| |bad| times the missing area under the ROC curve (eq. 19).
  static std::unique_ptr<CardinalityFunction> AllPairs(size_t num_items);
  // f(S) = min{|S|, m}. d is the largest sum of m scores minus that of σ's
  // first m (eq. 17): max x - x(σ(0)) for m = 1, 0 for m >= num_items.
  static std::unique_ptr<CardinalityFunction> Top(size_t num_items, size_t m);
  // δ(r) = 1 / log2(r + 2) for r < cutoff, else 0; cutoff = 0: all ranks. d is
  // the loss in DCG of linear gain x (eq. 18 without its denominator).
  static std::unique_ptr<CardinalityFunction> Dcg(size_t num_items,
                                                  size_t cutoff);
  // f(S) = 1 unless S is empty or complete. d is max x - min x minus the lead
  // of σ's first item over its last (table 1, row 6; row 7 prints less).
  static std::unique_ptr<CardinalityFunction> Ends(size_t num_items);

  std::span<const double> increments() const { return increments_; }

  double Value(std::span<const uint8_t> in_set) const override;
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // Σ_r (δ(r) - δ(r+1)) (largest sum of r+1 scores - sum of the first r+1 of
  // σ), which is eq. 15 summed by parts. O(n log n).
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;
  void TiedSubgradient(std::span<const uint32_t> ties,
                       std::span<double> h) const override;

  // Returns the same as Divergence(), faster if there are many orders for one
  // x: `falling` has the values of x in decreasing order. O(n).
  double DivergenceOfSorted(std::span<const double> falling,
                            std::span<const double> x,
                            std::span<const uint32_t> order) const;

 private:
  explicit CardinalityFunction(std::vector<double> increments);

  const std::vector<double> increments_;
};

// f(S) = Σ weight over the edges from S to V∖S: eq. 14, table 1 row 5. d is Σ
// weight |x_i - x_j| over the edges whose ends x and σ order differently.
class CutFunction : public SubmodularFunction {
 public:
  struct Edge {
    uint32_t from;
    uint32_t to;
    double weight;  // >= 0.
  };

  // InvalidArgument if an end of an edge is not an item, if both ends are the
  // same item, or if a weight is negative or not finite.
  static absl::StatusOr<std::unique_ptr<CutFunction>> Create(
      size_t num_items, std::vector<Edge> edges);

  // f(S) = Σ_i |[i in S] - [i+1 in S]| (table 1, row 5).
  static std::unique_ptr<CutFunction> Chain(size_t num_items);

  double Value(std::span<const uint8_t> in_set) const override;
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // O(n + edges).
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;
  void TiedSubgradient(std::span<const uint32_t> ties,
                       std::span<double> h) const override;

 private:
  CutFunction(size_t num_items, std::vector<Edge> edges);

  const std::vector<Edge> edges_;
};

// Returns f̂(x) = <h_σx, x> (eq. 8).
double LovaszExtension(const SubmodularFunction& f, std::span<const double> x);

// Returns d(x‖σ) computed directly by eq. 12.
double DivergenceByDefinition(const SubmodularFunction& f,
                              std::span<const double> x,
                              std::span<const uint32_t> order);

// Returns the distance of scores from a partial order (sec. 3, "Extensions to
// partial orderings"): Σ weight max(0, x_to - x_from) over its edges, each of
// which says that `from` is better than `to`. It equals d(x‖σ) of the cut
// function for every σ that agrees with the edges. Requires valid edges.
double PartialOrderDivergence(std::span<const double> x,
                              std::span<const CutFunction::Edge> better);

// An order of items by the absolute values of their scores, and the signs.
struct SignedOrder {
  Order order;
  std::vector<int8_t> signs;  // -1 or 1 for each item.
};

// Returns the extended divergence d_|f̂|(x‖σ, s) = f̂(|x|) - Σ x_i s_i h_σ(i),
// which distinguishes (-1, -2) from (2, 1) (sec. 2.3). InvalidArgument if h_σ
// has a negative entry: f must be monotone, otherwise f̂(|x|) is not convex.
absl::StatusOr<double> ExtendedDivergence(const SubmodularFunction& f,
                                          std::span<const double> x,
                                          const SignedOrder& order);

}  // namespace sortition
