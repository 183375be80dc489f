#pragma once
// The HTTP port of the server: calls as JSON, health, metrics, status, page.
#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/http/http_server.h"
#include "process/metrics.h"
#include "server/http/json/json_message.h"
#include "server/identity/authorizer.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

HttpLimits LimitsOf(const config::v1::HttpOptions& options);

struct HttpPortParts {
  // To the gRPC server of this process.
  std::shared_ptr<grpc::Channel> channel;
  Metrics* metrics = nullptr;
  // Who may call; null: everybody.
  const Authorizer* authorizer = nullptr;
  // Says why the health of Ranking is not SERVING; empty: it knows no reason.
  std::function<std::string()> why_not_ready;
  // Returns what /status.json says; takes the query.
  std::function<std::string(absl::string_view query)> status_json;
  // Returns the types of the columns of a model.
  FindColumnTypes find_types;
};

class HttpPort {
 public:
  // Listens at options.http.listen, which is given, and serves. What the parts
  // look at must outlive it. Its threads make way for those of gRPC: JSON costs
  // far more than what it asks for. Unavailable if the address is taken or
  // wrong.
  static absl::StatusOr<std::unique_ptr<HttpPort>> Open(
      const config::v1::ServerOptions& options, const HttpPortParts& parts);

  // Returns the error that Open() would return for options.listen now.
  static absl::Status CheckAddress(const config::v1::HttpOptions& options);

  int port() const { return server_->port(); }

 private:
  explicit HttpPort(std::unique_ptr<HttpServer> server)
      : server_(std::move(server)) {}

  std::unique_ptr<HttpServer> server_;
};

}  // namespace sortition
