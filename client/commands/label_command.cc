#include <algorithm>
#include <vector>

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

std::string LabelText(const v1::LabelRequest& request,
                      const v1::LabelResponse& response) {
  const v1::DecisionResult& result = response.result();
  const v1::Candidates& candidates = request.context().candidates();
  std::string text = DecisionHead(result);
  if (response.chosen_size() == 0) absl::StrAppend(&text, "chosen      none\n");
  std::vector<bool> chosen;
  for (const uint32_t i : response.chosen()) {
    if (chosen.size() <= i) chosen.resize(i + 1);
    chosen[i] = true;
  }
  // Lists every candidate where there are numbers for all, else the chosen
  // ones.
  const int listed =
      std::max(result.scores_size(), result.probabilities_size());
  const int end = std::max(listed, static_cast<int>(chosen.size()));
  std::vector<std::vector<std::string>> rows = {
      {"candidate", "id", "chosen", "score", "probability"}};
  for (int i = 0; i < end; ++i) {
    const bool in = static_cast<size_t>(i) < chosen.size() && chosen[i];
    if (!in && i >= listed) continue;
    rows.push_back({absl::StrCat(i),
                    i < candidates.ids_size() ? candidates.ids(i) : "",
                    in ? "yes" : "", EntryText(result.scores(), i),
                    EntryText(result.probabilities(), i)});
  }
  return rows.size() == 1 ? text : text + FormatTable(rows);
}

}  // namespace

absl::Status RunLabel(const config::v1::DecideOptions& options,
                      const std::vector<std::string>&, CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("format", options.format(), {"auto", "letor", "json"}));
  if (options.has_top_k()) {
    return UsageError("--top_k is for rank; the size of a subset is --k");
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.features()));
  ASSIGN_OR_RETURN(v1::LabelRequest request,
                   MakeRequest<v1::LabelRequest>(options, text));
  if (options.has_k()) request.set_k(options.k());
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const absl::StatusOr<v1::LabelResponse> response = client->Label(request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << (options.output() == "json" ? MessageJson(*response) + "\n"
                                             : LabelText(request, *response));
  return absl::OkStatus();
}

}  // namespace sortition
