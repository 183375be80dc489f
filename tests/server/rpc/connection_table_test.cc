#include "server/rpc/connections/connection_table.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

// Connections of this process to itself: [i] of the one is [i] of the other.
class ConnectionTableTest : public testing::Test {
 protected:
  ConnectionTableTest() {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(place);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(::listen(listener_, 10), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
    for (int i = 0; i < 4; ++i) {
      clients_.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      EXPECT_EQ(
          ::connect(clients_.back(), reinterpret_cast<sockaddr*>(&place), size),
          0);
      sockets_.push_back(::accept(listener_, nullptr, nullptr));
      table_->Add(sockets_.back());
    }
  }
  ~ConnectionTableTest() override {
    for (const int socket : clients_) ::close(socket);
    for (const int socket : sockets_) ::close(socket);
    ::close(listener_);
  }
  // Whether the table has ended connection i: its client reads the end.
  bool IsEnded(size_t i) const {
    char byte = 0;
    return ::recv(clients_[i], &byte, 1, MSG_DONTWAIT) == 0;
  }
  bool EndOne() {
    return PollUntil(Patience(60), [&] { return table_->EndIdlest(); });
  }

  std::unique_ptr<ConnectionTable> table_ = std::make_unique<ConnectionTable>();
  const int listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::vector<int> clients_;
  std::vector<int> sockets_;
};

// Nothing is idle at first. Then connection 3 has a call, 2 has said something
// of late, and 1 was closed: its number is that of a file now.
TEST_F(ConnectionTableTest, EndsWhatIsIdle) {
  EXPECT_FALSE(table_->EndIdlest());
  const CallMark mark(table_.get(),
                      absl::StrCat("ipv4:127.0.0.1:", LocalPort(clients_[3])));
  ::close(sockets_[1]);
  const int file = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(file, sockets_[1]);
  ASSERT_TRUE(PollUntil(Patience(60), [&] {
    EXPECT_EQ(::send(clients_[2], "a", 1, 0), 1);
    return table_->EndIdlest();
  }));
  EXPECT_TRUE(IsEnded(0));
  EXPECT_FALSE(IsEnded(2));
  EXPECT_FALSE(IsEnded(3));
  // Now only connection 2 can be ended, once it is silent.
  ASSERT_TRUE(EndOne());
  EXPECT_TRUE(IsEnded(2));
  EXPECT_FALSE(IsEnded(3));
  EXPECT_FALSE(table_->EndIdlest());
}

TEST_F(ConnectionTableTest, KnowsPorts) {
  EXPECT_EQ(PeerPort(sockets_[0]), LocalPort(clients_[0]));
  EXPECT_EQ(PeerPort(clients_[0]), LocalPort(listener_));
  EXPECT_EQ(PeerPort(listener_), 0);
}

}  // namespace
}  // namespace sortition
