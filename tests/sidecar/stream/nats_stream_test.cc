// The stream of a real nats-server.
#include "sidecar/stream/nats_stream.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/stream/stream_fixture.h"
#include "tests/testing/nats_server.h"

namespace sortition::testing_stream {
namespace {

using testing::HasSubstr;

constexpr char kOpenssl[] = "/usr/bin/openssl";

class NatsStreamTest : public StreamTest {
 protected:
  void SetUp() override {
    if (!HasNats())
      GTEST_SKIP() << "skipped: built without NATS; cmake -DSORTITION_NATS=ON";
    SKIP_WITHOUT_NATS_SERVER();
  }

  NatsStreamOptions Options() const {
    NatsStreamOptions options;
    options.url = server_.url();
    options.stream = "s";
    options.durable = "d";
    options.make_stream = true;
    options.max_bytes = 64 << 20;
    options.duplicate_window_seconds = 60;
    options.nats.set_timeout_seconds(2);
    return options;
  }
  std::unique_ptr<MessageStream> NewStream() {
    auto stream = OpenNatsStream(Options());
    EXPECT_OK(stream);
    return *std::move(stream);
  }
  // Fetches until `count` messages came.
  std::vector<ReceivedMessage> FetchAll(MessageStream* stream, size_t count) {
    std::vector<ReceivedMessage> all;
    PollUntil(Patience(20), [&] {
      auto messages = stream->Fetch(10, 0.1);
      EXPECT_OK(messages);
      all.insert(all.end(), messages->begin(), messages->end());
      stream->Acknowledge();
      return all.size() >= count;
    });
    return all;
  }

  NatsServer server_{directory_.Sub("nats"), FreePort()};
};

TEST_F(NatsStreamTest, KeepsMessagesInOrderAndDropsRepeatedIds) {
  server_.Start();
  const auto stream = NewStream();
  ASSERT_OK_AND_ASSIGN(const StreamState empty, stream->State());
  EXPECT_EQ(empty.last_sequence, 0u);
  EXPECT_EQ(empty.max_bytes, 64u << 20);
  for (uint64_t i = 1; i <= 25; ++i) {
    ASSERT_OK_AND_ASSIGN(const Published published,
                         stream->Publish("s.w", i - 1, absl::StrCat("id", i),
                                         absl::StrCat("m", i)));
    EXPECT_EQ(published.sequence, i);
    EXPECT_FALSE(published.is_duplicate);
  }
  ASSERT_OK_AND_ASSIGN(const Published again,
                       stream->Publish("s.w", 25, "id7", "m7"));
  EXPECT_TRUE(again.is_duplicate);
  EXPECT_EQ(again.sequence, 7u);
  ASSERT_OK(stream->StartAt(4));
  const auto messages = FetchAll(stream.get(), 22);
  ASSERT_EQ(messages.size(), 22u);
  for (uint64_t i = 0; i < 22; ++i) {
    EXPECT_EQ(messages[i].sequence, i + 4);
    EXPECT_EQ(messages[i].id, absl::StrCat("id", i + 4));
    EXPECT_EQ(messages[i].data, absl::StrCat("m", i + 4));
  }
  EXPECT_EQ(stream->num_pending(), 0u);
  ASSERT_OK(stream->RemoveBefore(20));
  ASSERT_OK_AND_ASSIGN(const StreamState state, stream->State());
  EXPECT_EQ(state.first_sequence, 20u);
  EXPECT_EQ(state.last_sequence, 25u);
  // A new process goes on where it wants to.
  const auto other = NewStream();
  ASSERT_OK(other->StartAt(1));
  EXPECT_EQ(FetchAll(other.get(), 6).front().sequence, 20u);
}

TEST_F(NatsStreamTest, TakesAMessageOnlyBehindTheOneThatIsNamed) {
  server_.Start();
  const auto stream = NewStream();
  ASSERT_OK(stream->State());
  ASSERT_OK_AND_ASSIGN(const uint64_t most, stream->MaxMessageBytes());
  EXPECT_EQ(*stream->NewestOf("s.w"), 0u);
  EXPECT_EQ(*stream->IdOf(1), std::nullopt);
  EXPECT_THAT(stream->Publish("s.w", 7, "one", "1"),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(stream->Publish("s.w", 0, "one", "1"));
  ASSERT_OK(stream->Publish("s.v", 0, "two", std::string(most - 4096, 'x')));
  EXPECT_THAT(stream->Publish("s.w", 0, "three", "3"),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(stream->Publish("s.w", 2, "three", "3"),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(stream->Publish("s.w", 1, "three", "3"));
  EXPECT_EQ(*stream->NewestOf("s.w"), 3u);
  EXPECT_EQ(*stream->NewestOf("s.v"), 2u);
  EXPECT_EQ(*stream->IdOf(1), "one");
  EXPECT_EQ(*stream->IdOf(2), "two");
  // What was removed is not expected any more.
  ASSERT_OK(stream->RemoveBefore(3));
  EXPECT_EQ(*stream->IdOf(2), std::nullopt);
  EXPECT_EQ(*stream->NewestOf("s.v"), 0u);
  EXPECT_THAT(stream->Publish("s.v", 2, "four", "4"),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_OK(stream->Publish("s.v", 0, "four", "4"));
}

// It may have lost messages: the reader must find out before it goes on.
TEST_F(NatsStreamTest, AReaderHearsOfEveryNewConnection) {
  server_.Start();
  const auto stream = NewStream();
  ASSERT_OK(stream->State());
  ASSERT_OK(stream->StartAt(1));
  EXPECT_OK(stream->Fetch(1, 0.01));
  server_.Kill();
  server_.Start();
  ASSERT_TRUE(PollUntil(Patience(20), [&] { return stream->State().ok(); }));
  EXPECT_THAT(stream->Fetch(1, 0.01), StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_OK(stream->StartAt(1));
  EXPECT_OK(stream->Fetch(1, 0.01));
}

TEST_F(NatsStreamTest, ABrokerThatLostItsDiskGetsTheStreamAgain) {
  server_.Start();
  const auto stream = NewStream();
  ASSERT_OK(stream->State());
  ASSERT_OK(stream->Publish("s.w", 0, "one", "1"));
  server_.Kill();
  std::filesystem::remove_all(directory_ / "nats/store");
  server_.Start();
  ASSERT_TRUE(PollUntil(Patience(20), [&] { return stream->State().ok(); }));
  EXPECT_EQ(stream->State()->last_sequence, 0u);
  EXPECT_OK(stream->Publish("s.w", 0, "one", "1"));
}

TEST_F(NatsStreamTest, RefusesWhatIsTooMuch) {
  server_.Start();
  NatsStreamOptions options = Options();
  options.max_bytes = 1 << 20;
  ASSERT_OK_AND_ASSIGN(const auto stream, OpenNatsStream(options));
  ASSERT_OK(stream->State());
  ASSERT_OK_AND_ASSIGN(const uint64_t most, stream->MaxMessageBytes());
  EXPECT_EQ(most, 1u << 20);
  const std::string half(500000, 'x');
  ASSERT_OK(stream->Publish("s.w", 0, "1", half));
  ASSERT_OK(stream->Publish("s.w", 1, "2", half));
  EXPECT_THAT(stream->Publish("s.w", 2, "3", half),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("maximum bytes exceeded")));
  ASSERT_OK(stream->RemoveBefore(2));
  EXPECT_OK(stream->Publish("s.w", 2, "3", half));
}

TEST_F(NatsStreamTest, BrokerMayStopAndStart) {
  server_.Start();
  TestSpool spool(SpoolDir(), "server", 1);
  const auto stream = NewStream();
  const auto reader = NewStream();
  Shipper shipper(
      {SpoolDir(), "s", false, 0, 0}, stream.get(), &metrics_,
      [this] { return now_us_; }, [this] { return now_us_; });
  ASSERT_OK_AND_ASSIGN(
      const auto mirror,
      StreamMirror::Open({MirrorDir(), "s", -1, 3600}, reader.get(), &metrics_,
                         [this] { return now_us_; }));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      spool.Append();
      if (i % 30 == 0) spool.Rotate();
      if (i == 60) {
        server_.Kill();
        EXPECT_THAT(shipper.Poll(), StatusIs(absl::StatusCode::kUnavailable));
      }
      if (i < 60 && i % 10 == 0) {
        ASSERT_OK(shipper.Poll());
        ASSERT_OK(mirror->Poll(0.01));
      }
    }
    server_.Start();
    EXPECT_TRUE(PollUntil(Patience(30), [&] {
      now_us_ += 20000;
      shipper.Poll().IgnoreError();
      mirror->Poll(0.05).IgnoreError();
      return shipper.is_drained() &&
             SegmentsOf(CopyDir()) == SegmentsOf(SpoolDir());
    })) << round;
  }
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

TEST_F(NatsStreamTest, ShowsUserAndPassword) {
  NatsServer server(directory_.Sub("secret"), FreePort(),
                    "authorization { user: u, password: p }\n");
  server.Start();
  NatsStreamOptions options = Options();
  options.url = server.url();
  ASSERT_OK_AND_ASSIGN(const auto stranger, OpenNatsStream(options));
  EXPECT_THAT(stranger->State(), StatusIs(absl::StatusCode::kUnavailable,
                                          testing::ContainsRegex("[Aa]uth")));
  ASSERT_OK(WriteFile(directory_ / "password", "p\n"));
  options.nats.set_user("u");
  EXPECT_THAT(OpenNatsStream(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nats.password_file")));
  options.nats.set_password_file(directory_ / "password");
  ASSERT_OK_AND_ASSIGN(const auto friendly, OpenNatsStream(options));
  EXPECT_OK(friendly->State());
}

// Makes a certificate for 127.0.0.1, which is its own authority.
void MakeCertificate(const std::string& prefix) {
  ASSERT_OK_AND_ASSIGN(
      const FinishedProcess finished,
      RunToEnd({kOpenssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                prefix + ".key", "-out", prefix + ".pem", "-days", "2", "-subj",
                "/CN=localhost", "-addext",
                "subjectAltName=IP:127.0.0.1,DNS:localhost"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.stderr_text;
}

TEST_F(NatsStreamTest, ShowsACertificateAndAsksForOne) {
  if (access(kOpenssl, X_OK) != 0) {
    GTEST_SKIP() << "skipped: no " << kOpenssl << "; ./dev setup test";
  }
  const std::string server_prefix = directory_ / "server";
  const std::string client_prefix = directory_ / "client";
  const std::string other_prefix = directory_ / "other";
  for (const std::string& prefix :
       {server_prefix, client_prefix, other_prefix}) {
    ASSERT_NO_FATAL_FAILURE(MakeCertificate(prefix));
  }
  NatsServer server(
      directory_.Sub("tls"), FreePort(),
      absl::StrCat("tls { cert_file: \"", server_prefix, ".pem\", key_file: \"",
                   server_prefix, ".key\", ca_file: \"", client_prefix,
                   ".pem\", verify: true }\n"));
  server.Start();
  NatsStreamOptions options = Options();
  options.url = server.url();
  options.nats.set_ca_file(server_prefix + ".pem");
  options.nats.set_cert_file(client_prefix + ".pem");
  EXPECT_THAT(
      OpenNatsStream(options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nats.key_file")));
  options.nats.set_key_file(client_prefix + ".key");
  ASSERT_OK_AND_ASSIGN(const auto stream, OpenNatsStream(options));
  EXPECT_OK(stream->State());
  // Who trusts another authority, and whom the server does not know.
  NatsStreamOptions distrustful = options;
  distrustful.nats.set_ca_file(other_prefix + ".pem");
  ASSERT_OK_AND_ASSIGN(const auto refusing, OpenNatsStream(distrustful));
  EXPECT_THAT(refusing->State(), StatusIs(absl::StatusCode::kUnavailable));
  NatsStreamOptions stranger = options;
  stranger.nats.set_cert_file(other_prefix + ".pem");
  stranger.nats.set_key_file(other_prefix + ".key");
  ASSERT_OK_AND_ASSIGN(const auto refused, OpenNatsStream(stranger));
  EXPECT_THAT(refused->State(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(NatsStreamTest, NamesAreChecked) {
  NatsStreamOptions options = Options();
  options.stream = "a.b";
  EXPECT_THAT(OpenNatsStream(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stream = 'a.b'")));
  options.stream = "s";
  options.durable = "a b";
  EXPECT_THAT(OpenNatsStream(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("consume.durable = 'a b'")));
}

}  // namespace
}  // namespace sortition::testing_stream
