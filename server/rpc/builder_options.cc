#include "server/rpc/builder_options.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/resource_quota.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

// Switches reflection on or off for this server alone: linking the library
// switches it on for all servers of the process.
class ReflectionOption final : public grpc::ServerBuilderOption {
 public:
  explicit ReflectionOption(bool serve) : serve_(serve) {}
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    auto ours =
        std::make_unique<grpc::reflection::ProtoServerReflectionPlugin>();
    std::erase_if(*plugins, [&](const auto& plugin) {
      return plugin->name() == ours->name();
    });
    if (serve_) plugins->push_back(std::move(ours));
  }

 private:
  const bool serve_;
};

// Sets gRPC's own limits. Calls that no slot has taken up wait inside gRPC, and
// only gRPC can bound them.
void SetLimits(const config::v1::RequestLimits& limits,
               grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(
      static_cast<int>(limits.max_message_bytes()));
  builder->AddChannelArgument(
      GRPC_ARG_MAX_CONCURRENT_STREAMS,
      static_cast<int>(limits.max_concurrent_streams()));
  grpc::ResourceQuota quota("sortition-server");
  quota.Resize(limits.memory_bytes());
  builder->SetResourceQuota(quota);
}

void SetConnectionLimits(const config::v1::ConnectionLimits& limits,
                         grpc::ServerBuilder* builder) {
  const auto set = [builder](const char* name, double seconds) {
    builder->AddChannelArgument(name, static_cast<int>(seconds * 1000));
  };
  set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, limits.handshake_seconds());
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, limits.idle_seconds());
  set(GRPC_ARG_MAX_CONNECTION_AGE_MS, limits.age_seconds());
  set(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, limits.age_grace_seconds());
  set(GRPC_ARG_KEEPALIVE_TIME_MS, limits.keepalive_seconds());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, limits.keepalive_timeout_seconds());
}

}  // namespace

absl::Status ValidateRequestLimits(const config::v1::RequestLimits& limits) {
  const uint64_t least = 2 * uint64_t{limits.max_message_bytes()};
  if (limits.memory_bytes() >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "limits.memory_bytes = ", limits.memory_bytes(), ": must be at least ",
      least, ", twice limits.max_message_bytes"));
}

std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> SetUpBuilder(
    const config::v1::ServerOptions& options, const Identity& identity,
    grpc::ServerBuilder* builder) {
  SetLimits(options.limits(), builder);
  SetConnectionLimits(options.connections(), builder);
  builder->SetOption(std::make_unique<ReflectionOption>(options.reflection()));
  return builder->experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      identity.MakeCredentials());
}

}  // namespace sortition
