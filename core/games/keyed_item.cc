#include "core/games/keyed_item.h"

#include <algorithm>
#include <cmath>

namespace sortition {

void SortItems(std::span<KeyedItem> items) {
  std::sort(items.begin(), items.end(), Before);
}

double ShareAmongLargest(std::span<KeyedItem> items, double total,
                         std::span<double> values) {
  double threshold = -HUGE_VAL;  // Below: nothing; above: 1.
  const auto whole = static_cast<size_t>(total);
  if (whole < items.size()) {
    std::nth_element(items.begin(), items.begin() + whole, items.end(), Before);
    threshold = items[whole].psi;
  }
  double above = 0;
  double equal = 0;
  for (const KeyedItem& item : items) {
    above += item.psi > threshold ? 1 : 0;
    equal += item.psi == threshold ? 1 : 0;
  }
  const double share = equal > 0 ? (total - above) / equal : 0;
  double sum = 0;
  for (const KeyedItem& item : items) {
    const double value = item.psi > threshold    ? 1
                         : item.psi == threshold ? share
                                                 : 0;
    values[item.item] = value;
    if (value > 0) sum += item.psi * value;
  }
  return sum;
}

}  // namespace sortition
