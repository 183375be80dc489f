#include "process/http/socket_addresses.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/http/same_site.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SocketAddressesTest, NamesBecomeAddressesOfThisMachine) {
  EXPECT_THAT(FindAddresses("127.0.0.1:80"), ElementsAre("127.0.0.1:80"));
  EXPECT_THAT(FindAddresses("0.0.0.0:80"), ElementsAre("0.0.0.0:80"));
  // Resolved like a name, but without a file of hosts.
  EXPECT_THAT(FindAddresses("127.1:8080"), ElementsAre("127.0.0.1:8080"));
  // The last one is nobody's (RFC 5737).
  for (const char* const wrong :
       {"", "nothing", "127.0.0.1:", ":80", "127.0.0.1:port", "192.0.2.1:80"}) {
    EXPECT_THAT(FindAddresses(wrong), IsEmpty()) << wrong;
  }
}

TEST(SocketAddressesTest, TakesIpv4Only) {
  EXPECT_THAT(FindAddresses("[::1]:80"), IsEmpty());
  for (const std::string& address : FindAddresses("localhost:80")) {
    EXPECT_THAT(address, testing::MatchesRegex("127\\.[0-9.]+:80"));
  }
}

TEST(SocketAddressesTest, KnowsNamesOfThisMachineAlone) {
  for (const char* const host :
       {"localhost", "LocalHost:8503", "page.localhost", "127.0.0.1:1",
        "127.1.2.3", "127.0.0.1:80", "[::1]:8503", "[::1]"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* const host :
       {"", "example.org", "localhost.example.org", "127.0.0.1.example.org",
        "127.example.org", "127.evil.example:80", "[::2]:80", "[::]:80",
        "[::12]:80", "0.0.0.0:80", "10.0.0.1", "notlocalhost"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(SocketAddressesTest, FindsOnlyTheSocketThatListensThere) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(place);
  auto* const name = reinterpret_cast<sockaddr*>(&place);
  ASSERT_EQ(::bind(fd, name, size), 0);
  ASSERT_EQ(::getsockname(fd, name, &size), 0);
  const int port = ntohs(place.sin_port);
  const std::string address = absl::StrCat("127.0.0.1:", port);
  EXPECT_THAT(FindListeningSockets({address}), IsEmpty());
  EXPECT_TRUE(IsFree("127.0.0.1:0"));
  ASSERT_EQ(::listen(fd, 1), 0);
  EXPECT_FALSE(IsFree(address));
  EXPECT_THAT(FindListeningSockets({"127.0.0.1:1", address}), ElementsAre(fd));
  EXPECT_THAT(FindListeningSockets({absl::StrCat("127.0.0.2:", port)}),
              IsEmpty());
  ::close(fd);
}

}  // namespace
}  // namespace sortition
