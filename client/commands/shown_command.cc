#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::Status RunShown(const config::v1::ShownOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  if (options.not_shown() && options.shown_size() > 0) {
    return UsageError("--not_shown with --shown: nothing can have been seen");
  }
  if (options.not_shown() && options.has_seen_ranks()) {
    return UsageError(
        "--not_shown with --seen_ranks: nothing can have been seen");
  }
  if (options.first_rank() > 0 && options.shown_size() == 0) {
    return UsageError("--first_rank needs --shown, the page that begins there");
  }
  if (!options.not_shown() && options.shown_size() == 0 &&
      !options.has_seen_ranks()) {
    return UsageError("needs --shown=N,…, --seen_ranks or --not_shown");
  }
  v1::ReportShownRequest request;
  request.set_decision_id(options.decision_id());
  *request.mutable_shown() = options.shown();
  request.set_not_shown(options.not_shown());
  request.set_first_rank(options.first_rank());
  if (options.has_seen_ranks()) request.set_seen_ranks(options.seen_ranks());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  RETURN_IF_ERROR(
      AtServer(options.client(), client->ReportShown(request).status()));
  output->out << "reported what was shown of decision " << options.decision_id()
              << "\n";
  return absl::OkStatus();
}

}  // namespace sortition
