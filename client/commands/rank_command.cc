#include "absl/strings/str_cat.h"
#include "client/commands/decide_input.h"
#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

std::string RankText(const v1::RankRequest& request,
                     const v1::RankResponse& response) {
  const v1::Candidates& candidates = request.context().candidates();
  std::vector<std::vector<std::string>> rows = {
      {"rank", "candidate", "id", "probability", "score", "first"}};
  for (int rank = 0; rank < response.order_size(); ++rank) {
    const uint32_t document_index = response.order(rank);
    const bool has_id =
        document_index < static_cast<uint32_t>(candidates.ids_size());
    const bool has_conditional =
        rank < response.conditional_log_propensities_size();
    rows.push_back(
        {absl::StrCat(rank), absl::StrCat(document_index),
         has_id ? candidates.ids(static_cast<int>(document_index)) : "",
         has_conditional
             ? ProbabilityText(response.conditional_log_propensities(rank))
             : "",
         EntryText(response.result().scores(), document_index),
         EntryText(response.result().probabilities(), document_index)});
  }
  return DecisionHead(response.result()) + FormatTable(rows);
}

}  // namespace

absl::Status RunRank(const config::v1::DecideOptions& options,
                     const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("format", options.format(), {"auto", "letor", "json"}));
  if (options.has_k()) return UsageError("--k is for label, --top_k for rank");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.features()));
  ASSIGN_OR_RETURN(v1::RankRequest request,
                   MakeRequest<v1::RankRequest>(options, text));
  if (options.has_top_k()) request.set_top_k(options.top_k());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const absl::StatusOr<v1::RankResponse> response = client->Rank(request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << (options.output() == "json" ? MessageJson(*response) + "\n"
                                             : RankText(request, *response));
  return absl::OkStatus();
}

}  // namespace sortition
