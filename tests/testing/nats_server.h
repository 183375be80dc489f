#pragma once
// A real nats-server on a port of its own.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

inline constexpr char kNatsServer[] = "/usr/sbin/nats-server";

// Returns a port that was free a moment ago: a server that is started again
// must have the same one.
inline int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(fd);
  return ntohs(address.sin_port);
}

class NatsServer {
 public:
  // `more` goes into its configuration.
  NatsServer(std::string dir, int port, const std::string& more = "")
      : dir_(std::move(dir)), port_(port) {
    EXPECT_OK(WriteFile(
        dir_ + "/nats.conf",
        absl::StrCat("listen: 127.0.0.1:", port_, "\njetstream { store_dir: \"",
                     dir_, "/store\" }\n", more)));
  }

  void Start() {
    auto process = ChildProcess::Start({kNatsServer, "-c", dir_ + "/nats.conf"},
                                       dir_ + "/nats");
    ASSERT_OK(process);
    process_ = *std::move(process);
    const bool is_up = PollUntil(Patience(20), [this] {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<uint16_t>(port_));
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const int result =
          connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
      close(fd);
      return result == 0;
    });
    ASSERT_TRUE(is_up) << process_->StderrText();
  }
  void Kill() { process_->Kill(); }

  std::string url() const { return absl::StrCat("nats://127.0.0.1:", port_); }

 private:
  const std::string dir_;
  const int port_;
  std::unique_ptr<ChildProcess> process_;
};

// Skips a test where the package nats-server is not installed.
#define SKIP_WITHOUT_NATS_SERVER()                 \
  if (access(::sortition::kNatsServer, X_OK) != 0) \
  GTEST_SKIP() << ::sortition::kNatsServer         \
               << " is missing: install the package nats-server"

}  // namespace sortition
