#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::Status RunShown(const config::v1::ShownOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  if (options.not_shown() && options.shown_size() > 0) {
    return UsageError("--not_shown with --shown: nothing can have been seen");
  }
  if (!options.not_shown() && options.shown_size() == 0) {
    return UsageError("needs --shown=N,… or --not_shown");
  }
  v1::ReportShownRequest request;
  request.set_decision_id(options.decision_id());
  *request.mutable_shown() = options.shown();
  request.set_not_shown(options.not_shown());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  RETURN_IF_ERROR(
      AtServer(options.client(), client->ReportShown(request).status()));
  output->out << "reported what was shown of decision " << options.decision_id()
              << "\n";
  return absl::OkStatus();
}

}  // namespace sortition
