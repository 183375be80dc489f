#pragma once
// Matchers for the errors that tests expect most often. Each matches a status
// or StatusOr with its code whose message contains all of the given texts.
//   EXPECT_THAT(Train(options), IsInvalidArgument("lambda is -1, must be"));
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// Matchers that most tests use.
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Matches a string that contains all of the given texts.
template <typename... Texts>
auto HasTexts(const Texts&... texts) {
  return testing::AllOf(testing::HasSubstr(texts)...);
}

template <typename... Texts>
auto StatusContains(absl::StatusCode code, const Texts&... texts) {
  if constexpr (sizeof...(Texts) == 0) {
    return StatusIs(code);
  } else {
    return StatusIs(code, HasTexts(texts...));
  }
}

template <typename... Texts>
auto IsInvalidArgument(const Texts&... texts) {
  return StatusContains(absl::StatusCode::kInvalidArgument, texts...);
}
template <typename... Texts>
auto IsFailedPrecondition(const Texts&... texts) {
  return StatusContains(absl::StatusCode::kFailedPrecondition, texts...);
}
template <typename... Texts>
auto IsNotFound(const Texts&... texts) {
  return StatusContains(absl::StatusCode::kNotFound, texts...);
}
template <typename... Texts>
auto IsUnavailable(const Texts&... texts) {
  return StatusContains(absl::StatusCode::kUnavailable, texts...);
}

}  // namespace sortition
