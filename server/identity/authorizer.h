#pragma once
// Whether a call may be made.
#include <grpcpp/server_context.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/identity/tokens.h"

namespace sortition {

// Thread-safe; calls wait for nothing.
class Authorizer {
 public:
  explicit Authorizer(TokenTable table) { Set(std::move(table)); }

  // Holds for every call that comes from now on.
  void Set(TokenTable table);

  // Returns the caller, who has a token for `role`. Unauthenticated: there is
  // no token, or it is unknown or its time is over. PermissionDenied: the
  // caller has not this role. Messages never repeat a token.
  absl::StatusOr<const Caller*> Check(Role role,
                                      const grpc::ServerContext& context) const;
  // As above, from the value of "authorization"; empty: it is absent.
  absl::StatusOr<const Caller*> Check(Role role,
                                      absl::string_view authorization) const;

 private:
  std::atomic<const TokenTable*> table_{nullptr};
  std::mutex mutex_;
  // All that ever held: a call may still look at one. Files change rarely and
  // are small.
  std::vector<std::unique_ptr<const TokenTable>> tables_;
};

// Checks a call of `method`. `authorizer` may be null: everybody may call. A
// call for kAdmin is logged, whatever comes of it: who made it, from where, and
// whether it was let in. Of those that were not, at most kMostRefusedPerSecond
// are: the next line says how many were left out.
absl::Status AuthorizeCall(const Authorizer* authorizer, Role role,
                           const std::string& method,
                           const grpc::ServerContext& context);
inline constexpr int kMostRefusedPerSecond = 10;

// Metadata of a call that came over HTTP: the address of its client.
inline constexpr char kHttpPeerKey[] = "sortition-http-peer";
// Returns its value, which contains a random number of this process: clients
// cannot claim to have come over HTTP, from where they like.
std::string HttpPeerValue(absl::string_view address);

// Returns where a call comes from: the address as gRPC writes it, or
// "http:127.0.0.1:54321".
std::string PeerName(const grpc::ServerContext& context);

// Returns who makes a call for kAdmin that was let in: the name of the token's
// owner, or that of the client's certificate where nobody needs a token, or the
// address where nobody needs either.
std::string CallerName(const Authorizer* authorizer,
                       const grpc::ServerContext& context);

}  // namespace sortition
