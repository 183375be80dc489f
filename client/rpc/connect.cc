#include "client/rpc/connect.h"

#include "absl/strings/str_cat.h"

namespace sortition {

absl::StatusOr<std::unique_ptr<Client>> ConnectClient(
    const config::v1::ClientOptions& options) {
  return Client::Connect(
      options.server(),
      {.deadline_seconds = options.deadline_seconds(),
       .max_attempts = options.has_max_attempts()
                           ? std::optional<uint32_t>(options.max_attempts())
                           : std::nullopt,
       .any_server = options.any_server(),
       .security = {.ca_file = options.ca_file(),
                    .certificate_file = options.certificate_file(),
                    .key_file = options.key_file(),
                    .server_name = options.server_name(),
                    .token_file = options.token_file(),
                    .plaintext_tokens = options.plaintext_tokens()}});
}

absl::Status AtServer(const config::v1::ClientOptions& options,
                      const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("server ", options.server(),
                                                  ": ", status.message()));
}

}  // namespace sortition
