#include "server/server.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/segments/spool_writer.h"
#include "process/log.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "server/decisions/report_service.h"
#include "server/models/model_registry.h"
#include "server/rpc/grpc_server.h"
#include "server/rpc/models_service.h"

namespace sortition {
namespace {

// Raises `counter` to a total that is kept elsewhere.
void CatchUp(MetricCounter* counter, uint64_t total) {
  counter->Increment(static_cast<double>(total) - counter->value());
}

void ExportSpool(const SpoolWriter* spool, Metrics* metrics) {
  const auto counter = [&](const char* name, const char* help) {
    return metrics->Counter(name, help);
  };
  auto* records = counter("sortition_spool_records_total", "Records appended");
  auto* bytes = counter("sortition_spool_bytes_total", "Bytes appended");
  auto* refused = counter("sortition_spool_refused_total",
                          "Appends refused: spool at its limit, or disk full");
  auto* lost = counter("sortition_spool_lost_records_total",
                       "Decisions answered but not logged (when_full: COUNT)");
  auto* segments = counter("sortition_spool_segments_total", "Segments opened");
  auto* syncs = counter("sortition_spool_syncs_total", "fdatasync calls");
  auto* sync_seconds = counter("sortition_spool_sync_seconds_total",
                               "Time spent in fdatasync, seconds");
  auto* size = metrics->Gauge("sortition_spool_size_bytes",
                              "Size of all spool segments, bytes");
  metrics->OnScrape([=] {
    const SpoolStats stats = spool->stats();
    CatchUp(records, stats.records);
    CatchUp(bytes, stats.bytes);
    CatchUp(refused, stats.refused);
    CatchUp(lost, stats.lost);
    CatchUp(segments, stats.segments);
    CatchUp(syncs, stats.syncs);
    sync_seconds->Increment(stats.sync_seconds - sync_seconds->value());
    size->Set(static_cast<double>(stats.spool_bytes));
  });
}

}  // namespace

struct Server::Rep {
  explicit Rep(config::v1::ServerOptions server_options)
      : options(std::move(server_options)) {}

  const config::v1::ServerOptions options;
  // Each part depends on those above it. ~Server() ends `metrics` first,
  // because a scrape looks at the other parts.
  std::unique_ptr<SpoolWriter> spool;
  std::unique_ptr<ModelRegistry> registry;
  std::unique_ptr<RankingService> ranking;
  std::unique_ptr<AggregateService> aggregates;
  std::unique_ptr<ReportService> reports;
  std::unique_ptr<ModelsService> models;
  std::unique_ptr<GrpcServer> grpc;
  std::unique_ptr<Metrics> metrics = std::make_unique<Metrics>();
  int metrics_port = 0;
  bool drained = false;

  absl::Status Start();
  absl::Status WritePorts() const;
};

absl::Status Server::Rep::Start() {
  if (!options.spool().dir().empty()) {
    ASSIGN_OR_RETURN(
        spool, SpoolWriter::Open(options.spool(), options.ShortDebugString()));
    ExportSpool(spool.get(), metrics.get());
  } else {
    LogWarning("decisions are not logged: spool.dir is empty");
  }
  registry = std::make_unique<ModelRegistry>(options, metrics.get());
  RETURN_IF_ERROR(registry->Start());
  ranking = std::make_unique<RankingService>(options.limits(), registry.get(),
                                             spool.get(), metrics.get());
  aggregates = std::make_unique<AggregateService>(options.limits(), spool.get(),
                                                  metrics.get());
  reports = std::make_unique<ReportService>(options.limits(), spool.get(),
                                            metrics.get());
  models = std::make_unique<ModelsService>(registry.get());
  if (!options.metrics_listen().empty()) {
    ASSIGN_OR_RETURN(metrics_port, metrics->Serve(options.metrics_listen()));
  }
  ASSIGN_OR_RETURN(grpc, GrpcServer::Start(options,
                                           {ranking.get(), aggregates.get(),
                                            reports.get(), models.get()},
                                           metrics.get()));
  RETURN_IF_ERROR(WritePorts());
  LogInfo("serving", {{"rpc_port", absl::StrCat(grpc->port())},
                      {"metrics_port", absl::StrCat(metrics_port)},
                      {"model_store", options.model_store()},
                      {"spool", options.spool().dir()}});
  return absl::OkStatus();
}

absl::Status Server::Rep::WritePorts() const {
  if (options.port_file().empty()) return absl::OkStatus();
  std::string text = absl::StrCat("rpc ", grpc->port(), "\n");
  if (metrics_port != 0) absl::StrAppend(&text, "metrics ", metrics_port, "\n");
  return WriteFile(options.port_file(), text);
}

Server::Server() = default;

Server::~Server() {
  // Only a caller of Drain() can be told of a failure; here nobody is left.
  if (rep_->grpc != nullptr) Drain().IgnoreError();
  // Threads that count into the metrics end before the metrics, and scrapes end
  // before the parts that they look at.
  if (rep_->registry != nullptr) rep_->registry->Stop();
  rep_->metrics.reset();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const config::v1::ServerOptions& options) {
  auto server = std::unique_ptr<Server>(new Server);
  server->rep_ = std::make_unique<Rep>(options);
  RETURN_IF_ERROR(server->rep_->Start());
  return server;
}

int Server::rpc_port() const { return rep_->grpc->port(); }

int Server::metrics_port() const { return rep_->metrics_port; }

const Metrics& Server::metrics() const { return *rep_->metrics; }

absl::Status Server::Drain() {
  if (std::exchange(rep_->drained, true)) return absl::OkStatus();
  const config::v1::ServerOptions& options = rep_->options;
  LogInfo("draining",
          {{"grace_seconds", absl::StrCat(options.drain_grace_seconds())}});
  rep_->grpc->AnnounceShutdown();
  absl::SleepFor(absl::Seconds(options.drain_grace_seconds()));
  rep_->grpc->Shutdown(options.drain_seconds());
  rep_->registry->Stop();
  if (rep_->spool != nullptr) RETURN_IF_ERROR(rep_->spool->Close());
  LogInfo("drained");
  return absl::OkStatus();
}

}  // namespace sortition
