#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "client/rpc/uuid.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::Status RunFeedback(const config::v1::FeedbackOptions& options,
                         const std::vector<std::string>&,
                         CommandOutput* output) {
  v1::ReportFeedbackRequest request;
  v1::Feedback* feedback = request.add_feedback();
  feedback->set_feedback_id(
      options.feedback_id().empty() ? MakeUuidV7() : options.feedback_id());
  feedback->set_decision_id(options.decision_id());
  feedback->set_reward(options.reward());
  if (options.has_rank()) feedback->set_rank(options.rank());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const auto response = client->ReportFeedback(request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << "reported feedback " << feedback->feedback_id()
              << " for decision " << options.decision_id() << "\n";
  return absl::OkStatus();
}

}  // namespace sortition
