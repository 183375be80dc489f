#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/commands/decide_input.h"
#include "client/commands/request_commands.h"
#include "client/commands/score_lists.h"
#include "client/rpc/connect.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "io/files.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

using config::v1::AggregateOptions;
using v1::AggregateRequest;
using v1::AggregateResponse;

// A request, and the names of its sources.
struct Input {
  AggregateRequest request;
  std::vector<std::string> sources;
};

absl::Status FillFromTable(absl::string_view text, Input* input) {
  ASSIGN_OR_RETURN(ScoreTable table, ParseScoreTable(text));
  v1::Candidates* candidates =
      input->request.mutable_context()->mutable_candidates();
  candidates->set_num_features(static_cast<uint32_t>(table.num_sources));
  candidates->mutable_dense()->mutable_values()->Add(table.scores.begin(),
                                                     table.scores.end());
  for (std::string& id : table.candidates) {
    candidates->add_ids(std::move(id));
  }
  input->sources = std::move(table.sources);
  return absl::OkStatus();
}

bool IsLetor(const AggregateOptions& options, absl::string_view text) {
  return options.format() == "letor" ||
         (options.format() == "auto" && absl::StrContains(text, ":"));
}

absl::StatusOr<Input> ReadInput(const AggregateOptions& options,
                                const std::string& text) {
  Input input;
  if (internal::IsJson(options.format(), text)) {
    RETURN_IF_ERROR(internal::FillFromJson(text, &input.request));
  } else if (IsLetor(options, text)) {
    RETURN_IF_ERROR(internal::FillFromLetor(text, options.label_files(),
                                            internal::AbsentFeatures::kAreZero,
                                            input.request.mutable_context()));
  } else {
    RETURN_IF_ERROR(FillFromTable(text, &input));
  }
  return input;
}

// Returns the value called `name`, which is in lower case.
template <typename Enum>
Enum ParseEnum(const std::string& name) {
  const auto* found =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByName(
          absl::AsciiStrToUpper(name));
  CHECK(found != nullptr);
  return static_cast<Enum>(found->number());
}

// Sets what the flags say; in a JSON request, only where a flag was given.
absl::Status ApplyFlags(const AggregateOptions& options, bool json,
                        AggregateRequest* request) {
  v1::DecisionContext* context = request->mutable_context();
  v1::Aggregation* aggregation = request->mutable_aggregation();
  if (options.has_name()) context->set_model(options.name());
  if (options.has_decision_id()) {
    context->set_decision_id(options.decision_id());
  }
  if (options.has_unit_id()) context->set_unit_id(options.unit_id());
  context->set_return_scores(true);
  if (!json || options.has_scale()) {
    aggregation->set_scale(ParseEnum<v1::Aggregation::Scale>(options.scale()));
  }
  if (options.weights_size() > 0) {
    *aggregation->mutable_weights() = options.weights();
  }
  if (!json || options.has_divergence()) {
    request->set_divergence(
        ParseEnum<AggregateRequest::Divergence>(options.divergence()));
  }
  if (options.has_cutoff()) request->set_cutoff(options.cutoff());
  if (options.has_top_k()) request->set_top_k(options.top_k());
  if (options.has_concentration()) {
    request->set_concentration(options.concentration());
  }
  if (options.has_head()) request->set_head(options.head());
  if (options.has_uniform_mixture()) {
    request->set_uniform_mixture(options.uniform_mixture());
  }
  if (!json || options.has_bootstrap_samples()) {
    request->set_bootstrap_samples(options.bootstrap_samples());
  }
  if (!json || options.has_confidence()) {
    request->set_confidence(options.confidence());
  }
  return SetAttributes(options.attributes(), context);
}

std::string IdOf(const AggregateRequest& request, uint32_t document_index) {
  const auto& ids = request.context().candidates().ids();
  return document_index < static_cast<uint32_t>(ids.size())
             ? ids[static_cast<int>(document_index)]
             : "";
}

std::string OrderText(const AggregateRequest& request,
                      const AggregateResponse& response) {
  std::vector<std::vector<std::string>> rows = {
      {"rank", "candidate", "id", "mean", "probability"}};
  for (int rank = 0; rank < response.order_size(); ++rank) {
    const uint32_t i = response.order(rank);
    rows.push_back(
        {absl::StrCat(rank), absl::StrCat(i), IdOf(request, i),
         EntryText(response.result().scores(), i),
         ProbabilityText(response.conditional_log_propensities(rank))});
  }
  return FormatTable(rows);
}

std::string PairsText(const AggregateResponse& response) {
  if (response.pairs().empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"rank of mean", "above the next by", "interval", "support"}};
  for (const v1::PairConfidence& pair : response.pairs()) {
    rows.push_back({absl::StrCat(pair.rank()),
                    absl::StrFormat("%.6g", pair.difference()),
                    absl::StrFormat("[%.4g, %.4g]", pair.lower(), pair.upper()),
                    absl::StrFormat("%.3f", pair.support())});
  }
  return "\n" + FormatTable(rows);
}

std::string SourcesText(const Input& input, const AggregateResponse& response) {
  std::vector<std::vector<std::string>> rows = {
      {"source", "name", "divergence"}};
  for (int s = 0; s < response.divergences_size(); ++s) {
    rows.push_back(
        {absl::StrCat(s),
         static_cast<size_t>(s) < input.sources.size() ? input.sources[s] : "",
         absl::StrFormat("%.6g", response.divergences(s))});
  }
  return "\n" + FormatTable(rows);
}

absl::Status CheckChoices(const AggregateOptions& options) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  RETURN_IF_ERROR(CheckChoice("format", options.format(),
                              {"auto", "csv", "letor", "json"}));
  RETURN_IF_ERROR(
      CheckChoice("scale", options.scale(), {"min_max", "rank", "none"}));
  return CheckChoice("divergence", options.divergence(),
                     {"dcg", "all_pairs", "top"});
}

}  // namespace

absl::Status RunAggregate(const AggregateOptions& options,
                          const std::vector<std::string>&,
                          CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoices(options));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.lists()));
  ASSIGN_OR_RETURN(Input input, ReadInput(options, text));
  RETURN_IF_ERROR(ApplyFlags(options, internal::IsJson(options.format(), text),
                             &input.request));
  ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  const absl::StatusOr<AggregateResponse> response =
      client->Aggregate(input.request);
  RETURN_IF_ERROR(AtServer(options.client(), response.status()));
  if (options.output() == "json") {
    output->out << MessageJson(*response) << "\n";
    return absl::OkStatus();
  }
  output->out << DecisionHead(response->result())
              << absl::StrFormat("variation   %.6g\n",
                                 response->total_variation())
              << OrderText(input.request, *response) << PairsText(*response)
              << SourcesText(input, *response);
  return absl::OkStatus();
}

}  // namespace sortition
