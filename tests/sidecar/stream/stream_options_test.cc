#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/options/options.h"
#include "sidecar/run_stream.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

absl::Status Validate(const std::vector<std::string>& flags) {
  config::v1::SidecarOptions options;
  CommandLine command_line;
  const absl::Status parsed = ParseOptions(flags, &options, &command_line);
  return parsed.ok() ? ValidateStreamOptions(options) : parsed;
}

TEST(StreamOptionsTest, OneOfThreeWaysToWork) {
  EXPECT_OK(Validate({"--spool=s", "--tuples=t"}));
  EXPECT_OK(Validate({"--spool=s", "--publish.url=nats://a:1"}));
  EXPECT_OK(Validate(
      {"--spool=m/w", "--tuples=t", "--mirror=m", "--consume.url=nats://a:1"}));
}

TEST(StreamOptionsTest, OthersAreRefusedByName) {
  const auto is_refused = [](const std::string& text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(Validate({"--spool=s"}), is_refused("--tuples"));
  EXPECT_THAT(Validate({"--spool=s", "--tuples=t", "--mirror=m"}),
              is_refused("consume.url and mirror"));
  EXPECT_THAT(Validate({"--spool=s", "--tuples=t", "--consume.url=nats://a:1"}),
              is_refused("consume.url and mirror"));
  EXPECT_THAT(Validate({"--spool=s", "--tuples=t", "--mirror=m",
                        "--consume.url=nats://a:1", "--publish.url=b"}),
              is_refused("publish.url and consume.url"));
  EXPECT_THAT(Validate({"--spool=s", "--spool=r", "--publish.url=a"}),
              is_refused("--spool = 's,r'"));
  EXPECT_THAT(Validate({"--spool=s/*", "--publish.url=a"}),
              is_refused("one directory"));
  EXPECT_THAT(Validate({"--spool=s", "--publish.url=a", "--replicas=6"}),
              is_refused("[1, 5]"));
}

}  // namespace
}  // namespace sortition
