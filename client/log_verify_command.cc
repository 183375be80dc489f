#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands.h"
#include "client/json_writer.h"
#include "client/log_verify.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

double Rate(const VerifyResult& result) {
  return static_cast<double>(result.verified + result.different) /
         std::max(result.seconds, 1e-9);
}

std::string VerifyResultText(const VerifyResult& result) {
  return absl::StrFormat(
      "%d decisions verified bit for bit, %d different, %d corrupt records, "
      "%.0f decisions/s\n",
      result.verified, result.different, result.corrupt_records, Rate(result));
}

}  // namespace

std::string VerifyResultJson(const VerifyResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("verified").Count(result.verified);
  json.Key("different").Count(result.different);
  json.Key("corrupt_records").Count(result.corrupt_records);
  json.Key("seconds").Number(result.seconds);
  json.Key("decisions_per_second").Number(Rate(result));
  if (result.different > 0) {
    json.Key("first_different").BeginObject();
    json.Key("file").String(result.first_file);
    json.Key("offset").Count(result.first_offset);
    json.Key("decision_id").String(result.first_decision_id);
    json.Key("difference").String(result.first_difference).EndObject();
  }
  json.EndObject();
  return json.text();
}

absl::Status RunLogVerify(const config::v1::LogOptions& options,
                          const Arguments& positional, CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  std::optional<ModelStore> store;
  if (!options.model_store().empty()) store.emplace(options.model_store());
  DecisionVerifier verifier(std::move(store));
  ASSIGN_OR_RETURN(const VerifyResult result,
                   VerifyLog(positional[0], &verifier));
  output->out << (options.output() == "json" ? VerifyResultJson(result) + "\n"
                                             : VerifyResultText(result));
  if (result.different > 0) {
    return absl::DataLossError(absl::StrCat(
        result.first_file, " offset ", result.first_offset, " decision ",
        result.first_decision_id, ": ", result.first_difference));
  }
  if (result.corrupt_records > 0) {
    return absl::DataLossError(
        absl::StrCat(result.corrupt_records,
                     " corrupt records could not be verified (see log cat)"));
  }
  if (result.verified == 0) {
    return absl::NotFoundError(
        absl::StrCat(positional[0], " holds no decisions"));
  }
  return absl::OkStatus();
}

}  // namespace sortition
