#pragma once
// Matchers for absl::Status and absl::StatusOr, which this Abseil lacks.
//   ASSERT_OK_AND_ASSIGN(const Model model, ReadModel(path));
//   EXPECT_OK(WriteFile(path, bytes));
//   EXPECT_THAT(result, StatusIs(absl::StatusCode::kNotFound,
//   HasSubstr("v7")));
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace internal {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace internal

MATCHER(IsOk, negation ? "is not OK" : "is OK") {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.ok();
}

MATCHER_P(StatusIsCode, code,
          "has status code " + absl::StatusCodeToString(code)) {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code;
}

MATCHER_P2(StatusIsCodeAndMessage, code, message_matcher,
           "has status code " + absl::StatusCodeToString(code) +
               " and a message that " +
               testing::DescribeMatcher<std::string>(message_matcher)) {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code &&
         testing::ExplainMatchResult(
             message_matcher, std::string(status.message()), result_listener);
}

inline auto StatusIs(absl::StatusCode code) { return StatusIsCode(code); }

// `message_matcher` is a matcher of std::string, or the whole message.
template <typename MessageMatcher>
auto StatusIs(absl::StatusCode code, MessageMatcher message_matcher) {
  return StatusIsCodeAndMessage(
      code, testing::Matcher<std::string>(std::move(message_matcher)));
}

}  // namespace sortition

#define EXPECT_OK(expression) EXPECT_THAT(expression, ::sortition::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT(expression, ::sortition::IsOk())

#define SORTITION_TEST_CONCAT_INNER(a, b) a##b
#define SORTITION_TEST_CONCAT(a, b) SORTITION_TEST_CONCAT_INNER(a, b)
#define ASSERT_OK_AND_ASSIGN(declaration, expression)                      \
  SORTITION_ASSERT_OK_AND_ASSIGN(SORTITION_TEST_CONCAT(result_, __LINE__), \
                                 declaration, expression)
#define SORTITION_ASSERT_OK_AND_ASSIGN(result, declaration, expression) \
  auto result = (expression);                                           \
  ASSERT_OK(result);                                                    \
  declaration = *std::move(result)
