#include "tests/testing/nats_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// A server that was killed would not come up again.
TEST(FreePortTest, IsGivenToNobodyElse) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(FreePort()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  // As the kernel asks that looks for a port, and as a server does.
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_NE(bind(other, name, sizeof(address)), 0);
  const int yes = 1;
  setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  EXPECT_EQ(bind(other, name, sizeof(address)), 0);
  EXPECT_EQ(listen(other, 1), 0);
  close(other);
}

TEST(NatsServerTest, HasItsPortAgainAfterAKill) {
  SKIP_WITHOUT_NATS_SERVER();
  const TempDir directory;
  NatsCluster brokers(directory.path(), 1);
  for (int i = 0; i < 3; ++i) {
    brokers.Start();
    EXPECT_TRUE(brokers.server(0).Page("/varz").ok());
    brokers.server(0).Kill();
    EXPECT_FALSE(brokers.server(0).Page("/varz").ok());
  }
}

}  // namespace
}  // namespace sortition
