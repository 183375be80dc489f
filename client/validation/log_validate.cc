#include "client/validation/log_validate.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "client/validation/decision_checks.h"
#include "client/validation/drift_check.h"
#include "client/validation/feature_check.h"
#include "client/validation/log_wide_checks.h"
#include "client/validation/mean_weight_check.h"
#include "client/validation/ranks_check.h"
#include "core/base/status_macros.h"
#include "io/segments/reward_join.h"

namespace sortition {
namespace {

struct NamedCheck {
  std::string name;
  std::unique_ptr<LogCheck> check;
};

std::vector<NamedCheck> AllChecks(
    const config::v1::LogValidateOptions& options) {
  // Decisions and feedback share the memory.
  const size_t id_bytes = (options.memory_mb() << 20) / 2;
  std::vector<NamedCheck> checks;
  const auto add = [&checks](const char* name, auto check) {
    checks.push_back({name, std::move(check)});
  };
  add("damage", std::make_unique<DamageCheck>());
  add("completeness", std::make_unique<CompletenessCheck>());
  add("clock", std::make_unique<ClockCheck>(options.max_step_back_seconds()));
  add("decision_ids", std::make_unique<DecisionIdCheck>(id_bytes));
  add("feedback_ids", std::make_unique<FeedbackIdCheck>(id_bytes));
  add("propensities", std::make_unique<PropensityCheck>());
  add("conditionals", std::make_unique<ConditionalsCheck>());
  add("actions", std::make_unique<ActionCheck>());
  add("ranks", std::make_unique<RanksCheck>());
  add("policies", std::make_unique<PolicyCheck>());
  add("mean_weight", std::make_unique<MeanWeightCheck>());
  add("feedback", std::make_unique<FeedbackCheck>());
  add("joins", std::make_unique<JoinCheck>());
  add("features", std::make_unique<FeatureCheck>(options.features_every()));
  if (!options.model_store().empty()) {
    add("recompute", std::make_unique<RecomputeCheck>(options.model_store()));
    add("drift", std::make_unique<DriftCheck>(options.model_store(),
                                              options.features_every()));
  }
  return checks;
}

// Gives each record to all checks.
class Validator : public LogVisitor {
 public:
  Validator(const std::vector<NamedCheck>& checks, ValidateResult* result)
      : checks_(checks), result_(*result) {}

  void BeginSegment(const std::string& path) override {
    ++result_.segments;
    file_ = path;
    header_.Clear();
    join_.clear();
  }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& frame) override {
    if (record.has_header()) {
      header_ = record.header();
      join_ = RewardJoinText(header_);
      return absl::OkStatus();
    }
    LogEntry entry = EntryAt(frame.offset);
    entry.record = &record;
    if (record.has_tuple()) entry.tuple = &record.tuple();
    if (record.has_decision()) entry.decision = &record.decision();
    if (record.has_tuple()) entry.decision = &record.tuple().decision();
    if (entry.decision != nullptr) ++result_.decisions;
    Take(entry);
    return absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t offset, uint64_t bytes) override {
    LogEntry entry = EntryAt(offset);
    entry.damaged_bytes = bytes;
    Take(entry);
    return absl::OkStatus();
  }

  absl::Status EndSegment(const SegmentEnd& end) override {
    result_.bytes += end.bytes;
    LogEntry entry = EntryAt(end.bytes);
    entry.end = &end;
    Take(entry);
    return absl::OkStatus();
  }

 private:
  LogEntry EntryAt(uint64_t offset) const {
    LogEntry entry;
    entry.file = file_;
    entry.offset = offset;
    entry.header = &header_;
    entry.join = join_;
    return entry;
  }

  void Take(const LogEntry& entry) {
    for (const NamedCheck& named : checks_) named.check->Take(entry);
  }

  const std::vector<NamedCheck>& checks_;
  ValidateResult& result_;
  std::string file_;
  log::v1::SegmentHeader header_;
  std::string join_;
};

}  // namespace

Level ValidateResult::level() const {
  Level worst = Level::kPass;
  for (const CheckResult& result : results) {
    worst = std::max(worst, result.finding.level);
  }
  return worst;
}

absl::StatusOr<ValidateResult> ValidateLog(
    const std::vector<std::string>& entries,
    const config::v1::LogValidateOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<NamedCheck> checks = AllChecks(options);
  ValidateResult result;
  Validator validator(checks, &result);
  RETURN_IF_ERROR(ScanLog(entries, &validator, "checking"));
  for (const NamedCheck& named : checks) {
    for (Finding& finding : named.check->Report()) {
      result.results.push_back({named.name, std::move(finding)});
    }
  }
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return result;
}

}  // namespace sortition
