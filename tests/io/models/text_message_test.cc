#include "io/models/text_message.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/model/v1/serving.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TextMessageTest, ReadsWhatPeopleWrite) {
  model::v1::Serving serving;
  EXPECT_OK(ParseTextMessage(
      "f", "a state", "# why\npinned_version: 3  # for now\n\n", &serving));
  EXPECT_EQ(serving.pinned_version(), 3u);
  EXPECT_OK(ParseTextMessage("f", "a state", "", &serving));
}

TEST(TextMessageTest, SaysWhereTheFirstErrorIsAndPrintsNothing) {
  testing::internal::CaptureStderr();
  model::v1::Serving serving;
  const absl::Status status = ParseTextMessage(
      "a/b", "a state", "change: 1\nmod: ONLINE\nrubbish: 4\n", &serving);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("a/b is not a state: line 2, column"),
                             HasSubstr("\"mod\""), Not(HasSubstr("rubbish")))));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
}

}  // namespace
}  // namespace sortition
