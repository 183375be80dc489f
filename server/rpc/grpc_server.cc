#include "server/rpc/grpc_server.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/builder_options.h"
#include "server/rpc/connections/connection_table.h"
#include "server/rpc/connections/guarded_reads.h"
#include "server/rpc/connections/listener.h"
#include "server/rpc/health_service.h"
#include "server/rpc/health_watch_call.h"
#include "server/rpc/rank_stream_call.h"
#include "server/rpc/raw_stubs.h"
#include "server/rpc/rpc_call.h"

namespace sortition {
namespace {

// How many calls can come to one queue at once without a detour through gRPC's
// own list of unmatched calls.
constexpr size_t kDecisionSlots = 128;
constexpr size_t kReportSlots = 32;
constexpr size_t kControlSlots = 4;
// Entries of reports are small, and each becomes a record.
constexpr size_t kLargeReportBytes = 32 << 10;

}  // namespace

struct GrpcServer::Rep {
  Rep(const config::v1::ServerOptions& options, Metrics* metrics)
      : admission(options.admission(), metrics),
        request_log(options.slow_request_seconds()),
        health(metrics) {
    abuse_monitor.emplace(options.limits().max_concurrent_streams(), metrics);
  }

  Admission admission;
  std::optional<AbuseMonitor> abuse_monitor;  // Until the server is shut down.
  ConnectionTable connections;
  RequestLog request_log;
  const Authorizer* authorizer = nullptr;
  Tracer* tracer = nullptr;
  RankingStub ranking_stub;
  ModelsStub models_stub;
  HealthWatchCall::Stub health_stub;
  HealthService health;
  std::vector<std::unique_ptr<CallQueue>> queues;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Listener> listener;
  // Handed on to the listeners once all is ready.
  using Acceptor =
      std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor>;
  Acceptor acceptor;
  Acceptor control_acceptor;
  // The port of control calls, if it is another one.
  std::unique_ptr<CallQueue> control_queue;
  std::unique_ptr<grpc::Server> control_server;
  std::unique_ptr<Listener> control_listener;
  DrainState drain;
  std::unique_ptr<CallPool> pool;
  // For control calls, which may wait for the load of a version: large requests
  // must not wait for them, nor those that only look.
  std::unique_ptr<CallPool> control_pool;
  std::unique_ptr<CallPool> look_pool;
  config::v1::RequestLimits limits;
  bool shut_down = false;
  std::vector<std::thread> threads;
  std::list<RpcMetrics> rpc_metrics;
  // Methods and their slots; a slot must be destroyed before its method.
  std::vector<std::shared_ptr<void>> methods;
  std::vector<std::shared_ptr<void>> slots;
  RankStreamMethod rank_stream;
  std::vector<std::unique_ptr<RankStreams>> rank_streams;  // By queue.

  std::mutex health_mutex;
  bool ranking_serves = true;  // Guarded by `health_mutex`; so is the next.
  bool port_serves = true;

  // Sets what all methods have.
  void SetUp(const char* name, const google::protobuf::Descriptor* request,
             Role role, Metrics* metrics, RpcMethod* method) {
    method->pool = role == Role::kAdmin ? control_pool.get() : pool.get();
    method->limits = &limits;
    method->metrics = &rpc_metrics.emplace_back(name, request, metrics);
    method->log = &request_log;
    method->authorizer = authorizer;
    method->role = role;
    method->admission = &admission;
    method->drain = &drain;
    if (role == Role::kAdmin) return;
    method->tracer = tracer;
    method->full_name =
        absl::StrCat(v1::Ranking::service_full_name(), "/", name);
  }

  // Makes `count` slots per queue for a method of a stub.
  template <typename Request, typename Response, typename Stub, typename Ask>
  UnaryMethod<Request, Response>* Add(
      const char* name, Role role, Stub* stub, Ask ask, size_t count,
      Metrics* metrics,
      std::function<absl::Status(const Request&, DecisionScratch*, Response*)>
          handle) {
    using Method = UnaryMethod<Request, Response>;
    auto method = std::make_shared<Method>();
    method->ask = [stub, ask](auto* context, auto* payload, auto* writer,
                              auto* queue, void* tag) {
      (stub->*ask)(context, payload, writer, queue, queue, tag);
    };
    method->handle = std::move(handle);
    SetUp(name, Request::descriptor(), role, metrics, method.get());
    methods.push_back(method);
    const bool has_own_port = role == Role::kAdmin && control_queue != nullptr;
    const auto add_slots = [&](CallQueue* queue) {
      slots.push_back(std::make_shared<CallSlots<UnaryCall<Request, Response>>>(
          method.get(), queue, count));
    };
    if (has_own_port) add_slots(control_queue.get());
    for (const auto& queue : queues) {
      if (!has_own_port) add_slots(queue.get());
    }
    return method.get();
  }

  std::vector<CallQueue*> AllQueues() const {
    std::vector<CallQueue*> all;
    for (const auto& queue : queues) all.push_back(queue.get());
    if (control_queue != nullptr) all.push_back(control_queue.get());
    return all;
  }
  std::unique_ptr<CallQueue> NewQueue(grpc::ServerBuilder* builder) {
    auto queue = std::make_unique<CallQueue>(&admission, &connections);
    queue->queue = builder->AddCompletionQueue();
    return queue;
  }

  void AddMethods(const Services& services, Metrics* metrics);
  void AddControlMethods(ModelsService* models, Metrics* metrics);
  void AddRankStream(RankingService* ranking, Metrics* metrics);
  void AddHealth(Metrics* metrics);
  // Start the gRPC servers of the ports, which listen already.
  absl::Status StartRpcPort(const config::v1::ServerOptions& options,
                            const Identity& identity);
  absl::Status StartControlPort(const config::v1::ServerOptions& options,
                                const Identity& identity);
  void UpdateHealth();
  void NotePort(bool serves);
};

void GrpcServer::Rep::AddMethods(const Services& services, Metrics* metrics) {
  RankingService* const ranking = services.ranking;
  ReportService* const reports = services.reports;
  Add<v1::RankRequest, v1::RankResponse>(
      "Rank", Role::kDecide, &ranking_stub, &RankingStub::RequestRank,
      kDecisionSlots, metrics, std::bind_front(&RankingService::Rank, ranking));
  Add<v1::SelectRequest, v1::SelectResponse>(
      "Select", Role::kDecide, &ranking_stub, &RankingStub::RequestSelect,
      kDecisionSlots, metrics,
      std::bind_front(&RankingService::Select, ranking));
  Add<v1::LabelRequest, v1::LabelResponse>(
      "Label", Role::kDecide, &ranking_stub, &RankingStub::RequestLabel,
      kDecisionSlots, metrics,
      std::bind_front(&RankingService::Label, ranking));
  Add<v1::AggregateRequest, v1::AggregateResponse>(
      "Aggregate", Role::kDecide, &ranking_stub, &RankingStub::RequestAggregate,
      kDecisionSlots, metrics,
      std::bind_front(&AggregateService::Aggregate, services.aggregates));
  Add<v1::ReportShownRequest, v1::ReportShownResponse>(
      "ReportShown", Role::kFeedback, &ranking_stub,
      &RankingStub::RequestReportShown, kReportSlots, metrics,
      std::bind_front(&ReportService::ReportShown, reports))
      ->large_bytes = kLargeReportBytes;
  Add<v1::ReportFeedbackRequest, v1::ReportFeedbackResponse>(
      "ReportFeedback", Role::kFeedback, &ranking_stub,
      &RankingStub::RequestReportFeedback, kReportSlots, metrics,
      std::bind_front(&ReportService::ReportFeedback, reports))
      ->large_bytes = kLargeReportBytes;
}

void GrpcServer::Rep::AddControlMethods(ModelsService* models,
                                        Metrics* metrics) {
  Add<v1::ListModelsRequest, v1::ListModelsResponse>(
      "ListModels", Role::kAdmin, &models_stub, &ModelsStub::RequestListModels,
      kControlSlots, metrics,
      [models](const auto& request, DecisionScratch*, auto* response) {
        return models->ListModels(request, response);
      });
  // The others read the store, or wait for a version.
  auto* const describe =
      Add<v1::DescribeModelRequest, v1::DescribeModelResponse>(
          "DescribeModel", Role::kAdmin, &models_stub,
          &ModelsStub::RequestDescribeModel, kControlSlots, metrics,
          [models](const auto& request, DecisionScratch*, auto* response) {
            return models->DescribeModel(request, response);
          });
  describe->is_long = true;
  describe->pool = look_pool.get();
  Add<v1::ChangeServingRequest, v1::ChangeServingResponse>(
      "ChangeServing", Role::kAdmin, &models_stub,
      &ModelsStub::RequestChangeServing, kControlSlots, metrics,
      [models](const auto& request, DecisionScratch* scratch, auto* response) {
        return models->ChangeServing(request, scratch->caller, response);
      })
      ->is_long = true;
  Add<v1::ReloadModelsRequest, v1::ReloadModelsResponse>(
      "ReloadModels", Role::kAdmin, &models_stub,
      &ModelsStub::RequestReloadModels, kControlSlots, metrics,
      [models](const auto& request, DecisionScratch*, auto* response) {
        return models->ReloadModels(request, response);
      })
      ->is_long = true;
}

void GrpcServer::Rep::AddRankStream(RankingService* ranking, Metrics* metrics) {
  rank_stream.ask = [this](auto* context, auto* stream, auto* queue,
                           void* tag) {
    ranking_stub.RequestRankStream(context, stream, queue, queue, tag);
  };
  rank_stream.ranking = ranking;
  SetUp("RankStream", v1::RankStreamRequest::descriptor(), Role::kDecide,
        metrics, &rank_stream);
  for (const auto& queue : queues) {
    rank_streams.push_back(
        std::make_unique<RankStreams>(&rank_stream, queue.get()));
  }
}

void GrpcServer::Rep::AddHealth(Metrics* metrics) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  auto* check = Add<HealthCheckRequest, HealthCheckResponse>(
      "HealthCheck", Role::kDecide, &health_stub,
      &HealthWatchCall::Stub::RequestCheck, kControlSlots, metrics,
      [this](const HealthCheckRequest& request, DecisionScratch*,
             HealthCheckResponse* response) {
        return health.Check(request, response);
      });
  check->is_never_refused = true;
  check->large_bytes = kMaxHealthRequestBytes;
  check->authorizer = nullptr;
  check->tracer = nullptr;
  for (const auto& queue : queues) {
    HealthWatchCall::Start(&health_stub, &health, queue.get());
  }
  for (const char* service : {"", v1::Ranking::service_full_name(),
                              v1::Models::service_full_name()}) {
    health.Set(service, true);
  }
}

absl::Status GrpcServer::Rep::StartRpcPort(
    const config::v1::ServerOptions& options, const Identity& identity) {
  grpc::ServerBuilder builder;
  acceptor = SetUpBuilder(options, identity, &builder);
  builder.RegisterService(&ranking_stub);
  if (control_listener == nullptr) builder.RegisterService(&models_stub);
  builder.RegisterService(&health_stub);
  for (uint32_t i = 0; i < options.threads(); ++i) {
    queues.push_back(NewQueue(&builder));
  }
  server = builder.BuildAndStart();
  if (server != nullptr) return absl::OkStatus();
  return absl::InternalError("gRPC does not start a server");
}

absl::Status GrpcServer::Rep::StartControlPort(
    const config::v1::ServerOptions& options, const Identity& identity) {
  grpc::ServerBuilder builder;
  control_acceptor = SetUpBuilder(options, identity, &builder);
  builder.RegisterService(&models_stub);
  control_queue = NewQueue(&builder);
  control_server = builder.BuildAndStart();
  if (control_server != nullptr) return absl::OkStatus();
  return absl::InternalError("gRPC does not start a server");
}

void GrpcServer::Rep::UpdateHealth() {
  const bool serves = ranking_serves && port_serves;
  health.Set("", serves);
  health.Set(v1::Ranking::service_full_name(), serves);
}

void GrpcServer::Rep::NotePort(bool serves) {
  const std::lock_guard lock(health_mutex);
  port_serves = serves;
  UpdateHealth();
}

GrpcServer::GrpcServer(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

GrpcServer::~GrpcServer() {
  if (rep_->server != nullptr) Shutdown(0);
}

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(
    const config::v1::ServerOptions& options, const Identity& identity,
    const Services& services, uint32_t reserved_descriptors, Metrics* metrics) {
  auto result = std::unique_ptr<GrpcServer>(
      new GrpcServer(std::make_unique<Rep>(options, metrics)));
  Rep& rep = *result->rep_;
  RETURN_IF_ERROR(ValidateRequestLimits(options.limits()));
  // What may fail comes first: until there are threads, nothing is to be ended.
  const auto open = [&](const char* option, const std::string& address) {
    return Listener::Open(option, address, reserved_descriptors, metrics,
                          &rep.connections);
  };
  ASSIGN_OR_RETURN(rep.listener, open("listen", options.listen()));
  if (const std::string& address = options.control_listen(); !address.empty()) {
    ASSIGN_OR_RETURN(rep.control_listener, open("control_listen", address));
  }
  rep.limits = options.limits();
  rep.pool =
      std::make_unique<CallPool>(options.long_call_threads(), &rep.admission);
  for (auto* const pool : {&rep.control_pool, &rep.look_pool}) {
    *pool = std::make_unique<CallPool>(1, &rep.admission, PoolRule::kTooMany);
  }
  RETURN_IF_ERROR(rep.StartRpcPort(options, identity));
  if (rep.control_listener != nullptr) {
    RETURN_IF_ERROR(rep.StartControlPort(options, identity));
  }
  rep.authorizer = identity.authorizer();
  rep.tracer = services.tracer;
  rep.AddMethods(services, metrics);
  rep.AddControlMethods(services.models, metrics);
  rep.AddRankStream(services.ranking, metrics);
  rep.AddHealth(metrics);
  for (CallQueue* queue : rep.AllQueues()) {
    rep.threads.emplace_back(&CallQueue::Serve, queue);
  }
  rep.listener->Start(std::move(rep.acceptor),
                      [&rep](bool serves) { rep.NotePort(serves); });
  if (rep.control_listener != nullptr) {
    rep.control_listener->Start(std::move(rep.control_acceptor), [](bool) {});
  }
  return result;
}

int GrpcServer::port() const { return rep_->listener->port(); }

int GrpcServer::control_port() const {
  return rep_->control_listener == nullptr ? 0 : rep_->control_listener->port();
}

std::shared_ptr<grpc::Channel> GrpcServer::InProcessChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return rep_->server->InProcessChannel(arguments);
}

void GrpcServer::SetRankingServes(bool serves) {
  const std::lock_guard lock(rep_->health_mutex);
  rep_->ranking_serves = serves;
  rep_->UpdateHealth();
}

bool GrpcServer::TakesTurns() {
  bool all = true;
  for (CallQueue* queue : rep_->AllQueues()) {
    if (!queue->TakesTurns()) all = false;
  }
  return all;
}

void GrpcServer::AnnounceShutdown() { rep_->health.SetNotServing(); }

void GrpcServer::Refuse() {
  rep_->drain.draining = true;
  for (const auto& streams : rep_->rank_streams) streams->Drain();
}

void GrpcServer::Shutdown(double timeout_seconds) {
  if (std::exchange(rep_->shut_down, true)) return;
  AnnounceShutdown();
  Refuse();
  // An answer that nobody takes must not hold up the end.
  constexpr double kShareForAnswers = 0.1;
  for (CallQueue* queue : rep_->AllQueues()) {
    queue->Hurry(kShareForAnswers * timeout_seconds);
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(timeout_seconds);
  rep_->drain.WaitForQuiet(timeout_seconds);
  rep_->health.FinishWatchers();
  rep_->listener->Stop();
  if (rep_->control_server != nullptr) {
    rep_->control_listener->Stop();
    rep_->control_server->Shutdown(absl::ToChronoTime(deadline));
  }
  rep_->server->Shutdown(absl::ToChronoTime(deadline));
  for (CallQueue* queue : rep_->AllQueues()) {
    queue->Close();
    if (rep_->threads.empty()) queue->Serve();  // The start has failed.
  }
  for (std::thread& thread : rep_->threads) thread.join();
  rep_->pool->Stop();
  rep_->control_pool->Stop();
  rep_->look_pool->Stop();
  rep_->abuse_monitor.reset();
}

}  // namespace sortition
