#include "server/identity/authorizer.h"

#include <grpc/grpc_security_constants.h>

#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "process/log.h"
#include "process/log_rate.h"

namespace sortition {
namespace {

// Returns the common name of the certificate that the client has shown; empty:
// none.
std::string CertificateName(const grpc::ServerContext& context) {
  const auto identity = context.auth_context();
  if (identity == nullptr) return "";
  const auto names = identity->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.empty() ? "" : std::string(names[0].data(), names[0].size());
}

// A caller with a known token has at least one role.
constexpr Role kAnyRole = static_cast<Role>(~uint32_t{0});

// What the metadata of calls over HTTP begin with.
const std::string& HttpMark() {
  static const std::string mark = [] {
    std::random_device random;
    return absl::StrCat(random(), "-", random(), "-", random(), "-", random(),
                        " ");
  }();
  return mark;
}

// Returns whether a line about a call that ended so may be written now. Stores
// how many could not since the last one.
bool MayLog(const absl::Status& status, uint64_t* left_out) {
  if (status.ok()) return true;
  static LogRate rate(kMostRefusedPerSecond);
  return rate.MayLog(left_out);
}

}  // namespace

void Authorizer::Set(TokenTable table) {
  auto next = std::make_unique<const TokenTable>(std::move(table));
  const std::lock_guard lock(mutex_);
  table_.store(next.get(), std::memory_order_release);
  tables_.push_back(std::move(next));
}

absl::StatusOr<const Caller*> Authorizer::Check(
    Role role, const grpc::ServerContext& context) const {
  const auto header = context.client_metadata().find("authorization");
  return Check(role, header == context.client_metadata().end()
                         ? absl::string_view()
                         : absl::string_view(header->second.data(),
                                             header->second.size()));
}

absl::StatusOr<const Caller*> Authorizer::Check(Role role,
                                                absl::string_view token) const {
  if (token.empty()) {
    return absl::UnauthenticatedError(
        "metadata \"authorization\": missing, must be \"Bearer TOKEN\"");
  }
  constexpr absl::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(token, kScheme)) {
    return absl::UnauthenticatedError(
        "metadata \"authorization\": must be \"Bearer TOKEN\"");
  }
  token.remove_prefix(kScheme.size());
  const Caller* const caller =
      table_.load(std::memory_order_acquire)->Find(token);
  if (caller == nullptr) {
    return absl::UnauthenticatedError("the token is not one that is known");
  }
  if (caller->until_time_s != 0 &&
      caller->until_time_s <= absl::GetCurrentTimeNanos() / 1'000'000'000) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the time of the token of \"", caller->name, "\" is over"));
  }
  if ((caller->roles & static_cast<uint32_t>(role)) == 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("\"", caller->name, "\" has not the role ", RoleName(role),
                     ", which this method needs"));
  }
  return caller;
}

absl::Status AuthorizeCall(const Authorizer* authorizer, Role role,
                           const std::string& method,
                           const grpc::ServerContext& context) {
  if (authorizer == nullptr && role != Role::kAdmin) return absl::OkStatus();
  std::string name;
  absl::Status status;
  if (authorizer != nullptr) {
    // Who called is known, even if the role is wrong.
    const auto caller = authorizer->Check(kAnyRole, context);
    if (caller.ok()) name = (*caller)->name;
    status = authorizer->Check(role, context).status();
  }
  uint64_t left_out = 0;
  if (role != Role::kAdmin || !MayLog(status, &left_out)) return status;
  LogInfo("audit", {{"method", method},
                    {"caller", name},
                    {"certificate", CertificateName(context)},
                    {"peer", PeerName(context)},
                    {"code", absl::StatusCodeToString(status.code())},
                    {"reason", status.message()},
                    {"left_out", left_out}});
  return status;
}

std::string HttpPeerValue(absl::string_view address) {
  return absl::StrCat(HttpMark(), address);
}

std::string PeerName(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find(kHttpPeerKey);
  if (found == context.client_metadata().end()) return context.peer();
  absl::string_view value(found->second.data(), found->second.size());
  if (!absl::ConsumePrefix(&value, HttpMark())) return context.peer();
  return absl::StrCat("http:", value);
}

std::string CallerName(const Authorizer* authorizer,
                       const grpc::ServerContext& context) {
  if (authorizer != nullptr) {
    const auto caller = authorizer->Check(Role::kAdmin, context);
    if (caller.ok()) return (*caller)->name;
  }
  const std::string certificate = CertificateName(context);
  return certificate.empty() ? PeerName(context) : certificate;
}

}  // namespace sortition
