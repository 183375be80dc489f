#pragma once
// The colours of charts.
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

inline constexpr absl::string_view kInk = "#222222";
inline constexpr absl::string_view kPaper = "#ffffff";
inline constexpr absl::string_view kFrame = "#888888";

// Returns the colour of the `index`-th of several things that must be told
// apart. Colours repeat after 10 [Okabe and Ito's, and others that differ in
// lightness].
absl::string_view Colour(size_t index);

// Returns a colour from light (0) to dark red (1) as "#rrggbb"; shares outside
// [0, 1] are clamped.
std::string Shade(double share);
// Returns the colour of text that is legible on Shade(share).
absl::string_view InkOnShade(double share);

// Returns a colour from dark blue (0) to light blue (1) as "#rrggbb".
std::string Fade(double share);

}  // namespace sortition
