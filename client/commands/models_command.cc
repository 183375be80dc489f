#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/commands/request_commands.h"
#include "client/rpc/connect.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

std::string ModelsText(const v1::ListModelsResponse& response) {
  std::vector<std::vector<std::string>> rows = {
      {"model", "version", "policy", "features", "loaded", "rejected"}};
  std::string reasons;
  for (const v1::ModelStatus& model : response.models()) {
    rows.push_back(
        {model.name(), absl::StrCat(model.version()), model.policy(),
         absl::StrCat(model.num_features()),
         model.loaded_time_us() == 0
             ? ""
             : absl::FormatTime("%Y-%m-%d %H:%M:%SZ",
                                absl::FromUnixMicros(model.loaded_time_us()),
                                absl::UTCTimeZone()),
         absl::StrCat(model.rejected_size())});
    for (const v1::RejectedVersion& rejected : model.rejected()) {
      absl::StrAppend(&reasons, "rejected ", model.name(), " version ",
                      rejected.version(), ": ", rejected.reason(), "\n");
    }
  }
  return FormatTable(rows) + reasons;
}

}  // namespace

absl::Status RunModelsList(const config::v1::ModelsListOptions& options,
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
