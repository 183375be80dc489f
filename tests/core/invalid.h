#pragma once
// A matcher for refusals, the commonest status of this room.
//   EXPECT_THAT(Check(options), IsInvalid("lambda is -1, must be finite, >=
//   0")); EXPECT_THAT(Check(options), IsInvalid(HasSubstr("lambda is -1")));
#include <utility>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// InvalidArgument with this message. `message_matcher` is a matcher of
// std::string, or the whole message.
template <typename MessageMatcher>
auto IsInvalid(MessageMatcher message_matcher) {
  return StatusIs(absl::StatusCode::kInvalidArgument,
                  std::move(message_matcher));
}

}  // namespace sortition
