#pragma once
// sortition-trainer clicks: fits models of what users click to a log of
// rankings, and says which of them predicts best and what it learned.
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/clicks.pb.h"

namespace sortition {

// InvalidArgument for options that are out of range whatever the log has.
absl::Status ValidateClicksOptions(const config::v1::ClicksOptions& options);

// Writes nothing. The result depends only on the set of tuples, their order
// within segments and the options. InvalidArgument for options out of range;
// otherwise errors as ClickLog::Open(), ReadClickData(), FitClickModels().
absl::StatusOr<config::v1::ClicksReport> LearnClicks(
    const config::v1::ClicksOptions& options);

// Writes report.bias as a text proto to `options.write`, unless that is empty.
// FailedPrecondition if the log does not tell it.
absl::Status WriteClickBias(const config::v1::ClicksOptions& options,
                            const config::v1::ClicksReport& report);

}  // namespace sortition
