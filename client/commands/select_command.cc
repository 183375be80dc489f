#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/decide_input.h"
#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

std::string SelectText(const v1::SelectRequest& request,
                       const v1::SelectResponse& response) {
  const v1::DecisionResult& result = response.result();
  const v1::Candidates& candidates = request.context().candidates();
  std::string text = DecisionHead(result);
  if (!response.has_selected()) {
    absl::StrAppend(&text, "selected    no answer\n");
  } else {
    const int selected = static_cast<int>(response.selected());
    absl::StrAppend(&text, "selected    ", selected,
                    selected < candidates.ids_size()
                        ? absl::StrCat(" (", candidates.ids(selected), ")")
                        : "",
                    "\n");
  }
  if (request.context().return_probabilities()) {
    absl::StrAppendFormat(&text, "abstain     %.6g\n",
                          response.abstain_probability());
  }
  const int listed =
      std::max(result.scores_size(), result.probabilities_size());
  if (listed == 0) return text;
  std::vector<std::vector<std::string>> rows = {
      {"candidate", "id", "score", "probability"}};
  for (int i = 0; i < listed; ++i) {
    rows.push_back(
        {absl::StrCat(i), i < candidates.ids_size() ? candidates.ids(i) : "",
         EntryText(result.scores(), i), EntryText(result.probabilities(), i)});
  }
  return text + FormatTable(rows);
}

}  // namespace

absl::Status RunSelect(const config::v1::DecideOptions& options,
                       const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("format", options.format(), {"auto", "letor", "json"}));
  if (options.has_top_k()) {
    return UsageError("--top_k is for rank; select gives one answer");
  }
  if (options.has_k()) return UsageError("--k is for label");
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.features()));
  ASSIGN_OR_RETURN(const v1::SelectRequest request,
                   MakeRequest<v1::SelectRequest>(options, text));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const absl::StatusOr<v1::SelectResponse> response = client->Select(request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << (options.output() == "json" ? MessageJson(*response) + "\n"
                                             : SelectText(request, *response));
  return absl::OkStatus();
}

}  // namespace sortition
