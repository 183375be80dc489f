#pragma once
// Runs all checks over a log.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/validation/log_check.h"
#include "process/command.h"
#include "sortition/config/v1/client.pb.h"

namespace sortition {

struct CheckResult {
  std::string check;
  Finding finding;
};

struct ValidateResult {
  std::vector<CheckResult> results;  // In the order of the table of checks.
  uint64_t segments = 0;
  uint64_t bytes = 0;
  uint64_t decisions = 0;  // Those of tuples included.
  double seconds = 0;

  // The worst of all findings.
  Level level() const;
};

// Checks all records of `entries`, as in ScanLog().
absl::StatusOr<ValidateResult> ValidateLog(
    const std::vector<std::string>& entries,
    const config::v1::LogValidateOptions& options);

std::string ValidateResultJson(const ValidateResult& result);
std::string ValidateResultText(const ValidateResult& result);

// The command `sortition log validate`. Exit code 1 if a check fails.
absl::Status RunLogValidate(const config::v1::LogValidateOptions& options,
                            const std::vector<std::string>& positional,
                            CommandOutput* output);

}  // namespace sortition
