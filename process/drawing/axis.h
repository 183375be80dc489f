#pragma once
// What charts with numbers have in common: the range that they show, ticks with
// labels, names of axes.
#include <string>
#include <vector>

#include "process/drawing/panel.h"
#include "process/drawing/scale.h"

namespace sortition {

struct Range {
  double low;
  double high;
};

// Returns a range that holds all of `core` and those of `others` that are near:
// at most twice the width of `core` away. One wide interval then does not
// squeeze all the others. Values that are not finite, or beyond 1e100, are
// passed over. If none of `core` is left, or all of it are one value, the range
// holds all others; if nothing is left at all, it is [0, 1].
Range RangeAround(const std::vector<double>& core,
                  const std::vector<double>& others);

struct Tick {
  double at;
  std::string label;
};

struct Axis {
  std::string name;
  Scale scale;
  std::vector<Tick> ticks;
};

// Returns round numbers in the range of the scale.
std::vector<Tick> NumberTicks(const Scale& scale);
// Returns ticks of a scale of decimal logarithms: powers of ten, at most 9; in
// a narrow range also 2 and 5 times these.
std::vector<Tick> LogTicks(const Scale& scale);

void DrawFrame(const Panel& panel, Svg* svg);
// Draws ticks, their labels and the name below the panel. Where labels
// would meet, only every second one stands there, or every third.
void DrawXAxis(const Axis& axis, const Panel& panel, Svg* svg);
// Draws the same to the left of the panel.
void DrawYAxis(const Axis& axis, const Panel& panel, Svg* svg);

}  // namespace sortition
