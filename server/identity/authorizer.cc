#include "server/identity/authorizer.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "process/log.h"

namespace sortition {

void Authorizer::Set(TokenTable table) {
  auto next = std::make_unique<const TokenTable>(std::move(table));
  const std::lock_guard lock(mutex_);
  table_.store(next.get(), std::memory_order_release);
  tables_.push_back(std::move(next));
}

absl::StatusOr<const Caller*> Authorizer::Check(
    Role role, const grpc::ServerContext& context) const {
  const auto header = context.client_metadata().find("authorization");
  if (header == context.client_metadata().end()) {
    return absl::UnauthenticatedError(
        "metadata \"authorization\": missing, must be \"Bearer TOKEN\"");
  }
  absl::string_view token(header->second.data(), header->second.size());
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
  if (authorizer == nullptr) return absl::OkStatus();
  const auto caller = authorizer->Check(role, context);
  if (role == Role::kAdmin) {
    LogInfo("audit",
            {{"method", method},
             {"caller", caller.ok() ? (*caller)->name : ""},
             {"peer", context.peer()},
             {"code", absl::StatusCodeToString(caller.status().code())},
             {"reason", caller.status().message()}});
  }
  return caller.status();
}

std::string CallerName(const Authorizer* authorizer,
                       const grpc::ServerContext& context) {
  if (authorizer != nullptr) {
    const auto caller = authorizer->Check(Role::kAdmin, context);
    if (caller.ok()) return (*caller)->name;
  }
  return context.peer();
}

}  // namespace sortition
