#include "trainer/offpolicy/learnable.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_scaling.h"
#include "process/command.h"
#include "trainer/suggest/column_sources.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

absl::Status CheckRewardsDiffer(const TrainOptions& options,
                                const TrainData& data) {
  const std::vector<double> shown = data.ShownLosses();
  const std::set<double> losses(shown.begin(), shown.end());
  if (losses.size() > 1) return absl::OkStatus();
  if (losses.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("none of the ", data.num_train(),
                     " training tuples has an action that was shown: nothing "
                     "can be learned"));
  }
  // So few may have the same reward by chance.
  constexpr size_t kFewTuples = 100;
  const bool are_few = data.num_train() < kFewTuples;
  const std::string text = absl::StrCat(
      are_few ? "not enough data yet: " : "", "all ", data.num_train(),
      " training tuples have the reward ",
      LossToReward(*losses.begin(), options.reward_min(), options.reward_max()),
      ": nothing tells a good action from a bad one; is feedback reported?");
  return are_few ? NotYetError(text) : absl::FailedPreconditionError(text);
}

// What to do about parts that are too small.
std::string HelpWithParts(const TrainOptions& options, const TrainData& data) {
  if (options.parts() == "time" && data.num_train() < kFewestTuples) {
    return "by time, only decisions that are older than those which validate "
           "and test train: if they have no times, or all the same, parts must "
           "be unit_hash";
  }
  const uint64_t baseline = data.counts().baseline_version;
  return absl::StrCat(
      "version ", baseline, " of model '", options.model(),
      "' is the one to be replaced: a new one is compared on its tuples only, "
      "but for --force; for a log of another system, --baseline=log compares "
      "with what logged");
}

// Objectives need a variance: two decisions that count fully.
absl::Status CheckTrainingWeight(const TrainData& data) {
  ASSIGN_OR_RETURN(const auto policy, data.TrainPolicy());
  double total = 0;
  for (size_t i = 0; i < policy->num_tuples(); ++i) total += policy->weight(i);
  constexpr double kRounding = 1e-9;
  if (total >= kFewestTuples - kRounding) return absl::OkStatus();
  return NotYetError(absl::StrCat(
      "not enough data yet: the ", policy->num_tuples(),
      " tuples to train count as ", total, ", must count as at least ",
      kFewestTuples,
      "; each counts as 1, or less if its unit has many others, or if it is "
      "old and decay is short"));
}

}  // namespace

std::vector<std::string> UnreadColumns(const TupleCounts& counts) {
  std::vector<std::string> columns;
  for (const auto& [name, type] : counts.unread_columns) {
    columns.push_back(absl::StrCat(name, " (", type, ")"));
  }
  return columns;
}

absl::Status CheckLearnable(const TrainOptions& options,
                            const TrainData& data) {
  const size_t train = data.num_train();
  const size_t validation = data.num_validation();
  const size_t test = data.num_test();
  std::string left_out = data.counts().DescribeExclusions();
  if (!options.since().empty() || !options.until().empty()) {
    absl::StrAppend(&left_out, "; ",
                    TimesText(options.since(), options.until()));
  }
  if (data.counts().read_tuples == 0) return NoTuplesYet(options.tuples());
  const std::vector<std::string> columns = UnreadColumns(data.counts());
  // Decisions with columns have 0 features.
  const bool lacks_features =
      data.counts().left_out(LeftOutReason::kColumns) > 0 ||
      data.counts().excluded.contains(
          absl::StrCat(ReasonText(LeftOutReason::kOtherFeatures), ": 0"));
  if (train + validation + test == 0 && lacks_features && !columns.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        NoFeaturesText("the tuples have", absl::StrJoin(columns, ", ")), " (",
        left_out, ")"));
  }
  if (train + validation + test == 0) {
    const std::string others = OtherModelsText(data.counts());
    return NotYetError(absl::StrCat(
        "no tuple of model '", options.model(), "' in ", options.tuples(),
        " can be used (", left_out, ")", others.empty() ? "" : "; ", others));
  }
  if (std::min({train, validation, test}) < kFewestTuples) {
    return NotYetError(absl::StrCat(
        "not enough data yet: ", train, " tuples to train and, of version ",
        data.counts().baseline_version, ", ", validation, " to validate, ",
        test, " to test, must be at least ", kFewestTuples, " each (", left_out,
        "); ", HelpWithParts(options, data)));
  }
  RETURN_IF_ERROR(CheckTrainingWeight(data));
  return CheckRewardsDiffer(options, data);
}

}  // namespace sortition
