#include "tests/testing/nats_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rapidjson/document.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "tests/testing/http_page.h"

namespace sortition {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool TakesConnections(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(port);
  const int result =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  close(fd);
  return result == 0;
}

constexpr char kNamePrefix[] = "n";

// Returns the name of the stream's leader in a page /jsz; empty if it has none.
std::string LeaderIn(const std::string& page, const std::string& stream) {
  rapidjson::Document json;
  json.Parse(page.c_str());
  if (!json.IsObject() || !json.HasMember("account_details")) return "";
  for (const auto& account : json["account_details"].GetArray()) {
    if (!account.HasMember("stream_detail")) continue;
    for (const auto& detail : account["stream_detail"].GetArray()) {
      if (detail["name"].GetString() != stream || !detail.HasMember("cluster"))
        continue;
      const auto& cluster = detail["cluster"];
      return cluster.HasMember("leader") ? cluster["leader"].GetString() : "";
    }
  }
  return "";
}

}  // namespace

// The socket stays bound, which keeps the port from others; it does not listen,
// so a program may bind the port, too.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0);
  CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  return ntohs(address.sin_port);
}

NatsServer::NatsServer(std::string dir, int port, const std::string& more)
    : dir_(std::move(dir)), port_(port), monitoring_port_(FreePort()) {
  std::ofstream out(dir_ + "/nats.conf");
  out << "listen: 127.0.0.1:" << port_
      << "\nhttp: 127.0.0.1:" << monitoring_port_
      << "\njetstream { store_dir: \"" << dir_ << "/store\" }\n"
      << more;
  CHECK(out.flush().good());
}

void NatsServer::Start() {
  auto process = ChildProcess::Start({kNatsServer, "-c", dir_ + "/nats.conf"},
                                     dir_ + "/nats");
  CHECK(process.ok());
  process_ = *std::move(process);
  PollUntil(Patience(20), [this] {
    return process_->Wait(0).has_value() || TakesConnections(port_);
  });
  const bool is_up = !process_->Wait(0).has_value() && TakesConnections(port_);
  if (!is_up) std::fputs(process_->StderrText().c_str(), stderr);
  CHECK(is_up);
}

std::string NatsServer::url() const {
  return absl::StrCat("nats://127.0.0.1:", port_);
}

absl::StatusOr<std::string> NatsServer::Page(const std::string& path) const {
  return FetchPage(monitoring_port_, path);
}

NatsCluster::NatsCluster(const std::string& dir, size_t size,
                         const std::string& more) {
  std::vector<std::string> routes;
  for (size_t i = 0; i < size; ++i) {
    routes.push_back(absl::StrCat("127.0.0.1:", FreePort()));
  }
  const std::string all = absl::StrJoin(
      routes, ", ", [](std::string* out, const std::string& route) {
        absl::StrAppend(out, "\"nats://", route, "\"");
      });
  for (size_t i = 0; i < size; ++i) {
    const std::string home = absl::StrCat(dir, "/", kNamePrefix, i);
    std::filesystem::create_directories(home);
    std::string config =
        absl::StrCat("server_name: ", kNamePrefix, i, "\n", more);
    if (size > 1) {
      absl::StrAppend(&config, "cluster { name: c, listen: \"", routes[i],
                      "\", routes: [", all, "] }\n");
    }
    servers_.push_back(std::make_unique<NatsServer>(home, FreePort(), config));
  }
}

void NatsCluster::Start() {
  for (const auto& server : servers_) server->Start();
}

std::string NatsCluster::urls() const {
  return absl::StrJoin(
      servers_, ",",
      [](std::string* out, const std::unique_ptr<NatsServer>& server) {
        out->append(server->url());
      });
}

std::optional<size_t> NatsCluster::LeaderOf(const std::string& stream) const {
  for (const auto& server : servers_) {
    const auto page = server->Page("/jsz?accounts=true&streams=true");
    const std::string name = page.ok() ? LeaderIn(*page, stream) : "";
    size_t index = 0;
    if (absl::StartsWith(name, kNamePrefix) &&
        absl::SimpleAtoi(name.substr(sizeof(kNamePrefix) - 1), &index)) {
      return index;
    }
  }
  return std::nullopt;
}

std::string WhyNoStreams(const std::string& sidecar) {
  if (access(kNatsServer, X_OK) != 0) {
    return absl::StrCat("no ", kNatsServer, "; ./dev setup test");
  }
  const auto version = RunToEnd({sidecar, "--version"});
  if (!version.ok()) return std::string(version.status().message());
  return absl::StrContains(version->stdout_text, "NATS")
             ? ""
             : sidecar + " was built without NATS; cmake -DSORTITION_NATS=ON";
}

}  // namespace sortition
