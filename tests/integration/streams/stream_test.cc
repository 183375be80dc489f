// Servers whose sidecars publish to NATS JetStream, and one that joins what
// comes out: whatever is killed, every answered decision has one tuple with its
// feedback.
#include <filesystem>
#include <string>
#include <system_error>

#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/stream.pb.h"
#include "tests/integration/streams/stream_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Of three brokers the one that leads the stream at that time.
TEST_F(StreamTest, LedgerIsEqualWhateverIsKilled) {
  const size_t num_servers = 2;
  const size_t num_rounds = IsLongRun() ? 10 : 1;
  Start(3, num_servers);
  for (size_t i = 0; i < num_servers; ++i) StartShipper(i);
  StartConsumer();
  for (size_t round = 0; round < num_rounds; ++round) {
    SCOPED_TRACE(round);
    const size_t victim = round % num_servers;
    WaitForProgress();
    shippers_[victim]->Kill();
    WaitForMoreAnswers(50);
    StartShipper(victim);

    WaitForProgress();
    WaitForMoreTuples();
    consumer_->Kill();
    WaitForMoreAnswers(50);
    StartConsumer();

    WaitForProgress();
    const size_t leader = Leader();
    brokers_->server(leader).Kill();
    WaitForMoreAnswers(50);
    // Every other time the stream goes on without it.
    if (round % 2 == 1) {
      EXPECT_TRUE(
          PollUntil(kPatienceSeconds, [&] { return Leader() != leader; }));
      WaitForProgress();
    }
    brokers_->server(leader).Start();
  }
  ExpectLedgerEqual();
  for (const auto& shipper : shippers_) End(shipper.get());
  End(consumer_.get());
}

TEST_F(StreamTest, BrokerThatIsAwayCensorsNothing) {
  // A broker that is away must not look like a server that is.
  max_away_ = Patience(5);
  Start(1, 1);
  publish_flags_ = {"--publish.keep_seconds=1"};
  StartShipper(0);
  StartConsumer();
  WaitForMoreTuples();
  brokers_->server(0).Kill();
  // Longer than max_away_seconds and the window together.
  const int64_t back_us =
      SteadyUs() + Micros(max_away_ + window_ + kSlack + 0.5);
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return SteadyUs() >= back_us; }));
  EXPECT_GT(ListSegments(Spool(0))->size(), 8u);
  brokers_->server(0).Start();
  ExpectLedgerEqual();
  EXPECT_EQ(NumCensored(), 0u);
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return ListSegments(Spool(0))->size() < 5; }));
}

// The runbook of docs/streams.md, under load.
TEST_F(StreamTest, FromDirectoryToStreamAndBack) {
  Start(1, 1);
  StartDirectorySidecar();
  WaitForMoreTuples();
  End(directory_sidecar_.get());

  StartShipper(0);
  StartConsumer();
  WaitForMoreTuples();

  End(shippers_[0].get());
  log::v1::ShipPosition position;
  ASSERT_TRUE(
      position.ParseFromString(ReadFile(Spool(0) + "/.published").value()));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    std::error_code error;
    return std::filesystem::file_size(Copy(0) + "/" + position.segment(),
                                      error) >= position.bytes() &&
           !error;
  }));
  End(consumer_.get());
  std::filesystem::remove(Spool(0) + "/.published");
  ASSERT_OK_AND_ASSIGN(const auto copies, ListSegments(Copy(0)));
  for (const std::string& name : copies) {
    std::filesystem::copy(Copy(0) + "/" + name, Spool(0) + "/" + name,
                          std::filesystem::copy_options::skip_existing);
  }
  StartDirectorySidecar();
  WaitForMoreTuples();
  ExpectLedgerEqual();
  EXPECT_EQ(NumCensored(), 0u);
  End(directory_sidecar_.get());
}

}  // namespace
}  // namespace sortition
