#pragma once
// Checks of finished SVG documents that the tests of all charts share.
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "process/drawing/svg.h"
#include "tests/process/drawing/xml_checker.h"

namespace sortition {

// Returns the document, which must be well-formed and must contain neither NaN
// nor infinity.
inline std::string FinishChecked(Svg svg) {
  std::string text = std::move(svg).Finish();
  EXPECT_THAT(XmlChecker::Problem(text), testing::IsEmpty()) << text;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("nan")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("inf")));
  return text;
}

// Returns the number of occurrences of `part`.
inline int Count(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace sortition
