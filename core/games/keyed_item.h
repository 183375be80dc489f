#pragma once
// Items with the potentials that they are ordered by.
#include <cstdint>
#include <span>

namespace sortition {

struct KeyedItem {
  double psi;
  int32_t item;
};

// Falling ψ, ties by item: an order without equals.
inline bool Before(const KeyedItem& a, const KeyedItem& b) {
  return a.psi != b.psi ? a.psi > b.psi : a.item < b.item;
}

// Sorts by Before().
void SortItems(std::span<KeyedItem> items);

// Shares `total`, from 0 to items.size(), among the items of largest ψ, at most
// 1 each, equal ψ alike: values[item]. Returns Σ ψ values. Reorders the items.
double ShareAmongLargest(std::span<KeyedItem> items, double total,
                         std::span<double> values);

}  // namespace sortition
