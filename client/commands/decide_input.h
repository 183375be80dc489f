#pragma once
// Builds the request of `sortition rank`, `select` and `label` from flags and a
// file.
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/client.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Sets attributes given as "name=value". InvalidArgument for other forms.
absl::Status SetAttributes(
    const google::protobuf::RepeatedPtrField<std::string>& attributes,
    v1::DecisionContext* context);

// The parts of MakeRequest().
namespace internal {
bool IsJson(absl::string_view format, absl::string_view text);
absl::Status FillFromJson(const std::string& text,
                          google::protobuf::Message* request);
// States how a feature that a line leaves out is sent: the model decides, or 0.
enum class AbsentFeatures { kStayAbsent, kAreZero };
absl::Status FillFromLetor(absl::string_view text,
                           const config::v1::LabelFileOptions& options,
                           AbsentFeatures absent, v1::DecisionContext* context);
absl::Status ApplyFlags(const config::v1::DecideOptions& options,
                        v1::DecisionContext* context);
}  // namespace internal

// Builds a RankRequest, SelectRequest or LabelRequest from `options` and the
// text of the features file: JSON of the request, or LETOR/SVMlight lines of
// one query (labels are ignored, qid may be missing). Lines that do not state a
// feature become sparse rows, so that the model decides what it is. Flags
// override the JSON.
// InvalidArgument names what cannot be read.
template <typename Request>
absl::StatusOr<Request> MakeRequest(const config::v1::DecideOptions& options,
                                    const std::string& text) {
  Request request;
  RETURN_IF_ERROR(
      internal::IsJson(options.format(), text)
          ? internal::FillFromJson(text, &request)
          : internal::FillFromLetor(text, options.label_files(),
                                    internal::AbsentFeatures::kStayAbsent,
                                    request.mutable_context()));
  RETURN_IF_ERROR(internal::ApplyFlags(options, request.mutable_context()));
  return request;
}

// Returns `text` with "qid:1" in every line that has no qid.
std::string AddMissingQids(absl::string_view text);

// Returns what these commands print about a decision above their tables.
std::string DecisionHead(const v1::DecisionResult& result);

// Returns p = exp(log_propensity) with 6 significant digits, as in "0.25".
std::string ProbabilityText(double log_propensity);

// Returns entry i of an optional list as text; "" where the list is shorter.
std::string EntryText(const google::protobuf::RepeatedField<double>& list,
                      uint32_t i);

}  // namespace sortition
