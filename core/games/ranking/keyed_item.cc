#include "core/games/ranking/keyed_item.h"

#include <algorithm>
#include <cmath>

namespace sortition {

namespace {

// Runs of this length are sorted by counting how many items precede each.
constexpr size_t kRun = 8;

void SortRun(std::span<const KeyedItem> items, KeyedItem* sorted) {
  for (size_t i = 0; i < items.size(); ++i) {
    size_t place = 0;
    for (size_t j = 0; j < i; ++j) place += items[j].psi >= items[i].psi;
    for (size_t j = i + 1; j < items.size(); ++j) {
      place += items[j].psi > items[i].psi;
    }
    sorted[place] = items[i];
  }
}

// Merges stably: of equal items those of `a` come first.
void Merge(std::span<const KeyedItem> a, std::span<const KeyedItem> b,
           KeyedItem* merged) {
  const KeyedItem* left = a.data();
  const KeyedItem* right = b.data();
  const KeyedItem* const left_end = left + a.size();
  const KeyedItem* const right_end = right + b.size();
  while (left != left_end && right != right_end) {
    const bool from_right = right->psi > left->psi;
    *merged++ = *(from_right ? right : left);
    right += from_right ? 1 : 0;
    left += from_right ? 0 : 1;
  }
  std::copy(right, right_end, std::copy(left, left_end, merged));
}

}  // namespace

void SortItems(std::vector<KeyedItem>* items, std::vector<KeyedItem>* buffer) {
  const size_t n = items->size();
  buffer->resize(n);
  const std::span<KeyedItem> all(*items);
  for (size_t begin = 0; begin < n; begin += kRun) {
    SortRun(all.subspan(begin, std::min(kRun, n - begin)),
            buffer->data() + begin);
  }
  items->swap(*buffer);
  for (size_t run = kRun; run < n; run *= 2) {
    const std::span<const KeyedItem> from(*items);
    for (size_t begin = 0; begin < n; begin += 2 * run) {
      const size_t middle = std::min(begin + run, n);
      const size_t end = std::min(middle + run, n);
      Merge(from.subspan(begin, middle - begin),
            from.subspan(middle, end - middle), buffer->data() + begin);
    }
    items->swap(*buffer);
  }
}

double ShareAmongLargest(std::span<KeyedItem> items, double total,
                         std::span<double> values) {
  double threshold = -HUGE_VAL;  // Items below get nothing, items above get 1.
  const auto whole = static_cast<size_t>(total);
  if (whole < items.size()) {
    std::nth_element(items.begin(), items.begin() + whole, items.end(),
                     Before());
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
