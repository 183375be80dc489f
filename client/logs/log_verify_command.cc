#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/logs/log_commands.h"
#include "client/logs/log_verify.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

double Rate(const VerifyResult& result) {
  return static_cast<double>(result.verified + result.different) /
         std::max(result.seconds, 1e-9);
}

std::string VerifyResultText(const VerifyResult& result) {
  return absl::StrFormat(
      "%d decisions verified bit for bit, %d different, %d corrupt records, "
      "%s%s%s%s%.0f decisions/s\n%s",
      result.verified, result.different, result.corrupt_records,
      result.imported > 0 ? absl::StrCat(result.imported,
                                         " not a Sortition policy (imported), ")
                          : "",
      result.views > 0
          ? absl::StrCat(result.views, " views of shadows verified, ")
          : "",
      result.lone_views > 0
          ? absl::StrCat(result.lone_views, " views without their decision, ")
          : "",
      result.labels > 0 ? absl::StrCat(result.labels, " of labels left out, ")
                        : "",
      Rate(result),
      result.imported > 0
          ? "Imported decisions were drawn elsewhere: their propensities are "
            "what their file says, and nothing here can recompute them.\n"
          : "");
}

// Returns an error that says which part of the log is not verified.
absl::Status Verdict(const std::vector<std::string>& entries,
                     const VerifyResult& result) {
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
  if (result.labels > 0) {
    return absl::UnimplementedError(absl::StrCat(
        result.labels,
        " decisions chose labels and were not verified: a conversion draws all "
        "of them in one sequence, not each by its id; sortition-trainer "
        "convert with the options in the segments' headers repeats it"));
  }
  if (result.verified == 0 && result.imported == 0) {
    return absl::NotFoundError(
        absl::StrCat(absl::StrJoin(entries, " "), " holds no decisions"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string VerifyResultJson(const VerifyResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("verified").Count(result.verified);
  json.Key("different").Count(result.different);
  json.Key("corrupt_records").Count(result.corrupt_records);
  json.Key("labels").Count(result.labels);
  json.Key("imported").Count(result.imported);
  json.Key("views").Count(result.views);
  json.Key("lone_views").Count(result.lone_views);
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
                          const std::vector<std::string>& positional,
                          CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  std::optional<ModelStore> store;
  if (!options.model_store().empty()) store.emplace(options.model_store());
  DecisionVerifier verifier(std::move(store));
  ASSIGN_OR_RETURN(const VerifyResult result, VerifyLog(positional, &verifier));
  output->out << (options.output() == "json" ? VerifyResultJson(result) + "\n"
                                             : VerifyResultText(result));
  return Verdict(positional, result);
}

}  // namespace sortition
