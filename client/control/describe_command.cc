#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/control/agreement_text.h"
#include "client/control/control_commands.h"
#include "client/control/serving_text.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

std::string UsesOf(const v1::ModelStatus& status, uint64_t version) {
  for (const v1::LoadedVersion& loaded : status.loaded()) {
    if (loaded.version() != version) continue;
    std::string uses;
    for (const std::string& use : loaded.uses()) {
      absl::StrAppend(&uses, uses.empty() ? "" : ", ", use);
    }
    return uses;
  }
  for (const v1::RejectedVersion& rejected : status.rejected()) {
    if (rejected.version() == version) return "rejected";
  }
  return "";
}

// Returns the last `most` changes, two lines each.
std::string HistoryText(const v1::DescribeModelResponse& response,
                        uint32_t most) {
  const int count = response.history_size();
  const int first =
      count - std::min(count, static_cast<int>(std::min(most, 1000u)));
  if (count == 0) return "";
  std::string text = "\n";
  if (first > 0) {
    absl::StrAppend(&text, first, " changes before (--history)\n");
  }
  for (int i = first; i < count; ++i) {
    const model::v1::Serving& state = response.history(i);
    absl::StrAppend(&text, ChangeText(state), "\n  ", ServingText(state), "\n");
  }
  return text;
}

std::string DescriptionText(const v1::DescribeModelResponse& response,
                            uint32_t history) {
  const v1::ModelStatus& status = response.status();
  std::string text = absl::StrCat(
      "model ", status.name(), ", ", status.policy(), ", ", InputText(status),
      status.has_schema() ? "" : " features", "\n", "version ",
      status.version(), " serves: ", ServingText(status.serving()), "\n");
  for (const auto& column : status.schema().column()) {
    absl::StrAppend(
        &text, "  ", column.name(), ": ",
        model::v1::ColumnSchema::Type_Name(column.type()),
        column.scope() == model::v1::ColumnSchema::QUERY ? " of the query" : "",
        "\n");
  }
  if (status.has_agreement()) {
    absl::StrAppend(&text, AgreementText(status), "\n");
  }
  if (!status.serving_error().empty()) {
    absl::StrAppend(&text, "SERVING.textproto is not in force: ",
                    status.serving_error(), "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"version", "made", "learner", "parent", "use", "comment"}};
  for (const v1::StoredVersion& version : response.versions()) {
    rows.push_back({absl::StrCat(version.version()),
                    TimeText(version.created_time_us()), version.learner(),
                    absl::StrCat(version.parent_version()),
                    UsesOf(status, version.version()),
                    OneLine(version.error().empty() ? version.comment()
                                                    : version.error())});
  }
  absl::StrAppend(&text, "\n", FormatTable(rows));
  for (const v1::RejectedVersion& rejected : status.rejected()) {
    absl::StrAppend(&text, "rejected version ", rejected.version(), ": ",
                    rejected.reason(), "\n");
  }
  text += IgnoredText("version", absl::StrCat(status.name(), "/"),
                      status.not_versions());
  absl::StrAppend(&text, HistoryText(response, history));
  return text;
}

}  // namespace

absl::Status RunModelsDescribe(const config::v1::ModelsOptions& options,
                               const std::vector<std::string>&,
                               CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  v1::DescribeModelRequest request;
  request.set_model(options.model());
  const auto response = client->DescribeModel(request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << (options.output() == "json"
                      ? MessageJson(*response) + "\n"
                      : DescriptionText(*response, options.history()));
  return absl::OkStatus();
}

}  // namespace sortition
