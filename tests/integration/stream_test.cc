// A server, a sidecar that publishes its spool to NATS JetStream, and one that
// joins what comes out: whatever is killed, every answered decision has one
// tuple with its feedback.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/stream.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/nats_server.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class StreamTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_NATS_SERVER();
    ASSERT_OK_AND_ASSIGN(
        const FinishedProcess version,
        RunToEnd({BinaryPath("sortition-sidecar"), "--version"}));
    if (!absl::StrContains(version.stdout_text, "NATS")) {
      GTEST_SKIP() << "built without SORTITION_NATS";
    }
  }

  // Starts brokers, a cluster if there are several, and the server.
  void Start(int num_brokers) {
    std::vector<int> ports;
    std::vector<std::string> routes;
    for (int i = 0; i < num_brokers; ++i) {
      ports.push_back(FreePort());
      routes.push_back(absl::StrCat("nats://127.0.0.1:", FreePort()));
    }
    for (int i = 0; i < num_brokers; ++i) {
      const std::string dir = deployment_.path(absl::StrCat("nats", i));
      std::filesystem::create_directories(dir);
      std::string cluster;
      if (num_brokers > 1) {
        cluster =
            absl::StrCat("server_name: n", i, "\ncluster { name: c, listen: \"",
                         routes[i].substr(7), "\", routes: [\"",
                         absl::StrJoin(routes, "\", \""), "\"] }\n");
      }
      brokers_.push_back(std::make_unique<NatsServer>(dir, ports[i], cluster));
      urls_.push_back(brokers_.back()->url());
      brokers_.back()->Start();
    }
    replicas_ = num_brokers;
    ASSERT_OK(deployment_.StartServer(
        {"--spool.segment_bytes=262144", "--spool.segment_seconds=0.3"}));
    load_ = std::make_unique<SelectLoad>(
        SelectLoad::Options{.address = deployment_.address(),
                            .threads = 1,
                            .id_prefix = "load",
                            .has_feedback = true});
  }
  void StartShipper() {
    shipper_ = StartProcess(
        "shipper", {absl::StrCat("--spool=", deployment_.spool()),
                    absl::StrCat("--publish.url=", absl::StrJoin(urls_, ",")),
                    absl::StrCat("--publish.replicas=", replicas_),
                    "--publish.max_bytes=1000000000"});
  }
  std::vector<std::string> JoinFlags() const {
    return {absl::StrCat("--tuples=", deployment_.tuples()),
            "--join.reward_wait_time_seconds=2",
            absl::StrCat("--join.slack_seconds=", Patience(1)),
            // The shortest: a broker that is away must not look like a server
            // that is.
            "--join.max_away_seconds=2", "--segment_bytes=262144",
            "--segment_seconds=0.3"};
  }
  void StartConsumer() {
    std::vector<std::string> flags = JoinFlags();
    flags.push_back(absl::StrCat("--consume.url=", absl::StrJoin(urls_, ",")));
    flags.push_back(absl::StrCat("--mirror=", deployment_.path("mirror")));
    flags.push_back(absl::StrCat("--spool=", Copy()));
    consumer_ = StartProcess("consumer", flags);
  }
  void StartDirectorySidecar() {
    std::vector<std::string> flags = JoinFlags();
    flags.push_back(absl::StrCat("--spool=", deployment_.spool()));
    directory_sidecar_ = StartProcess("directory", flags);
  }
  static void End(ChildProcess* process) {
    process->Signal(SIGTERM);
    EXPECT_EQ(process->Wait(kPatienceSeconds), 0) << process->StderrText();
  }
  std::string Copy() const { return deployment_.path("mirror") + "/server"; }

  void WaitForMoreAnswers(uint64_t more) {
    const uint64_t target = load_->num_answered() + more;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load_->num_answered() >= target; }));
  }
  // Waits until tuples have come out, so that windows are open and closed.
  void WaitForMoreTuples() {
    const auto num_segments = [&] {
      const auto names = ListSegments(deployment_.tuples());
      return names.ok() ? names->size() : 0;
    };
    const size_t target = num_segments() + 3;
    EXPECT_TRUE(
        PollUntil(kPatienceSeconds, [&] { return num_segments() >= target; }));
  }
  // Waits until messages have come all the way.
  void WaitForProgress() {
    const uint64_t published = Published();
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return Published() > published + 2; }));
    const uint64_t target = Published();
    EXPECT_TRUE(
        PollUntil(kPatienceSeconds, [&] { return Mirrored() >= target; }));
  }
  // Waits until the tuples have all that was answered, and compares them with
  // what the clients know.
  void ExpectLedgerEqual() {
    load_->Stop();
    EXPECT_TRUE(load_->failures().empty());
    const std::set<std::string> answered(load_->answered().begin(),
                                         load_->answered().end());
    EXPECT_TRUE(PollUntil(2 * kPatienceSeconds, [&] {
      return ReadTuples().size() >= answered.size();
    }));
    const auto tuples = ReadTuples();
    std::set<std::string> reported;
    for (const auto& [id, tuple] : tuples) {
      EXPECT_EQ(tuple.censored_size(), 0) << tuple.ShortDebugString();
      for (const auto& feedback : tuple.feedback()) {
        EXPECT_TRUE(reported.insert(feedback.feedback_id()).second);
      }
    }
    std::set<std::string> ids;
    for (const auto& [id, tuple] : tuples) {
      EXPECT_TRUE(ids.insert(id).second) << "twice: " << id;
    }
    EXPECT_EQ(ids, answered);
    EXPECT_EQ(reported, std::set<std::string>(load_->reported().begin(),
                                              load_->reported().end()));
    EXPECT_GT(reported.size(), 0u);
  }

  Deployment deployment_;
  std::vector<std::unique_ptr<NatsServer>> brokers_;
  std::vector<std::string> urls_;
  int replicas_ = 1;
  std::unique_ptr<SelectLoad> load_;
  std::unique_ptr<ChildProcess> shipper_;
  std::unique_ptr<ChildProcess> consumer_;
  std::unique_ptr<ChildProcess> directory_sidecar_;

 private:
  // Sequences of the last message that is in the stream, and in the mirror.
  uint64_t Published() const {
    log::v1::ShipPosition position;
    return ReadPosition(deployment_.spool() + "/.published", &position)
               ? position.sequence()
               : 0;
  }
  uint64_t Mirrored() const {
    log::v1::MirrorPosition position;
    return ReadPosition(deployment_.path("mirror") + "/.position", &position)
               ? position.sequence()
               : 0;
  }
  static bool ReadPosition(const std::string& path,
                           google::protobuf::Message* position) {
    const absl::StatusOr<std::string> bytes = ReadFile(path);
    return bytes.ok() && position->ParseFromString(*bytes);
  }

  std::unique_ptr<ChildProcess> StartProcess(
      const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("sortition-sidecar"));
    arguments.push_back("--metrics_listen=");
    arguments.push_back("--poll_seconds=0.02");
    auto process = ChildProcess::Start(arguments, deployment_.path(name));
    EXPECT_OK(process);
    return *std::move(process);
  }
  // By decision id; in the order of the directory.
  std::vector<std::pair<std::string, log::v1::BanditTuple>> ReadTuples() const {
    std::vector<std::pair<std::string, log::v1::BanditTuple>> tuples;
    VisitRecords(deployment_.tuples(), false,
                 [&](const log::v1::LogRecord& record) {
                   if (!record.has_tuple()) return;
                   tuples.emplace_back(record.tuple().decision().decision_id(),
                                       record.tuple());
                 })
        .IgnoreError();
    return tuples;
  }
};

// Leaders are killed among the others: each broker in turn.
TEST_F(StreamTest, LedgerIsEqualWhateverIsKilled) {
  const int num_brokers = IsLongRun() ? 3 : 1;
  const int num_rounds = IsLongRun() ? 30 : 3;
  Start(num_brokers);
  StartShipper();
  StartConsumer();
  for (int round = 0; round < num_rounds; ++round) {
    WaitForProgress();
    switch (round % 3) {
      case 0:
        shipper_->Kill();
        WaitForMoreAnswers(50);
        StartShipper();
        break;
      case 1:
        WaitForMoreTuples();
        consumer_->Kill();
        WaitForMoreAnswers(50);
        StartConsumer();
        break;
      case 2: {
        NatsServer& broker = *brokers_[round / 3 % num_brokers];
        broker.Kill();
        WaitForMoreAnswers(50);
        broker.Start();
        break;
      }
    }
  }
  ExpectLedgerEqual();
  End(shipper_.get());
  End(consumer_.get());
}

// Longer than max_away_seconds and the window together.
TEST_F(StreamTest, BrokerThatIsAwayCensorsNothing) {
  Start(1);
  StartShipper();
  StartConsumer();
  WaitForMoreTuples();
  brokers_[0]->Kill();
  const int64_t back_us = SteadyUs() + Micros(6);
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return SteadyUs() >= back_us; }));
  const uint64_t kept = ListSegments(deployment_.spool())->size();
  EXPECT_GT(kept, 10u);
  brokers_[0]->Start();
  WaitForMoreTuples();
  ExpectLedgerEqual();
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return ListSegments(deployment_.spool())->size() < 5;
  }));
}

// The runbook of docs/streams.md, under load.
TEST_F(StreamTest, FromDirectoryToStreamAndBack) {
  Start(1);
  StartDirectorySidecar();
  WaitForMoreTuples();
  End(directory_sidecar_.get());

  StartShipper();
  StartConsumer();
  WaitForMoreTuples();

  End(shipper_.get());
  log::v1::ShipPosition position;
  ASSERT_TRUE(position.ParseFromString(
      ReadFile(deployment_.spool() + "/.published").value()));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    std::error_code error;
    return std::filesystem::file_size(Copy() + "/" + position.segment(),
                                      error) >= position.bytes() &&
           !error;
  }));
  End(consumer_.get());
  std::filesystem::remove(deployment_.spool() + "/.published");
  ASSERT_OK_AND_ASSIGN(const auto copies, ListSegments(Copy()));
  for (const std::string& name : copies) {
    std::filesystem::copy(Copy() + "/" + name, deployment_.spool() + "/" + name,
                          std::filesystem::copy_options::skip_existing);
  }
  StartDirectorySidecar();
  WaitForMoreTuples();
  ExpectLedgerEqual();
  End(directory_sidecar_.get());
}

}  // namespace
}  // namespace sortition
