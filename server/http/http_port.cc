#include "server/http/http_port.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "process/http/http_errors.h"
#include "process/threads.h"
#include "server/http/http_counts.h"
#include "server/http/json_calls.h"
#include "server/http/metrics_page.h"
#include "server/http/openapi.h"
#include "server/http/unpolled_queue.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "web/page_files.h"

namespace sortition {
namespace {

constexpr char kOption[] = "http.listen";
constexpr char kJson[] = "application/json";
// Shorter than the timeouts of probes, so that they get an answer.
constexpr std::chrono::seconds kHealthPatience(2);

HttpHandler Text(std::string type, std::function<std::string()> make) {
  return [type = std::move(type), make = std::move(make)](const HttpRequest&) {
    return HttpAnswer{.content_type = type, .body = make()};
  };
}

// Asks the health service about `service`, through the threads that answer
// calls. Returns 200 if it is SERVING. Otherwise, or if these threads do not
// answer within kHealthPatience, returns 503 with the reason.
HttpAnswer HealthOf(const HttpPortParts& parts, const std::string& service,
                    const std::function<std::string()>& why_not) {
  using grpc::health::v1::HealthCheckResponse;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHealthPatience);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  HealthCheckResponse response;
  grpc::Status status;
  const auto queue = NewUnpolledQueue();
  const auto stub = grpc::health::v1::Health::NewStub(parts.channel);
  const auto call = stub->AsyncCheck(&context, request, queue.get());
  call->Finish(&response, &status, nullptr);
  WaitForOne(queue.get());
  if (status.ok() && response.status() == HealthCheckResponse::SERVING) {
    return {.content_type = kJson, .body = "{\"status\":\"SERVING\"}\n"};
  }
  const std::string why = why_not();
  return ErrorAnswer(
      absl::UnavailableError(!why.empty()  ? why
                             : status.ok() ? "the RPC port takes no connections"
                                           : status.error_message()));
}

void AddPages(const config::v1::ServerOptions& options,
              const HttpPortParts& parts,
              std::map<std::string, HttpHandler>* routes) {
  (*routes)["GET /healthz"] =
      Text(kJson, [] { return "{\"status\":\"ALIVE\"}\n"; });
  (*routes)["GET /livez"] = [parts](const HttpRequest&) {
    return HealthOf(parts, v1::Models::service_full_name(),
                    [] { return std::string(); });
  };
  (*routes)["GET /readyz"] = [parts](const HttpRequest&) {
    return HealthOf(parts, v1::Ranking::service_full_name(),
                    parts.why_not_ready);
  };
  (*routes)["GET /metrics"] =
      Text("text/plain; version=0.0.4; charset=utf-8",
           [page = std::make_shared<MetricsPage>(parts.metrics)] {
             return page->Text();
           });
  (*routes)["GET /openapi.json"] =
      Text(kJson, [text = OpenApiDocument(options.limits())] { return text; });
  (*routes)["GET /status.json"] =
      [status = parts.status_json](const HttpRequest& request) {
        return HttpAnswer{.content_type = kJson, .body = status(request.query)};
      };
  for (const PageFile& file : PageFiles()) {
    (*routes)[absl::StrCat("GET ", file.path)] =
        Text(std::string(file.content_type),
             [&file] { return std::string(file.bytes); });
  }
}

// Returns the path of "GET /path".
std::string PathOf(const std::string& route) {
  return route.substr(route.find(' ') + 1);
}

}  // namespace

HttpLimits LimitsOf(const config::v1::HttpOptions& options) {
  return {.threads = options.threads(),
          .max_waiting = options.max_waiting(),
          .max_body_bytes = options.max_body_bytes(),
          .request_seconds = options.request_seconds(),
          .hosts = {options.hosts().begin(), options.hosts().end()}};
}

absl::Status HttpPort::CheckAddress(const config::v1::HttpOptions& options) {
  return options.listen().empty()
             ? absl::OkStatus()
             : HttpServer::CheckAddress(kOption, options.listen());
}

absl::StatusOr<std::unique_ptr<HttpPort>> HttpPort::Open(
    const config::v1::ServerOptions& options, const HttpPortParts& parts) {
  std::map<std::string, HttpHandler> routes = MakeJsonCalls(
      parts.channel,
      {.needs_certificate = !options.tls().client_ca_file().empty(),
       .has_control_port = !options.control_listen().empty(),
       .find_types = parts.find_types});
  AddPages(options, parts, &routes);
  std::vector<std::string> paths;
  for (const auto& [route, handler] : routes) paths.push_back(PathOf(route));
  HttpHooks hooks;
  hooks.begin_thread = YieldToOtherThreads;
  hooks.wants_body = [authorizer = parts.authorizer](const HttpRequest& r) {
    return WantsBody(authorizer, r);
  };
  hooks.count = [counts = HttpCounts::Create(paths, parts.metrics)](
                    absl::string_view path, int code) {
    counts->Count(path, code);
  };
  ASSIGN_OR_RETURN(std::unique_ptr<HttpServer> server,
                   HttpServer::Open(kOption, options.http().listen(),
                                    LimitsOf(options.http()), std::move(routes),
                                    std::move(hooks)));
  return std::unique_ptr<HttpPort>(new HttpPort(std::move(server)));
}

}  // namespace sortition
