#pragma once
// The whole server in this process, asked over gRPC and over HTTP.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "server/server.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/http_client.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class HttpPortFixture : public testing::Test {
 protected:
  // Of the models "rank", "select" and "label"; "fresh", the default, has no
  // version and takes everything.
  static constexpr uint32_t kFeatures = 3;

  HttpPortFixture() {
    options_.set_listen("127.0.0.1:0");
    options_.set_metrics_listen("");
    options_.mutable_http()->set_listen("127.0.0.1:0");
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("fresh");
    options_.mutable_spool()->set_dir(directory_ / "spool");
    // Under sanitizers calls wait longer than a server should let them.
    options_.mutable_admission()->set_max_wait_seconds(60);
    Publish(options_.model_store(), MakeRankModel("rank", {1, -0.5, 0.3}));
    Publish(options_.model_store(), MakeSelectModel("select", {0.2, 1.1, 0.7}));
    model::v1::Model label = MakeModel("label", {0.4, 0.1, -0.9});
    label.mutable_policy()->mutable_independent_subset();
    Publish(options_.model_store(), label);
  }

  void StartServer() {
    ASSERT_OK_AND_ASSIGN(server_, Server::Start(options_));
    channel_ =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->rpc_port()),
                            grpc::InsecureChannelCredentials());
    ranking_ = v1::Ranking::NewStub(channel_);
  }

  int http_port() const { return server_->http_port(); }

  // A deadline that a busy machine keeps.
  static constexpr char kPatient[] = "X-Timeout-Ms: 10000\r\n";

  // Posts over one connection as long as the server keeps it.
  HttpReply Post(absl::string_view path, absl::string_view json,
                 absl::string_view headers = kPatient) {
    if (client_ == nullptr) client_ = std::make_unique<HttpClient>(http_port());
    client_->Send(PostText(path, json, headers));
    HttpReply reply = client_->Read();
    if (reply.headers["connection"] != "keep-alive") client_ = nullptr;
    return reply;
  }

  // Returns the JSON form; with the names of the proto, or in lowerCamelCase.
  static std::string JsonOf(const google::protobuf::Message& message,
                            bool has_proto_names) {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = has_proto_names;
    std::string json;
    EXPECT_TRUE(
        google::protobuf::util::MessageToJsonString(message, &json, options)
            .ok());
    return json;
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Ranking::Stub> ranking_;

 private:
  std::unique_ptr<HttpClient> client_;
};

}  // namespace sortition
