#include "server/rpc/wire_counts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

config::v1::RequestLimits Limits() {
  config::v1::RequestLimits limits;
  limits.set_max_feedback_batch(3);
  limits.set_max_candidates(5);
  limits.set_max_column_values(8);
  return limits;
}

// In slices of 7 bytes, so that fields and entries are torn between them.
absl::Status Check(const google::protobuf::Descriptor* type,
                   const std::string& bytes) {
  std::vector<grpc::Slice> slices;
  for (size_t begin = 0; begin < bytes.size(); begin += 7) {
    slices.emplace_back(bytes.substr(begin, 7));
  }
  grpc::ByteBuffer payload(slices.data(), slices.size());
  const absl::Status status = CheckWireCounts(type, Limits(), &payload);
  EXPECT_EQ(payload.Length(), bytes.size());
  return status;
}

std::string Repeat(const std::string& bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

TEST(WireCountsTest, CountsEmptyEntries) {
  const auto* type = v1::ReportFeedbackRequest::descriptor();
  const std::string empty("\x0a\x00", 2);
  EXPECT_OK(Check(type, Repeat(empty, 3)));
  EXPECT_THAT(Check(type, Repeat(empty, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "feedback has more than 3 entries: must have at most "
                       "3"));
}

TEST(WireCountsTest, CountsInsideOfMessagesThatComeInParts) {
  v1::RankRequest request;
  for (int i = 0; i < 3; ++i) {
    request.mutable_context()->mutable_candidates()->add_ids("a");
  }
  request.mutable_context()->mutable_candidates()->mutable_dense()->add_values(
      1);
  // Parts of a message are merged when it is parsed.
  const std::string part = request.SerializeAsString();
  EXPECT_OK(Check(request.descriptor(), part));
  EXPECT_THAT(
      Check(request.descriptor(), part + part),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("context.candidates.ids has more than 5 entries")));
}

TEST(WireCountsTest, CountsWhatTheParserKeepsAsUnknown) {
  const auto* type = v1::RankRequest::descriptor();
  const std::string no_such_field("\xa0\x06\x01", 3);  // Field 100 is 1.
  EXPECT_OK(Check(type, Repeat(no_such_field, 1000)));
  EXPECT_THAT(Check(type, Repeat(no_such_field, 1001)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 1000 fields are not known")));
  // The context as a number instead of a message.
  EXPECT_THAT(
      Check(type, Repeat("\x08\x01", 1001)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the last is 1")));
}

// Texts count over all columns of a request; an empty one takes two bytes here
// and forty in memory.
TEST(WireCountsTest, CountsColumnsAndTheirTexts) {
  v1::SelectRequest request;
  v1::Columns& columns =
      *request.mutable_context()->mutable_candidates()->mutable_columns();
  for (int i = 0; i < 2; ++i) {
    auto& texts = *columns.add_candidate()->mutable_texts();
    for (int j = 0; j < 4; ++j) texts.add_values("");
  }
  const auto check = [&] {
    return Check(request.descriptor(), request.SerializeAsString());
  };
  EXPECT_OK(check());
  columns.add_candidate()->mutable_texts()->add_values("");
  EXPECT_THAT(check(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("columns.candidate.texts.values has more than "
                                 "8 entries")));
  columns.clear_candidate();
  for (int i = 0; i <= 1000; ++i) columns.add_query();
  EXPECT_THAT(check(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("columns.query has more than 1000 entries")));
}

TEST(WireCountsTest, LeavesWhatCannotBeReadToTheParser) {
  const auto* type = v1::RankRequest::descriptor();
  EXPECT_OK(Check(type, ""));
  EXPECT_OK(Check(type, std::string(50, '\xff')));
  EXPECT_OK(Check(type, "\x0a\xff\xff\xff\xff\x0f"));  // 4 GiB to come.
  EXPECT_OK(Check(type, "\x0a\x7f\x01"));              // 127 bytes to come.
}

}  // namespace
}  // namespace sortition
