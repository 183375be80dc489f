#include "client/commands/decide_input.h"

#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/util/json_util.h"
#include "io/datasets/label_file_options.h"
#include "io/datasets/letor.h"
#include "io/datasets/query_candidates.h"

namespace sortition {
namespace internal {

bool IsJson(absl::string_view format, absl::string_view text) {
  return format == "json" ||
         (format == "auto" &&
          absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{"));
}

absl::Status FillFromJson(const std::string& text,
                          google::protobuf::Message* request) {
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, request);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "features is not the JSON of a ", request->GetDescriptor()->full_name(),
      ": ", std::string(status.message())));
}

absl::Status FillFromLetor(absl::string_view text,
                           const config::v1::LabelFileOptions& options,
                           AbsentFeatures absent,
                           v1::DecisionContext* context) {
  ASSIGN_OR_RETURN(
      LabelledQueries queries,
      ParseLetor(AddMissingQids(text), ToSvmlightOptions(options)));
  if (queries.queries.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("features holds ", queries.queries.size(),
                     " queries, must hold exactly 1"));
  }
  LabelledQuery& query = queries.queries[0];
  if (absent == AbsentFeatures::kAreZero) query.stated = nullptr;
  SetQueryCandidates(query, queries.num_features,
                     context->mutable_candidates());
  return absl::OkStatus();
}

absl::Status SetBaseline(const google::protobuf::RepeatedField<int32_t>& action,
                         v1::DecisionContext* context) {
  if (action.empty()) return absl::OkStatus();
  v1::Baseline& baseline = *context->mutable_baseline();
  baseline.clear_action();
  baseline.set_abstain(action.size() == 1 && action[0] == -1);
  if (baseline.abstain()) return absl::OkStatus();
  for (const int32_t document : action) {
    if (document < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "baseline = ", document,
          ": must be document indexes, each at least 0, or -1 alone"));
    }
    baseline.add_action(static_cast<uint32_t>(document));
  }
  return absl::OkStatus();
}

absl::Status ApplyFlags(const config::v1::DecideOptions& options,
                        v1::DecisionContext* context) {
  if (options.has_model()) context->set_model(options.model());
  if (options.has_version()) context->set_version(options.version());
  if (options.has_decision_id()) {
    context->set_decision_id(options.decision_id());
  }
  if (options.has_unit_id()) context->set_unit_id(options.unit_id());
  if (options.scores()) context->set_return_scores(true);
  if (options.probabilities()) context->set_return_probabilities(true);
  if (options.return_game()) context->set_return_game(true);
  if (options.has_label()) context->set_label(options.label());
  RETURN_IF_ERROR(SetBaseline(options.baseline(), context));
  return SetAttributes(options.attributes(), context);
}

}  // namespace internal

absl::Status SetAttributes(
    const google::protobuf::RepeatedPtrField<std::string>& attributes,
    v1::DecisionContext* context) {
  for (const std::string& attribute : attributes) {
    const size_t equals = attribute.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("attributes: '", attribute, "': must be name=value"));
    }
    (*context->mutable_attributes())[attribute.substr(0, equals)] =
        attribute.substr(equals + 1);
  }
  return absl::OkStatus();
}

std::string AddMissingQids(absl::string_view text) {
  std::string result;
  text = SkipByteOrderMark(text);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view data =
        absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (data.empty() || absl::StrContains(data, "qid:")) {
      absl::StrAppend(&result, line, "\n");
      continue;
    }
    const size_t space = data.find_first_of(" \t");
    absl::StrAppend(&result, data.substr(0, space), " qid:1",
                    space == data.npos ? "" : data.substr(space), "\n");
  }
  return result;
}

std::string ProbabilityText(double log_propensity) {
  return absl::StrFormat("%.6g", std::exp(log_propensity));
}

std::string EntryText(const google::protobuf::RepeatedField<double>& list,
                      uint32_t i) {
  if (i >= static_cast<uint32_t>(list.size())) return "";
  return absl::StrFormat("%.6g", list.Get(static_cast<int>(i)));
}

std::string DecisionHead(const v1::DecisionResult& result) {
  std::string text = absl::StrCat(
      "decision    ", result.decision_id(), "\nmodel       ",
      result.model().name(), " version ", result.model().version(),
      "\npropensity  ", ProbabilityText(result.log_propensity()), " (log ",
      absl::StrFormat("%.17g", result.log_propensity()), ")\n");
  if (result.arm_probability() > 0) {
    absl::StrAppendFormat(&text, "arm         %.6g of the traffic\n",
                          result.arm_probability());
  }
  if (result.interleaved_version() > 0) {
    absl::StrAppend(&text, "interleaved with version ",
                    result.interleaved_version(), "\n");
  }
  if (result.is_baseline()) {
    absl::StrAppend(&text, "decided by  the baseline\n");
  }
  if (!result.degraded().empty()) {
    absl::StrAppend(&text, "degraded    ", result.degraded(), "\n");
  }
  if (result.has_game()) {
    absl::StrAppendFormat(&text, "game        [%.6g, %.6g] after %d rounds\n",
                          result.game().lower(), result.game().upper(),
                          result.game().rounds());
  }
  return text;
}

}  // namespace sortition
