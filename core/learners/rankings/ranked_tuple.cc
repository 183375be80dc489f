#include "core/learners/rankings/ranked_tuple.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

absl::Status ValidateFamily(const LinearFamily& family) {
  if (family.action_kind != ActionKind::kRank || family.boltzmann ||
      !family.rank_factors.empty()) {
    return absl::InvalidArgumentError(
        "family is not Plackett-Luce without rank_factors, must be: others "
        "have no gradient by rank");
  }
  return absl::OkStatus();
}

absl::Status ValidateSizes(const RankedLog& log) {
  if (log.ranks.size() != log.tuples.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("ranks: there are those of ", log.ranks.size(),
                     " tuples, must be those of ", log.tuples.size()));
  }
  if (!log.weights.empty() && log.weights.size() != log.tuples.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: there are ", log.weights.size(), ", must be ",
                     log.tuples.size(), " or none"));
  }
  return absl::OkStatus();
}

absl::Status ValidateLogs(absl::string_view field,
                          const std::vector<double>& values, size_t size,
                          size_t i) {
  if (values.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " of tuple ", i, " has ", values.size(),
                     " entries, must have ", size));
  }
  for (const double value : values) {
    if (!(value <= 0 && std::isfinite(value))) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " of tuple ", i, " has ", value,
                       ", must be finite and at most 0"));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateRanks(const RankedLog& log, size_t i) {
  const RankedTuple& ranks = log.ranks[i];
  if (ranks.num_shown() > log.tuples[i].action.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "losses of tuple ", i, " has ", ranks.num_shown(),
        " entries, must have ", log.tuples[i].action.size(), " at most"));
  }
  for (const double loss : ranks.losses) {
    if (!(loss >= -1 && loss <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "losses of tuple ", i, " has ", loss, ", must be in [-1, 1]"));
    }
  }
  RETURN_IF_ERROR(ValidateLogs("log_conditionals", ranks.log_conditionals,
                               ranks.num_shown(), i));
  if (ranks.log_marginals.empty()) return absl::OkStatus();
  return ValidateLogs("log_marginals", ranks.log_marginals, ranks.num_shown(),
                      i);
}

}  // namespace

size_t RankedLog::lossy_ranks(size_t i) const {
  if (!tuples[i].action_shown) return 0;
  size_t count = ranks[i].num_shown();
  while (count > 0 && ranks[i].losses[count - 1] == 0) --count;
  return count;
}

absl::Status ValidateRankedLog(const RankedLog& log) {
  RETURN_IF_ERROR(ValidateFamily(log.family));
  RETURN_IF_ERROR(ValidateSizes(log));
  // Checks the family and its tuples.
  RETURN_IF_ERROR(LinearTuplePolicy::Create(log.family, log.tuples).status());
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    RETURN_IF_ERROR(ValidateRanks(log, i));
  }
  return absl::OkStatus();
}

}  // namespace sortition
