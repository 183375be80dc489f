#pragma once
// A server that says what it was asked.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "process/http/http_server.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

class HttpServerFixture : public testing::Test {
 protected:
  static constexpr uint32_t kMaxBody = 1 << 20;

  HttpServerFixture() {
    Open({.threads = 4, .max_waiting = 16, .max_body_bytes = kMaxBody});
  }

  void Open(const HttpLimits& limits, HttpHooks hooks = {},
            const std::string& address = "127.0.0.1:0") {
    auto server = HttpServer::Open(
        "http.listen", address, limits,
        {{"GET /page",
          [](const HttpRequest&) {
            return HttpAnswer{.content_type = "text/plain", .body = "the page"};
          }},
         {"POST /echo",
          [this](const HttpRequest& request) { return Echo(request); }},
         {"GET /metrics",
          [](const HttpRequest&) { return HttpAnswer{.body = "figures"}; }},
         {"GET /status.json",
          [](const HttpRequest&) { return HttpAnswer{.body = "{}"}; }}},
        std::move(hooks));
    EXPECT_OK(server.status());
    server_ = *std::move(server);
  }
  void Close() { server_.reset(); }

  int port() const { return server_->port(); }
  int num_calls() const { return num_calls_; }
  std::string last_peer() {
    const std::lock_guard lock(mutex_);
    return last_peer_;
  }

 private:
  HttpAnswer Echo(const HttpRequest& request) {
    ++num_calls_;
    const std::lock_guard lock(mutex_);
    last_peer_ = request.peer;
    return {.content_type = "text/plain",
            .body = absl::StrCat(request.method, " ", request.path, " ",
                                 request.query, " ", request.header("x-extra"),
                                 " [", request.body, "]"),
            .headers = {{"X-Answer", "yes"}}};
  }

  std::atomic<int> num_calls_{0};
  std::mutex mutex_;
  std::string last_peer_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace sortition
