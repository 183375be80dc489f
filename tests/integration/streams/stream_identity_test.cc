// Brokers that ask for signed credentials: the rights that docs/streams.md
// names are enough, and without them nothing is published.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "tests/integration/streams/stream_fixture.h"
#include "tests/testing/nats_credentials.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

class StreamIdentityTest : public StreamTest {
 protected:
  // Writes a credentials file, and returns the flag that names it.
  std::string Credentials(const std::string& name,
                          const std::vector<std::string>& publish) {
    EXPECT_OK(WriteFile(keys_ / name, authority_.MakeUser(publish)));
    return "--nats.credentials_file=" + (keys_ / name);
  }
  void StartBroker() {
    broker_config_ = authority_.ServerConfig();
    Start(1, 1);
  }

 private:
  const TempDir keys_;
  const NatsAuthority authority_;
};

TEST_F(StreamIdentityTest, EachHasTheRightsThatItNeeds) {
  StartBroker();
  publish_flags_ = {Credentials(
      "publisher.creds",
      {"sortition.server-0", "$JS.API.STREAM.INFO.sortition",
       "$JS.API.STREAM.CREATE.sortition", "$JS.API.STREAM.UPDATE.sortition",
       "$JS.API.STREAM.MSG.GET.sortition"})};
  consume_flags_ = {
      Credentials("consumer.creds", {"$JS.API.STREAM.INFO.sortition",
                                     "$JS.API.STREAM.PURGE.sortition",
                                     "$JS.API.STREAM.MSG.GET.sortition",
                                     "$JS.API.CONSUMER.>", "$JS.ACK.>"}),
      "--consume.retain_seconds=0"};
  StartShipper(0);
  // A nats-server 2.9 does not count the streams of an account whose first two
  // clients come at once.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return std::filesystem::exists(Spool(0) + "/.published");
  }));
  StartConsumer();
  // Both meet a stream that is there, too.
  WaitForMoreTuples();
  shippers_[0]->Kill();
  StartShipper(0);
  consumer_->Kill();
  StartConsumer();
  WaitForMoreTuples();
  ExpectLedgerEqual();
  // What is in the mirror is removed.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto page = brokers_->server(0).Page("/jsz?accounts=1&streams=1");
    return page.ok() && absl::StrContains(*page, "\"first_seq\": ") &&
           !absl::StrContains(*page, "\"first_seq\": 1,");
  }));
  EXPECT_THAT(brokers_->server(0).process().StderrText(),
              Not(HasSubstr("Violation")));
}

TEST_F(StreamIdentityTest, WithoutRightsTheSpoolKeepsEverything) {
  StartBroker();
  StartShipper(0);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return absl::StrContains(shippers_[0]->StderrText(), "Authorization");
  }));
  shippers_[0]->Kill();
  // A user who may publish, but not ask for the stream. The broker answers
  // nothing.
  publish_flags_ = {Credentials("stranger.creds", {"sortition.>"}),
                    "--nats.timeout_seconds=0.2"};
  StartShipper(0);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return absl::StrContains(shippers_[0]->StderrText(), "Timeout") &&
           absl::StrContains(brokers_->server(0).process().StderrText(),
                             "Publish Violation");
  }));
  loads_[0]->Stop();
  EXPECT_OK(SpoolDecisionIds(Spool(0)));
  EXPECT_EQ(SpoolDecisionIds(Spool(0))->size(), loads_[0]->answered().size());
}

}  // namespace
}  // namespace sortition
