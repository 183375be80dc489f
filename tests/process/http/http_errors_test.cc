#include "process/http/http_errors.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// https://github.com/grpc-ecosystem/grpc-gateway, runtime.HTTPStatusFromCode.
TEST(HttpErrorsTest, CodesAreThoseOfGrpcGateway) {
  const std::pair<absl::StatusCode, int> codes[] = {
      {absl::StatusCode::kOk, 200},
      {absl::StatusCode::kCancelled, 499},
      {absl::StatusCode::kUnknown, 500},
      {absl::StatusCode::kInvalidArgument, 400},
      {absl::StatusCode::kDeadlineExceeded, 504},
      {absl::StatusCode::kNotFound, 404},
      {absl::StatusCode::kAlreadyExists, 409},
      {absl::StatusCode::kPermissionDenied, 403},
      {absl::StatusCode::kUnauthenticated, 401},
      {absl::StatusCode::kResourceExhausted, 429},
      {absl::StatusCode::kFailedPrecondition, 400},
      {absl::StatusCode::kAborted, 409},
      {absl::StatusCode::kOutOfRange, 400},
      {absl::StatusCode::kUnimplemented, 501},
      {absl::StatusCode::kInternal, 500},
      {absl::StatusCode::kUnavailable, 503},
      {absl::StatusCode::kDataLoss, 500}};
  for (const auto& [code, http_code] : codes) {
    EXPECT_EQ(HttpCode(code), http_code) << absl::StatusCodeToString(code);
  }
}

TEST(HttpErrorsTest, BodiesAreJsonWhateverTheMessage) {
  const HttpAnswer answer =
      ErrorAnswer(absl::NotFoundError("a \"b\" \\ c\n\x01 é"));
  EXPECT_EQ(answer.code, 404);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body,
            "{\"code\":\"NOT_FOUND\",\"message\":\"a \\\"b\\\" \\\\ "
            "c\\u000a\\u0001 é\"}\n");
  EXPECT_EQ(ErrorAnswer(413, absl::InvalidArgumentError("x")).code, 413);
}

// A request of 8 MB once came back whole within the message.
TEST(HttpErrorsTest, LongMessagesAreCut) {
  const std::string longest(4096, 'x');
  EXPECT_EQ(
      ErrorAnswer(absl::NotFoundError(longest)).body,
      absl::StrCat("{\"code\":\"NOT_FOUND\",\"message\":\"", longest, "\"}\n"));
  EXPECT_EQ(
      ErrorAnswer(absl::NotFoundError(longest + std::string(7 << 20, 'y')))
          .body,
      absl::StrCat("{\"code\":\"NOT_FOUND\",\"message\":\"", longest,
                   " ...\"}\n"));
}

TEST(HttpErrorsTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(JsonString("\xc3\xa9"), "\"é\"");
  EXPECT_EQ(JsonString("\xc3"), "\"?\"");
  EXPECT_EQ(JsonString("a\xff\xc3\xa9"), "\"a???\"");
  EXPECT_EQ(JsonString("\xf0\x9f\x8e\xb2"), "\"🎲\"");
  EXPECT_EQ(JsonString("\xf4\x8f\xbf\xbf"), "\"\xf4\x8f\xbf\xbf\"");
  // A surrogate, two that are longer than need be, and one that is too large.
  EXPECT_EQ(JsonString("\xed\xa0\x80"), "\"???\"");
  EXPECT_EQ(JsonString("\xe0\x9f\xbf"), "\"???\"");
  EXPECT_EQ(JsonString("\xf0\x8f\xbf\xbf"), "\"????\"");
  EXPECT_EQ(JsonString("\xf4\x90\x80\x80"), "\"????\"");
}

}  // namespace
}  // namespace sortition
