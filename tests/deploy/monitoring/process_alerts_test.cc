// What the alerts say of servers that die, or whose surroundings are wrong.
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "tests/deploy/monitoring/monitored_fixture.h"
#include "tests/testing/certificates.h"

namespace sortition {
namespace {

class ProcessAlertsTest : public MonitoredTest {
 protected:
  ProcessAlertsTest() { Publish(SelectionModel(8, 0.1)); }

  // Waits until it is up with another start than the last one.
  void ExpectNewStart() {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto start =
          prometheus_->Query("process_start_time_seconds and on () up == 1");
      if (!start.ok() || start->size() != 1) return false;
      const double last = std::exchange(last_start_, start->front().value);
      return last_start_ != last;
    }));
  }

  double last_start_ = 0;
};

TEST_F(ProcessAlertsTest, KilledServerIsDownAndThenRestartsTooOften) {
  StartServer();
  StartPrometheus(false);
  ExpectQuiet();
  ExpectNewStart();
  deployment_.server().Kill();
  ExpectFire({"SortitionDown"});
  StartServer();
  ExpectNewStart();
  for (int i = 0; i < 2; ++i) {
    deployment_.server().Kill();
    StartServer();
    ExpectNewStart();
  }
  ExpectFire({"SortitionRestarts"});
  ExpectQuiet();
}

// A limit that no disk holds, a certificate for six days, a file of tokens that
// is wrong.
TEST_F(ProcessAlertsTest, DiskCertificateAndTokensAreWatched) {
  const CertificateAuthority authority(deployment_.path("authority"));
  const std::string leaf = deployment_.path("leaf");
  const std::string tokens = deployment_.path("tokens");
  authority.Sign(leaf, 6);
  ASSERT_OK(WriteFile(tokens, "# Nobody yet.\n"));
  const std::vector<std::string> identity = {
      "--tls.certificate_file=" + leaf + ".pem",
      "--tls.key_file=" + leaf + ".key", "--token_file=" + tokens};
  std::vector<std::string> flags = identity;
  flags.push_back(absl::StrCat("--spool.max_bytes=", uint64_t{1} << 60));
  StartServer(flags);
  StartPrometheus(false);
  ExpectFire({"SortitionDiskFilling", "SortitionCertificateEnds"});
  ASSERT_OK(WriteFile(tokens, "decide front-end no-hash\n"));
  ExpectFire({"SortitionIdentityNotReloaded"});
  ASSERT_OK(WriteFile(tokens, "# Nobody yet.\n"));
  ExpectClear({"SortitionIdentityNotReloaded"});
  authority.Sign(deployment_.path("next"), 30);
  for (const char* suffix : {".key", ".pem"}) {
    std::filesystem::rename(deployment_.path("next") + suffix, leaf + suffix);
  }
  ExpectClear({"SortitionCertificateEnds"});
  deployment_.server().Kill();
  flags.back() = "--spool.max_bytes=268435456";
  StartServer(flags);
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
