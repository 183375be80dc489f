#include "process/service/changed_options.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "process/options/options.h"
#include "sortition/config/v1/server.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ChangedOptionsTest : public testing::Test {
 protected:
  void Start(const std::string& config) {
    ASSERT_OK(WriteFile(file_, config));
    CommandLine command_line;
    ASSERT_OK(ParseOptions(arguments_, &options_, &command_line));
  }
  std::vector<std::string> Changed(const std::string& config) {
    EXPECT_OK(WriteFile(file_, config));
    const auto changed = ChangedOptions(arguments_, options_);
    EXPECT_OK(changed);
    return changed.value_or(std::vector<std::string>{"error"});
  }

  const TempDir dir_;
  const std::string file_ = dir_ / "server.textproto";
  const std::vector<std::string> arguments_ = {
      absl::StrCat("--config=", file_), "--model_store=/m", "--threads=3"};
  config::v1::ServerOptions options_;
};

TEST_F(ChangedOptionsTest, NamesWhatTheFileChanged) {
  Start("poll_seconds: 2 spool { dir: \"/s\" }");
  EXPECT_THAT(Changed("poll_seconds: 2 spool { dir: \"/s\" }"), IsEmpty());
  EXPECT_THAT(Changed("poll_seconds: 3 spool { dir: \"/t\" }"),
              ElementsAre("poll_seconds", "spool.dir"));
  EXPECT_THAT(Changed("spool { dir: \"/s\" max_bytes: 1073741824 }"),
              ElementsAre("poll_seconds", "spool.max_bytes"));
}

TEST_F(ChangedOptionsTest, FlagsStillOverrideTheFileAndDefaultsAreNoChange) {
  Start("threads: 5");
  const std::string default_model = config::v1::ServerOptions().default_model();
  EXPECT_THAT(Changed(absl::StrCat("threads: 6 default_model: \"",
                                   default_model, "\"")),
              IsEmpty());
}

TEST_F(ChangedOptionsTest, AFileWithAnErrorIsRefused) {
  Start("");
  ASSERT_OK(WriteFile(file_, "poll_secs: 2"));
  EXPECT_THAT(
      ChangedOptions(arguments_, options_).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("poll_secs")));
}

}  // namespace
}  // namespace sortition
