#include "client/rpc/channel.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grpcpp/channel.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace sortition {
namespace {

constexpr int kReconnectMilliseconds = 100;
constexpr int kMaxReconnectMilliseconds = 2000;

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  if (!credentials.server_name.empty()) {
    arguments.SetSslTargetNameOverride(credentials.server_name);
  }
  // Otherwise, channels to one address share connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Short, so that a retry finds a server that came back, and does not wait for
  // the channel's own back-off.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   kReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   kMaxReconnectMilliseconds);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, credentials.channel, arguments);
}

std::vector<std::string> SplitAddresses(const std::string& list) {
  if (absl::StartsWith(list, "ipv4:") || absl::StartsWith(list, "ipv6:")) {
    return {list};
  }
  return absl::StrSplit(list, ',');
}

std::optional<std::string> OneOfSeveral(const std::string& peer,
                                        const std::string& address) {
  const bool is_server = absl::StartsWith(peer, "ipv4:") ||
                         absl::StartsWith(peer, "ipv6:") ||
                         absl::StartsWith(peer, "unix:");
  if (!is_server || absl::StrContains(peer, ',') || peer == address ||
      absl::EndsWith(peer, absl::StrCat(":", address))) {
    return std::nullopt;
  }
  return peer;
}

}  // namespace sortition
