// A browser shows the page without an error and without asking for anything.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/ope/page/sample_report.h"
#include "trainer/ope/page/ope_page.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

constexpr int kSkipped = 77;

FinishedProcess Check(const std::string& html) {
  const TempDir dir;
  EXPECT_OK(WriteFile(dir / "page.html", html));
  const auto finished =
      RunToEnd({SORTITION_SOURCE "/tools/check_page.sh", dir / "page.html"});
  EXPECT_OK(finished.status());
  return finished.ok() ? *finished : FinishedProcess();
}

TEST(BrowserTest, ShowsThePage) {
  const FinishedProcess result = Check(OpePage(SampleReport()));
  if (result.exit_code == kSkipped) GTEST_SKIP() << result.stdout_text;
  EXPECT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
}

// The check can fail.
TEST(BrowserTest, TheCheckFindsRequestsAndErrors) {
  const std::string page = OpePage(SampleReport());
  const std::string open = absl::StrReplaceAll(
      page, {{"default-src 'none'; ", ""}, {"img-src data:; ", ""}});
  const auto with = [](const std::string& html, const std::string& more) {
    return absl::StrReplaceAll(html,
                               {{"</main>", absl::StrCat(more, "</main>")}});
  };
  const std::string image = "<img src=\"http://example.test/x.png\"/>";
  const FinishedProcess request = Check(with(open, image));
  if (request.exit_code == kSkipped) GTEST_SKIP() << request.stdout_text;
  EXPECT_EQ(request.exit_code, 1);
  EXPECT_THAT(request.stdout_text, HasSubstr("example.test"));
  // With the policy in force the browser refuses, and says so.
  const FinishedProcess refused = Check(with(page, image));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.stdout_text, HasSubstr("Content Security Policy"));
}

}  // namespace
}  // namespace sortition
