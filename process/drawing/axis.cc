#include "process/drawing/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// How many widths of the core away values still belong to a range.
constexpr double kReach = 2;
// With fewer powers of ten, an axis also has 2 and 5 times these.
constexpr size_t kFewPowers = 3;
constexpr int kMostPowers = 9;

// The width of a digit at kSmallSize, rather too much.
constexpr double kDigit = 6.6;
// Larger values would leave no digits for pixels.
constexpr double kLargest = 1e100;

constexpr double kInf = std::numeric_limits<double>::infinity();

void Extend(const std::vector<double>& values, const Range& limits,
            Range* range) {
  for (const double value : values) {
    if (!(std::abs(value) < kLargest)) continue;  // NaN too.
    if (value < limits.low || value > limits.high) continue;
    range->low = std::min(range->low, value);
    range->high = std::max(range->high, value);
  }
}

// Thousands and millions are short, so that they leave room for the axis.
std::string Label(double value) {
  if (std::abs(value) >= 1e12) return absl::StrFormat("%.3g", value);
  if (std::abs(value) >= 1e6) return absl::StrFormat("%.7gM", value / 1e6);
  if (std::abs(value) >= 1e5) return absl::StrFormat("%.7gk", value / 1e3);
  return absl::StrFormat("%.8g", value);
}

// Returns the smallest n for which the labels of every n-th tick do not meet.
size_t LabelStride(const Axis& axis) {
  const std::vector<Tick>& ticks = axis.ticks;
  const auto half = [&](size_t i) {
    return kDigit * static_cast<double>(ticks[i].label.size() + 1) / 2;
  };
  size_t stride = 1;
  for (size_t i = stride; i < ticks.size(); i += stride) {
    const double gap =
        axis.scale(ticks[i].at) - axis.scale(ticks[i - stride].at);
    if (gap < half(i) + half(i - stride)) {
      ++stride;
      i = 0;  // From the first pair again.
    }
  }
  return stride;
}

}  // namespace

Range RangeAround(const std::vector<double>& core,
                  const std::vector<double>& others) {
  Range range = {kInf, -kInf};
  Extend(core, {-kInf, kInf}, &range);
  Range limits = {-kInf, kInf};
  if (const double width = range.high - range.low; width > 0) {
    limits = {range.low - kReach * width, range.high + kReach * width};
  }
  Extend(others, limits, &range);
  return range.low <= range.high ? range : Range{0, 1};
}

std::vector<Tick> NumberTicks(const Scale& scale) {
  std::vector<Tick> ticks;
  for (const double at : Ticks(scale.low, scale.high)) {
    ticks.push_back({at, Label(at)});
  }
  return ticks;
}

std::vector<Tick> LogTicks(const Scale& scale) {
  const auto first = static_cast<int>(std::ceil(scale.low));
  const auto last = static_cast<int>(std::floor(scale.high));
  const int step = std::max(1, (last - first + kMostPowers) / kMostPowers);
  std::vector<Tick> ticks;
  for (int k = first; k <= last; k += step) {
    ticks.push_back({static_cast<double>(k), Label(std::pow(10, k))});
  }
  if (ticks.size() >= kFewPowers) return ticks;
  ticks.clear();
  for (int k = first - 1; k <= last; ++k) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, k);
      const double at = std::log10(value);
      if (at >= scale.low && at <= scale.high) {
        ticks.push_back({at, Label(value)});
      }
    }
  }
  return ticks;
}

void DrawFrame(const Panel& panel, Svg* svg) {
  svg->Rectangle({panel.x, panel.y}, panel.width, panel.height,
                 {.stroke = kFrame});
}

void DrawXAxis(const Axis& axis, const Panel& panel, Svg* svg) {
  const double bottom = panel.y + panel.height;
  const size_t stride = LabelStride(axis);
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double x = axis.scale(axis.ticks[i].at);
    svg->Line({x, bottom}, {x, bottom + 5}, {.stroke = kFrame});
    if (i % stride != 0) continue;
    svg->Text({x, bottom + 18}, axis.ticks[i].label,
              {.size = kSmallSize, .anchor = Svg::Anchor::kMiddle});
  }
  svg->Text({panel.x + panel.width / 2, bottom + 38}, axis.name,
            {.anchor = Svg::Anchor::kMiddle});
}

void DrawYAxis(const Axis& axis, const Panel& panel, Svg* svg) {
  for (const Tick& tick : axis.ticks) {
    const double y = axis.scale(tick.at);
    svg->Line({panel.x - 5, y}, {panel.x, y}, {.stroke = kFrame});
    svg->Text({panel.x - 8, y + 4}, tick.label,
              {.size = kSmallSize, .anchor = Svg::Anchor::kEnd});
  }
  svg->Text({panel.x - 52, panel.y + panel.height / 2}, axis.name,
            {.anchor = Svg::Anchor::kMiddle, .upwards = true});
}

}  // namespace sortition
