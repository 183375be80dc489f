// Clients that abuse HTTP/2 before gRPC knows who they are: their connections
// end, and others are served.
#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/certificates.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"
#include "tests/testing/raw_http2.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kSelect[] = "/sortition.v1.Ranking/Select";

// Returns calls, each cancelled at once.
std::string CancelledCalls(uint32_t count) {
  std::string bytes = Preface(65535);
  for (uint32_t i = 0; i < count; ++i) {
    bytes += BeginCall(2 * i + 1, kSelect) + Reset(2 * i + 1);
  }
  return bytes;
}

// Returns the beginning of a header block whose one literal never ends.
std::string UnfinishedHeaders(size_t bytes) {
  const std::string literal("\0\x7f\xff\xff\xff\x7f", 6);
  std::string frames =
      Preface(65535) + Frame(FrameType::kHeaders, 0, 1, literal);
  const std::string more =
      Frame(FrameType::kContinuation, 0, 1, std::string(16'000, 'a'));
  while (frames.size() < bytes) frames += more;
  return frames;
}

class Http2AbuseTest : public GrpcServerTest {
 protected:
  // As the programs do: the server closes connections that are written to.
  Http2AbuseTest() { ::signal(SIGPIPE, SIG_IGN); }

  double Metric(const std::string& name) {
    return MetricSum(server_->metrics().Text(), name);
  }
  double NumAbusive(const std::string& reason) {
    return Metric(absl::StrCat("sortition_connections_abusive_total{reason=\"",
                               reason, "\"}"));
  }
  void ExpectServes() {
    v1::RankResponse response;
    const grpc::Status status = Rank(GoodRank(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  // Expects that the connection of a client that sends `bytes` ends.
  void ExpectEnds(const std::string& bytes, const std::string& reason) {
    StartServer();
    ExpectServes();
    CaptureLog();
    const RawConnection client(server_->rpc_port());
    client.Send(bytes);
    EXPECT_TRUE(PollUntil(Patience(60), [&] { return client.IsClosed(); }));
    EXPECT_EQ(NumAbusive(reason), 1);
    EXPECT_THAT(CapturedLog(),
                AllOf(HasSubstr("connection ended: its client abuses HTTP/2"),
                      HasSubstr(absl::StrCat("\"reason\":\"", reason, "\"")),
                      HasSubstr("\"peer\":\"127.0.0.1:")));
    ExpectServes();
  }
};

TEST_F(Http2AbuseTest, CallsCancelledAtOnceEndTheConnection) {
  ExpectEnds(CancelledCalls(50'000), "resets");
  // The connection ended before most of them became calls.
  EXPECT_LT(Metric("grpc_server_started_total{grpc_method=\"Select\""), 1100);
}

TEST_F(Http2AbuseTest, HeadersWithoutAnEndEndTheConnection) {
  ExpectEnds(UnfinishedHeaders(1 << 20), "header_block");
}

TEST_F(Http2AbuseTest, FloodsOfSettingsEndTheConnection) {
  std::string bytes = Preface(65535);
  for (int i = 0; i < 20'000; ++i) {
    bytes += Frame(FrameType::kSettings, 0, 0, "");
  }
  ExpectEnds(bytes, "control_frames");
}

TEST_F(Http2AbuseTest, ReadsAreGuarded) {
  StartServer();
  EXPECT_EQ(Metric("sortition_connections_guarded"), 1);
}

// Descriptors are reused: what a connection did does not count for the next.
TEST_F(Http2AbuseTest, EachConnectionBeginsAnew) {
  StartServer();
  for (int i = 0; i < 10; ++i) {
    const RawConnection client(server_->rpc_port());
    EXPECT_TRUE(client.Send(CancelledCalls(100)));
    ExpectServes();
  }
  EXPECT_EQ(Metric("sortition_connections_abusive_total"), 0);
}

// A gateway whose calls often pass their deadlines.
TEST_F(Http2AbuseTest, HonestClientsMayCancel) {
  StartServer();
  for (int i = 0; i < 2000; ++i) {
    grpc::ClientContext context;
    v1::RankResponse response;
    if (i % 2 == 0) {
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::microseconds(300));
    }
    ranking_->Rank(&context, GoodRank(), &response).error_code();
  }
  EXPECT_EQ(Metric("sortition_connections_abusive_total"), 0);
  ExpectServes();
}

// A client of TLS that sends what a test wants.
class TlsConnection {
 public:
  explicit TlsConnection(int port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        context_(SSL_CTX_new(TLS_client_method())),
        connection_(SSL_new(context_)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&place),
                        sizeof(place)),
              0);
    constexpr unsigned char kProtocols[] = "\x02h2";
    SSL_set_alpn_protos(connection_, kProtocols, 3);
    SSL_set_fd(connection_, socket_);
    EXPECT_EQ(SSL_connect(connection_), 1);
  }
  ~TlsConnection() {
    SSL_free(connection_);
    SSL_CTX_free(context_);
    ::close(socket_);
  }
  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;

  // Sends all bytes in pieces; false if the server has ended the connection.
  bool Send(absl::string_view bytes) {
    while (!bytes.empty()) {
      const int sent =
          SSL_write(connection_, bytes.data(),
                    static_cast<int>(std::min<size_t>(bytes.size(), 16'000)));
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads until the server ends the connection.
  void ReadToTheEnd() {
    char bytes[4096];
    while (SSL_read(connection_, bytes, sizeof(bytes)) > 0) {
    }
  }

 private:
  const int socket_;
  SSL_CTX* const context_;
  SSL* const connection_;
};

TEST_F(Http2AbuseTest, ConnectionsWithTlsAreGuarded) {
  const CertificateAuthority authority(directory_ / "authority");
  authority.Sign(directory_ / "server", 1);
  options_.mutable_tls()->set_certificate_file(directory_ / "server.pem");
  options_.mutable_tls()->set_key_file(directory_ / "server.key");
  StartServer();
  for (const auto& [bytes, reason] :
       {std::pair(CancelledCalls(50'000), "resets"),
        std::pair(UnfinishedHeaders(1 << 20), "header_block")}) {
    TlsConnection client(server_->rpc_port());
    client.Send(bytes);
    client.ReadToTheEnd();
    EXPECT_EQ(NumAbusive(reason), 1) << reason;
  }
  TlsConnection honest(server_->rpc_port());
  EXPECT_TRUE(honest.Send(Preface(65535) +
                          Call(1, kSelect, GoodRank().SerializeAsString())));
  EXPECT_TRUE(PollUntil(
      Patience(60), [&] { return Metric("sortition_requests_total{") >= 1; }));
}

}  // namespace
}  // namespace sortition
