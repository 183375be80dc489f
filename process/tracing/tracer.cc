#include "process/tracing/tracer.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

#include "core/base/status_macros.h"
#include "process/version.h"

namespace sortition {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

// Names of the attributes are those of OpenTelemetry's semantic conventions.
std::vector<SpanAttribute> ResourceOf(absl::string_view service,
                                      absl::string_view instance) {
  std::vector<SpanAttribute> resource = {
      {"service.name", std::string(service)},
      {"service.version", std::string(Version())},
      {"process.pid", int64_t{::getpid()}}};
  if (!instance.empty()) {
    resource.push_back({"service.instance.id", std::string(instance)});
  }
  if (std::string host = HostName(); !host.empty()) {
    resource.push_back({"host.name", std::move(host)});
  }
  return resource;
}

}  // namespace

SpanIds ChildOf(const TraceContext& parent) {
  return {.trace_id = parent.trace_id,
          .span_id = NewSpanId(),
          .parent_id = parent.span_id};
}

absl::StatusOr<std::unique_ptr<Tracer>> Tracer::Create(
    const config::v1::TracingOptions& options, absl::string_view service,
    absl::string_view instance, Metrics* metrics) {
  RETURN_IF_ERROR(ValidateTracing(options));
  if (options.endpoint().empty()) return nullptr;
  ASSIGN_OR_RETURN(Collector collector, FindCollector(options));
  return std::unique_ptr<Tracer>(new Tracer(
      options, std::move(collector), ResourceOf(service, instance), metrics));
}

Tracer::Tracer(const config::v1::TracingOptions& options, Collector collector,
               std::vector<SpanAttribute> resource, Metrics* metrics)
    : sample_rate_(options.sample_rate()),
      exporter_(std::move(collector), std::move(resource),
                options.queue_spans(), metrics) {}

std::optional<SpanIds> Tracer::Sample(absl::string_view traceparent) const {
  if (!traceparent.empty()) {
    const std::optional<TraceContext> parent = ParseTraceparent(traceparent);
    if (parent.has_value() && !parent->is_sampled) return std::nullopt;
    if (parent.has_value()) return ChildOf(*parent);
  }
  if (sample_rate_ <= 0 || RandomShare() >= sample_rate_) return std::nullopt;
  return SpanIds{.trace_id = NewTraceId(), .span_id = NewSpanId()};
}

}  // namespace sortition
