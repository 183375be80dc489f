#include "server/server.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/models/store_listing.h"
#include "io/spool/spool_writer.h"
#include "process/log.h"
#include "process/tracing/tracer.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "server/decisions/report_service.h"
#include "server/decisions/request_validation.h"
#include "server/http/http_port.h"
#include "server/identity/identity.h"
#include "server/models/baseline_agreement.h"
#include "server/models/model_registry.h"
#include "server/models/models_service.h"
#include "server/rpc/grpc_server.h"
#include "server/shadows/shadow_scorer.h"
#include "server/spool_metrics.h"
#include "server/status/server_status.h"

namespace sortition {
namespace {

// Longest time in which shadows finish what waits for them at the end.
constexpr double kShadowSeconds = 5;

// Returns how many descriptors the HTTP port takes at most.
uint32_t HttpDescriptors(const config::v1::HttpOptions& options) {
  return options.listen().empty() ? 0 : MostConnections(LimitsOf(options));
}

// Returns the types of the columns of a model for requests as JSON.
std::optional<ColumnTypes> FindTypes(const ModelRegistry& registry,
                                     absl::string_view model) {
  const auto set = registry.Find(model);
  if (!set.ok()) return std::nullopt;
  ColumnTypes types;
  if (const Schema* const schema = (*set)->shape->schema()) {
    for (const auto& column : schema->declared().column()) {
      types.emplace(column.name(), column.type());
    }
  }
  return types;
}

}  // namespace

struct Server::Rep {
  explicit Rep(config::v1::ServerOptions server_options)
      : options(std::move(server_options)) {}

  const config::v1::ServerOptions options;
  // Each part depends on those above it. ~Server() ends `metrics` first,
  // because a scrape looks at the other parts.
  std::unique_ptr<SpoolMetrics> spool_metrics;
  std::unique_ptr<SpoolWriter> spool;
  std::unique_ptr<ModelRegistry> registry;
  std::unique_ptr<Identity> identity;
  std::unique_ptr<BaselineAgreement> agreement;
  std::unique_ptr<ShadowScorer> shadows;
  std::unique_ptr<RankingService> ranking;
  std::unique_ptr<AggregateService> aggregates;
  std::unique_ptr<ReportService> reports;
  std::unique_ptr<ModelsService> models;
  std::unique_ptr<Tracer> tracer;  // Null: requests are not traced.
  std::unique_ptr<GrpcServer> grpc;
  std::unique_ptr<ServerStatusSource> status;  // Null without HTTP.
  std::unique_ptr<HttpPort> http;
  std::unique_ptr<Metrics> metrics = std::make_unique<Metrics>();
  int metrics_port = 0;
  int http_port = 0;
  bool drained = false;
  std::mutex health_mutex;
  // All guarded by `health_mutex`.
  bool has_port = false;
  bool log_serves = true;  // The log takes records, or may lose them.
  bool has_model = true;   // That the options require.
  bool is_draining = false;

  absl::Status Start();
  // Health is SERVING while the log is sound and the models are there that the
  // options require.
  void UpdateHealth();
  void NoteLog(SpoolState state);
  // Says why health is not SERVING; empty: it is, or the RPC port is dead.
  // Returns what to add where no version of the default model is loaded:
  // entries of its folder that may have been meant to be versions.
  std::string NotVersions() const;
  std::string WhyNotReady();
  // Opens the HTTP port, if there is to be one.
  absl::Status StartHttp();
  absl::Status WritePorts() const;
};

absl::Status Server::Rep::Start() {
  // The port is opened last: nothing should have begun where it is taken.
  RETURN_IF_ERROR(HttpPort::CheckAddress(options.http()));
  RETURN_IF_ERROR(ValidateRewardRange(options.feedback()));
  ASSIGN_OR_RETURN(identity, Identity::Open(options, metrics.get()));
  if (!options.spool().dir().empty()) {
    spool_metrics = std::make_unique<SpoolMetrics>(metrics.get());
    ASSIGN_OR_RETURN(
        spool, SpoolWriter::Open(options.spool(), options.ShortDebugString(),
                                 spool_metrics.get()));
    spool_metrics->Export(spool.get());
  } else {
    LogWarning("decisions are not logged: spool.dir is empty");
  }
  registry = std::make_unique<ModelRegistry>(options, metrics.get());
  registry->Follow([this] { UpdateHealth(); });
  RETURN_IF_ERROR(registry->Start());
  agreement = std::make_unique<BaselineAgreement>(metrics.get());
  shadows =
      std::make_unique<ShadowScorer>(options.shadow_queue_bytes(), spool.get(),
                                     metrics.get(), agreement.get());
  ranking = std::make_unique<RankingService>(
      options.limits(), registry.get(), spool.get(), metrics.get(),
      shadows.get(), agreement.get(), options.cold_start());
  aggregates = std::make_unique<AggregateService>(options.limits(), spool.get(),
                                                  metrics.get());
  reports = std::make_unique<ReportService>(
      options.limits(), options.feedback(), spool.get(), metrics.get());
  models = std::make_unique<ModelsService>(registry.get(), agreement.get());
  ASSIGN_OR_RETURN(tracer,
                   Tracer::Create(options.tracing(), "sortition-server",
                                  options.spool().writer_id(), metrics.get()));
  if (!options.metrics_listen().empty()) {
    ASSIGN_OR_RETURN(metrics_port, metrics->Serve(options.metrics_listen()));
  }
  ASSIGN_OR_RETURN(
      grpc, GrpcServer::Start(options, *identity,
                              {ranking.get(), aggregates.get(), reports.get(),
                               models.get(), tracer.get()},
                              HttpDescriptors(options.http()), metrics.get()));
  {
    const std::lock_guard lock(health_mutex);
    has_port = true;
  }
  UpdateHealth();
  if (spool != nullptr) {
    spool_metrics->Follow([this](SpoolState state) { NoteLog(state); });
  }
  RETURN_IF_ERROR(StartHttp());
  RETURN_IF_ERROR(WritePorts());
  LogInfo("serving", {{"rpc_port", grpc->port()},
                      {"metrics_port", metrics_port},
                      {"http_port", http_port},
                      {"control_port", grpc->control_port()},
                      {"model_store", options.model_store()},
                      {"spool", options.spool().dir()}});
  return absl::OkStatus();
}

absl::Status Server::Rep::StartHttp() {
  if (options.http().listen().empty()) return absl::OkStatus();
  const auto why_not_ready = [this] { return WhyNotReady(); };
  status = ServerStatusSource::Create(
      {.metrics = metrics.get(),
       .registry = registry.get(),
       .models = models.get(),
       .spool = spool.get(),
       .spool_dir = options.spool().dir(),
       .shadows = shadows.get(),
       .sidecar = options.http().sidecar(),
       .needs_token = !options.token_file().empty(),
       .has_control = options.control_listen().empty() &&
                      options.tls().client_ca_file().empty(),
       .why_not_ready = why_not_ready});
  ASSIGN_OR_RETURN(
      http, HttpPort::Open(options, {.channel = grpc->InProcessChannel(),
                                     .metrics = metrics.get(),
                                     .authorizer = identity->authorizer(),
                                     .why_not_ready = why_not_ready,
                                     .status_json =
                                         [this](absl::string_view query) {
                                           return status->Json(query);
                                         },
                                     .find_types =
                                         [this](absl::string_view model) {
                                           return FindTypes(*registry, model);
                                         }}));
  http_port = http->port();
  return absl::OkStatus();
}

void Server::Rep::UpdateHealth() {
  const std::lock_guard lock(health_mutex);
  if (!has_port) return;
  has_model = !options.require_model() || registry->HasDefault();
  grpc->SetRankingServes(log_serves && has_model);
}

std::string Server::Rep::NotVersions() const {
  for (const ModelState& state : registry->List()) {
    if (state.set->name != options.default_model()) continue;
    const std::string text =
        NotVersionsText(state.set->name, state.not_versions);
    return text.empty() ? "" : absl::StrCat("\n", text);
  }
  return "";
}

std::string Server::Rep::WhyNotReady() {
  const std::lock_guard lock(health_mutex);
  if (is_draining) return "the server is draining: call another one";
  if (!log_serves) return "the log takes no records (spool.dir)";
  if (!has_model) {
    return absl::StrCat("no version of the model \"", options.default_model(),
                        "\" is loaded (require_model)", NotVersions());
  }
  return "";
}

// Callers should go elsewhere while this server refuses them, and while a disk
// that fails loses what it decides. With COUNT a log that is full is no reason:
// that is what the option is for.
void Server::Rep::NoteLog(SpoolState state) {
  const bool refuses =
      options.spool().when_full() == config::v1::SpoolOptions::REFUSE;
  const bool is_bearable =
      state == SpoolState::kFull || state == SpoolState::kStalled;
  {
    const std::lock_guard lock(health_mutex);
    log_serves = state == SpoolState::kOk || (!refuses && is_bearable);
  }
  UpdateHealth();
}

absl::Status Server::Rep::WritePorts() const {
  if (options.port_file().empty()) return absl::OkStatus();
  std::string text = absl::StrCat("rpc ", grpc->port(), "\n");
  if (metrics_port != 0) absl::StrAppend(&text, "metrics ", metrics_port, "\n");
  if (http_port != 0) absl::StrAppend(&text, "http ", http_port, "\n");
  if (grpc->control_port() != 0) {
    absl::StrAppend(&text, "control ", grpc->control_port(), "\n");
  }
  return WriteFile(options.port_file(), text);
}

Server::Server() = default;

Server::~Server() {
  // Only a caller of Drain() can be told of a failure; here nobody is left.
  if (rep_->grpc != nullptr) Drain().IgnoreError();
  // Threads that count into the metrics end before the metrics, and scrapes end
  // before the parts that they look at.
  if (rep_->shadows != nullptr) rep_->shadows->Stop(0);
  if (rep_->registry != nullptr) rep_->registry->Stop();
  if (rep_->spool != nullptr) rep_->spool->Close().IgnoreError();
  if (rep_->identity != nullptr) rep_->identity->Stop();
  if (rep_->tracer != nullptr) rep_->tracer->Stop();
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

int Server::http_port() const { return rep_->http_port; }

const Metrics& Server::metrics() const { return *rep_->metrics; }

bool Server::TakesTurns() { return rep_->grpc->TakesTurns(); }

void Server::Reload() {
  rep_->registry->Refresh();
  rep_->identity->Reread();
  LogInfo("reloaded: looked at the model store, certificates and tokens",
          {{"model_store", rep_->options.model_store()},
           {"models", rep_->registry->List().size()}});
}

absl::Status Server::Drain() {
  if (std::exchange(rep_->drained, true)) return absl::OkStatus();
  const config::v1::ServerOptions& options = rep_->options;
  LogInfo("draining", {{"grace_seconds", options.drain_grace_seconds()}});
  {
    const std::lock_guard lock(rep_->health_mutex);
    rep_->is_draining = true;
  }
  rep_->grpc->AnnounceShutdown();
  absl::SleepFor(absl::Seconds(options.drain_grace_seconds()));
  rep_->grpc->Refuse();
  // Calls over HTTP end before what they call, or, where their time is over,
  // with it.
  const absl::Time end = absl::Now() + absl::Seconds(options.drain_seconds());
  std::future<void> http_end =
      std::async(std::launch::async, [this] { rep_->http.reset(); });
  http_end.wait_until(absl::ToChronoTime(end));
  rep_->grpc->Shutdown(std::max(absl::ToDoubleSeconds(end - absl::Now()), 0.0));
  http_end.get();
  if (rep_->status != nullptr) rep_->status->Stop();
  rep_->shadows->Stop(std::min(options.drain_seconds(), kShadowSeconds));
  rep_->registry->Stop();
  return rep_->spool == nullptr ? absl::OkStatus() : rep_->spool->Close();
}

}  // namespace sortition
