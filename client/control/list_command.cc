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

std::string ModelsText(const v1::ListModelsResponse& response) {
  std::vector<std::vector<std::string>> rows = {{"model", "version", "policy",
                                                 "features", "loaded",
                                                 "rejected", "what serves"}};
  std::string reasons;
  for (const v1::ModelStatus& model : response.models()) {
    rows.push_back({model.name(), absl::StrCat(model.version()), model.policy(),
                    InputText(model), TimeText(model.loaded_time_us()),
                    absl::StrCat(model.rejected_size()),
                    ServingText(model.serving())});
    for (const v1::RejectedVersion& rejected : model.rejected()) {
      absl::StrAppend(&reasons, "rejected ", model.name(), " version ",
                      rejected.version(), ": ", rejected.reason(), "\n");
    }
    reasons += IgnoredText("version", absl::StrCat(model.name(), "/"),
                           model.not_versions());
    if (model.has_agreement()) {
      absl::StrAppend(&reasons, model.name(), ": ", AgreementText(model), "\n");
    }
    if (!model.serving_error().empty()) {
      absl::StrAppend(&reasons, "SERVING.textproto of ", model.name(),
                      " is not in force: ", model.serving_error(), "\n");
    }
  }
  return FormatTable(rows) + reasons +
         IgnoredText("model", "", response.not_models());
}

}  // namespace

absl::Status RunModelsList(const config::v1::ModelsOptions& options,
                           const std::vector<std::string>&,
                           CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const absl::StatusOr<v1::ListModelsResponse> response = client->ListModels();
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  output->out << (options.output() == "json" ? MessageJson(*response) + "\n"
                                             : ModelsText(*response));
  return absl::OkStatus();
}

}  // namespace sortition
