#pragma once
// Several orders of the same items beside each other, a line for each item.
#include <cstdint>
#include <string>
#include <vector>

#include "process/drawing/panel.h"

namespace sortition {

struct BumpChart {
  struct Item {
    std::string name;
    // The rank in each column, 0 the best. Ranks of items that are not drawn
    // may be missing between them.
    std::vector<uint32_t> ranks;
  };

  std::string title;
  std::vector<Heading> columns;
  std::vector<Item> items;
};

// Lines are the darker the better an item is in the first column. Items stand
// below each other at fixed distances; the height of `panel` is not used.
void DrawBumpChart(const BumpChart& chart, const Panel& panel, Svg* svg);

}  // namespace sortition
