#include "bench/serving/echo_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <malloc.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {
namespace {

// Handles one request from its arrival to its answer, then the next.
class EchoCall {
 public:
  EchoCall(v1::Ranking::AsyncService* service,
           grpc::ServerCompletionQueue* queue, const v1::RankResponse* response)
      : service_(service), queue_(queue), response_(response) {
    Listen();
  }

  void Proceed(bool ok) {
    if (answered_ || !ok) {
      Listen();
      return;
    }
    answered_ = true;
    rpc_->responder.Finish(*response_, grpc::Status::OK, this);
  }

 private:
  struct Rpc {
    grpc::ServerContext context;
    grpc::ServerAsyncResponseWriter<v1::RankResponse> responder{&context};
  };

  void Listen() {
    answered_ = false;
    rpc_ = std::make_unique<Rpc>();
    service_->RequestRank(&rpc_->context, &request_, &rpc_->responder, queue_,
                          queue_, this);
  }

  v1::Ranking::AsyncService* service_;
  grpc::ServerCompletionQueue* queue_;
  const v1::RankResponse* response_;
  v1::RankRequest request_;
  std::unique_ptr<Rpc> rpc_;
  bool answered_ = false;
};

class CallbackEcho : public v1::Ranking::CallbackService {
 public:
  explicit CallbackEcho(const v1::RankResponse* response)
      : response_(response) {}

  grpc::ServerUnaryReactor* Rank(grpc::CallbackServerContext* context,
                                 const v1::RankRequest* /*request*/,
                                 v1::RankResponse* response) override {
    *response = *response_;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const v1::RankResponse* response_;
};

absl::Status WritePort(const std::string& port_file, int port) {
  return WriteFile(port_file, absl::StrCat("rpc ", port, "\n"));
}

absl::Status RunQueue(const EchoOptions& options,
                      const v1::RankResponse& response) {
  // This is the number of requests that the load generator holds.
  constexpr int kCalls = 64;
  v1::Ranking::AsyncService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue =
      builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("echo cannot listen");
  std::vector<std::unique_ptr<EchoCall>> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(
        std::make_unique<EchoCall>(&service, queue.get(), &response));
  }
  RETURN_IF_ERROR(WritePort(options.port_file, port));
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<EchoCall*>(tag)->Proceed(ok);
  return absl::OkStatus();
}

absl::Status RunCallback(const EchoOptions& options,
                         const v1::RankResponse& response) {
  CallbackEcho service(&response);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError("echo cannot listen");
  RETURN_IF_ERROR(WritePort(options.port_file, port));
  server->Wait();
  return absl::OkStatus();
}

}  // namespace

absl::Status RunEchoServer(const EchoOptions& options) {
  // The allocator keeps freed pages, which makes the echo as cheap as possible,
  // so that ratios to it flatter nobody.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(options.response_file));
  v1::RankResponse response;
  if (!response.ParseFromString(bytes)) {
    return absl::DataLossError("not a RankResponse: " + options.response_file);
  }
  return options.api == "queue" ? RunQueue(options, response)
                                : RunCallback(options, response);
}

}  // namespace sortition
