// Files of identity that change, that are wrong, and that cannot be read for a
// moment.
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "process/log.h"
#include "server/identity/identity.h"
#include "tests/server/identity/token_hashes.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

int NumThreads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

class IdentityFilesTest : public testing::Test {
 protected:
  IdentityFilesTest() {
    Write("tokens", absl::StrCat("decide x ", kHashOfAbc, "\n"));
    options_.set_token_file(dir_ / "tokens");
  }

  void Write(const std::string& name, const std::string& text) const {
    EXPECT_OK(WriteFile(dir_ / name, text));
  }
  // The number of tokens is in the log line that says that they were read.
  static std::string Log() { return CapturedLog(); }

  const TempDir dir_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
};

// A file that cannot be opened for want of a descriptor is as good as ever.
TEST_F(IdentityFilesTest, WhatFailsForAMomentIsReadAgain) {
  ASSERT_OK_AND_ASSIGN(const auto identity,
                       Identity::Open(options_, &metrics_));
  Write("next", absl::StrCat("decide x ", kHashOfAbc, "\nadmin y ",
                             kHashOfNothing, "\n"));
  CaptureLog();
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::filesystem::rename(dir_ / "next", dir_ / "tokens");
  identity->Reload();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(
      metrics_.Counter("sortition_identity_reload_failures_total", "")->value(),
      1);
  // What SIGHUP does; the file is the same as it was.
  identity->Reread();
  EXPECT_THAT(Log(), testing::HasSubstr("\"tokens\":2"));
}

// Of two tokens of one caller the later end counts: the earlier one is being
// replaced. 2027-01-31 begins 1,801,353,600 s after the epoch.
TEST_F(IdentityFilesTest, TheEndOfEachCallersLastTokenIsServed) {
  const std::string name = "sortition_token_expiry_timestamp_seconds";
  Write("tokens", absl::StrCat("decide x ", kHashOfAbc, " 2026-01-31\n",
                               "decide x ", kHashOfNothing, " 2027-01-31\n"));
  ASSERT_OK_AND_ASSIGN(const auto identity,
                       Identity::Open(options_, &metrics_));
  EXPECT_EQ(metrics_.Gauge(name, "", {{"caller", "x"}})->value(), 1801353600);
  // A token of x that never ends, and one of y that does.
  Write("tokens", absl::StrCat("decide x ", kHashOfAbc, "\n", "decide y ",
                               kHashOfNothing, " 2027-01-31\n"));
  identity->Reread();
  EXPECT_THAT(metrics_.Text(),
              testing::Not(testing::HasSubstr(name + "{caller=\"x\"}")));
  EXPECT_EQ(metrics_.Gauge(name, "", {{"caller", "y"}})->value(), 1801353600);
}

TEST_F(IdentityFilesTest, AnEmptyFileOfTokensIsNotTakenUp) {
  ASSERT_OK_AND_ASSIGN(const auto identity,
                       Identity::Open(options_, &metrics_));
  const auto is_known = [&] {
    return identity->authorizer()->Check(Role::kDecide, "Bearer abc").ok();
  };
  const auto num_failures = [this] {
    return metrics_.Counter("sortition_identity_reload_failures_total", "")
        ->value();
  };
  for (const char* text : {"", "\n", "# Nothing here.\n"}) {
    const double before = num_failures();
    CaptureLog();
    Write("tokens", text);
    identity->Reread();
    EXPECT_GE(num_failures(), before + 1);
    EXPECT_THAT(CapturedLog(), testing::HasSubstr("has no token"));
    EXPECT_TRUE(is_known());
  }
  Write("tokens", absl::StrCat("decide x ", kHashOfAbc, " 2020-01-31\n"));
  identity->Reread();
  EXPECT_FALSE(is_known());
}

TEST_F(IdentityFilesTest, NoThreadIsLeftOnceItHasStopped) {
  LogInfo("begins the thread that writes log lines");
  const int before = NumThreads();
  ASSERT_OK_AND_ASSIGN(const auto identity,
                       Identity::Open(options_, &metrics_));
  EXPECT_EQ(NumThreads(), before + 1);
  identity->Stop();
  EXPECT_EQ(NumThreads(), before);
  identity->Stop();
}

}  // namespace
}  // namespace sortition
