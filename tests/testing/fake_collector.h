#pragma once
// A collector in this process, which keeps what it gets.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "process/http/http_server.h"
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "sortition/config/v1/tracing.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/patience.h"

namespace sortition {

// A span as it arrived.
struct ReceivedSpan {
  std::string service;
  std::string trace_id;
  std::string span_id;
  std::string parent_id;  // Empty: none.
  std::string name;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool is_error = false;
  std::string attributes;  // As JSON text: [{"key":…,"value":{…}},…]
};

class FakeCollector {
 public:
  // Answers with the status codes in turn, the last one again and again.
  explicit FakeCollector(std::vector<int> codes = {200})
      : codes_(std::move(codes)) {
    auto server = HttpServer::Open(
        "listen", "127.0.0.1:0", {},
        {{"POST /v1/traces",
          [this](const HttpRequest& request) { return Take(request); }}});
    EXPECT_TRUE(server.ok()) << server.status();
    if (server.ok()) server_ = *std::move(server);
  }
  // No handler may run when the members go.
  ~FakeCollector() { server_.reset(); }

  std::string endpoint() const {
    return absl::StrCat("http://127.0.0.1:", server_->port());
  }
  config::v1::TracingOptions options() const {
    config::v1::TracingOptions options;
    options.set_endpoint(endpoint());
    return options;
  }
  // A request that came, whatever was answered.
  struct Request {
    std::string content_type;
    std::string key;  // Header X-Key.
    std::string body;
  };
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // The spans of requests that were answered with 200.
  std::vector<ReceivedSpan> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  // Waits for a span of this name, and returns it; empty if none comes.
  ReceivedSpan Await(const std::string& name) const {
    ReceivedSpan result;
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      for (const ReceivedSpan& span : spans()) {
        if (span.name == name) result = span;
      }
      return !result.name.empty();
    })) << name;
    return result;
  }
  std::vector<ReceivedSpan> ChildrenOf(const std::string& span_id) const {
    std::vector<ReceivedSpan> children;
    for (const ReceivedSpan& span : spans()) {
      if (span.parent_id == span_id) children.push_back(span);
    }
    return children;
  }

 private:
  HttpAnswer Take(const HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    const int code = codes_[std::min(requests_.size(), codes_.size() - 1)];
    requests_.push_back({request.header("Content-Type"),
                         request.header("X-Key"), request.body});
    if (code == 200) AddSpans(request.body);
    return {.code = code, .content_type = "application/json", .body = "{}"};
  }
  void AddSpans(const std::string& body) {
    rapidjson::Document json;
    json.Parse(body.c_str());
    ASSERT_FALSE(json.HasParseError()) << body;
    for (const auto& resource : json["resourceSpans"].GetArray()) {
      const std::string service =
          resource["resource"]["attributes"][0]["value"]["stringValue"]
              .GetString();
      for (const auto& scope : resource["scopeSpans"].GetArray()) {
        for (const auto& span : scope["spans"].GetArray()) {
          spans_.push_back(Read(service, span));
        }
      }
    }
  }
  static ReceivedSpan Read(const std::string& service,
                           const rapidjson::Value& span) {
    ReceivedSpan read;
    read.service = service;
    read.trace_id = span["traceId"].GetString();
    read.span_id = span["spanId"].GetString();
    if (span.HasMember("parentSpanId")) {
      read.parent_id = span["parentSpanId"].GetString();
    }
    read.name = span["name"].GetString();
    read.start_ns = std::stoll(span["startTimeUnixNano"].GetString());
    read.end_ns = std::stoll(span["endTimeUnixNano"].GetString());
    read.is_error = span["status"].HasMember("code");
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    span["attributes"].Accept(writer);
    read.attributes = text.GetString();
    return read;
  }

  const std::vector<int> codes_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<ReceivedSpan> spans_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace sortition
