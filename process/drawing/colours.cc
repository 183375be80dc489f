#include "process/drawing/colours.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_format.h"

namespace sortition {

absl::string_view Colour(size_t index) {
  constexpr std::array<absl::string_view, 10> kColours = {
      "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d1f",
      "#56b4e9", "#7b3294", "#e69f00", "#555555", "#b2182b"};
  return kColours[index % kColours.size()];
}

std::string Shade(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const auto mix = [t](double light, double dark) {
    return static_cast<int>(std::lround(light + t * (dark - light)));
  };
  return absl::StrFormat("#%02x%02x%02x", mix(255, 127), mix(250, 0),
                         mix(240, 20));
}

absl::string_view InkOnShade(double share) {
  return share > 0.45 ? kPaper : kInk;
}

std::string Fade(double share) {
  const double t = std::clamp(share, 0.0, 1.0);
  const auto mix = [t](double dark, double light) {
    return static_cast<int>(dark + t * (light - dark));
  };
  return absl::StrFormat("#%02x%02x%02x", mix(8, 150), mix(48, 190),
                         mix(107, 225));
}

}  // namespace sortition
