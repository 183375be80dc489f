// Three servers whose front ends send retries and feedback to any of them: one
// sidecar over all spools joins everything once, whatever is killed; sidecars
// of their own notice that they cannot.
#include "tests/integration/several_servers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "io/clocks.h"
#include "tests/testing/child_process.h"
#include "tests/testing/nats_server.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

TEST_F(SeveralServersTest, OneSidecarJoinsEverythingOnceWhateverIsKilled) {
  int port = 0;
  auto sidecar = StartSidecar("spools/*", "tuples", &port);
  StartLoad(Routing::kRandom, /*has_ids=*/true);
  RandomSequence random(SeedKey(7));
  const size_t num_kills = IsLongRun() ? 200 : 8;
  for (size_t kill = 0; kill < num_kills; ++kill) {
    ASSERT_TRUE(WaitForAnswers(1 + random.Below(200)));
    const size_t victim = random.Below(kServers + 1);
    if (victim < kServers) {
      servers_[victim]->Kill();
      StartServer(victim);
    } else {
      sidecar->Kill();
      sidecar = StartSidecar("spools/*", "tuples", &port);
    }
  }
  ExpectEverythingOnce(sidecar.get());
}

// Shippers, the consumer, a server and the broker in turn.
TEST_F(SeveralServersTest, OneConsumerJoinsEverythingOnceThroughAStream) {
  SKIP_WITHOUT_STREAMS();
  std::filesystem::create_directory(Path("nats"));
  NatsServer broker(Path("nats"), FreePort());
  broker.Start();
  std::array<std::unique_ptr<ChildProcess>, kServers> shippers;
  const auto start_shipper = [&](size_t i) {
    int port = 0;
    shippers[i] =
        Start({"sortition-sidecar", "--publish.url=" + broker.url(),
               absl::StrCat("--spool=", Path("spools"), "/", Writer(i))},
              "shipper-" + Writer(i), "metrics", &port);
  };
  for (size_t i = 0; i < kServers; ++i) start_shipper(i);
  const std::vector<std::string> stream = {"--consume.url=" + broker.url(),
                                           "--mirror=" + Path("mirror")};
  int port = 0;
  auto consumer = StartSidecar("mirror/*", "tuples", &port, stream);
  StartLoad(Routing::kRandom, /*has_ids=*/true);
  RandomSequence random(SeedKey(9));
  const int num_kills = IsLongRun() ? 80 : 8;
  for (int kill = 0; kill < num_kills; ++kill) {
    ASSERT_TRUE(WaitForAnswers(100 + random.Below(400)));
    const size_t victim = random.Below(kServers);
    switch (kill % 4) {
      case 0:
        shippers[victim]->Kill();
        start_shipper(victim);
        break;
      case 1:
        consumer->Kill();
        consumer = StartSidecar("mirror/*", "tuples", &port, stream);
        break;
      case 2:
        servers_[victim]->Kill();
        StartServer(victim);
        break;
      case 3:
        broker.Kill();
        broker.Start();
        break;
    }
  }
  ExpectEverythingOnce(consumer.get());
}

class LocalSpoolsTest : public SeveralServersTest,
                        public testing::WithParamInterface<bool> {};

TEST_P(LocalSpoolsTest, SidecarsOfTheirOwnMarkTheLogAndTrainingIsRefused) {
  std::array<std::unique_ptr<ChildProcess>, kServers> sidecars;
  int port = 0;
  for (size_t i = 0; i < kServers; ++i) {
    sidecars[i] =
        StartSidecar("spools/" + Writer(i), absl::StrCat("tuples-", i), &port);
  }
  StartLoad(Routing::kRandom, /*has_ids=*/GetParam());
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Read("tuples-0").marks > 0 && Read("tuples-1").marks > 0 &&
           Read("tuples-2").marks > 0;
  }));
  StopLoad();
  const std::vector<std::string> train = {
      BinaryPath("sortition-trainer"), "train", "--dry_run",
      "--tuples=" + Path("tuples-0"), "--model_store=" + Path("models")};
  ASSERT_OK_AND_ASSIGN(const auto refused,
                       ChildProcess::Start(train, Path("train")));
  EXPECT_EQ(refused->Wait(kPatienceSeconds), 1);
  EXPECT_THAT(refused->StderrText(), HasSubstr("is incomplete: "));
  EXPECT_THAT(refused->StderrText(), HasSubstr("--allow_incomplete"));
}

INSTANTIATE_TEST_SUITE_P(Ids, LocalSpoolsTest, testing::Bool(),
                         [](const auto& parameter) -> std::string {
                           return parameter.param ? "OfClients" : "OfServers";
                         });

TEST_F(SeveralServersTest, WithAffinityLocalSpoolsAreComplete) {
  std::array<std::unique_ptr<ChildProcess>, kServers> sidecars;
  std::array<int, kServers> ports = {};
  for (size_t i = 0; i < kServers; ++i) {
    sidecars[i] = StartSidecar("spools/" + Writer(i),
                               absl::StrCat("tuples-", i), &ports[i]);
  }
  StartLoad(Routing::kByDecision, /*has_ids=*/false);
  ASSERT_TRUE(WaitForAnswers(500));
  StopLoad();
  const double end_seconds = 1e-6 * static_cast<double>(NowUs());
  std::map<std::string, int> decisions;
  for (size_t i = 0; i < kServers; ++i) {
    // By then each window of feedback has been judged.
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto metrics = FetchMetrics(ports[i]);
      return metrics.ok() &&
             MetricSum(*metrics, "sortition_join_watermark_seconds") >
                 end_seconds + 3 * kWindowSeconds + 3 * Patience(1);
    }));
    sidecars[i]->Signal(SIGTERM);
    EXPECT_EQ(sidecars[i]->Wait(kPatienceSeconds), 0);
    const Output output = Read(absl::StrCat("tuples-", i));
    EXPECT_EQ(output.marks, 0);
    for (const auto& [id, count] : output.decisions) decisions[id] += count;
  }
  EXPECT_TRUE(HasAll(decisions, answered_));
  EXPECT_THAT(Repeated(decisions), testing::IsEmpty());
}

}  // namespace
}  // namespace sortition
