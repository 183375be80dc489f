#include "sidecar/http_pages.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "web/page_files.h"

namespace sortition {
namespace {

constexpr char kJson[] = "application/json";

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> OpenHttp(
    const std::string& address, const Metrics* metrics,
    SidecarStatusSource* status) {
  std::map<std::string, HttpHandler> routes;
  routes["GET /healthz"] = [](const HttpRequest&) {
    return HttpAnswer{.content_type = kJson,
                      .body = "{\"status\":\"ALIVE\"}\n"};
  };
  routes["GET /metrics"] = [metrics](const HttpRequest&) {
    return HttpAnswer{
        .content_type = "text/plain; version=0.0.4; charset=utf-8",
        .body = metrics->Text()};
  };
  routes["GET /status.json"] = [status](const HttpRequest& request) {
    return HttpAnswer{.content_type = kJson,
                      .body = status->Json(request.query)};
  };
  for (const PageFile& file : PageFiles()) {
    routes[absl::StrCat("GET ", file.path)] = [&file](const HttpRequest&) {
      return HttpAnswer{.content_type = std::string(file.content_type),
                        .body = std::string(file.bytes)};
    };
  }
  return HttpServer::Open("http_listen", address, HttpLimits(),
                          std::move(routes));
}

}  // namespace sortition
