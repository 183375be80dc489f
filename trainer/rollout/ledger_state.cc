#include "trainer/rollout/ledger_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "trainer/rollout/rollout_ledger.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using model::v1::LedgerGap;
using model::v1::LedgerRecord;
using model::v1::Rollout;

constexpr double kMicrosPerSecond = 1e6;
constexpr char kEndRollout[] =
    "end the rollout with `sortition-trainer rollout --stop` and begin a new "
    "one";

absl::Status CheckPlan(const config::v1::RolloutPlan& plan) {
  const absl::Status status = CompletePlan(plan).status();
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("ROLLOUT.textproto has a plan that this release cannot "
                   "judge: ",
                   status.message(), "; ", kEndRollout));
}

std::string GapText(const LedgerGap& gap) {
  const std::string where =
      absl::StrCat(" (", UtcTimeText(gap.from_us()), " to ",
                   UtcTimeText(gap.to_us()), " in ", gap.directory(), ")");
  switch (gap.kind()) {
    case LedgerGap::DAMAGED:
      return absl::StrCat("records", where, " are damaged");
    case LedgerGap::INCOMPLETE:
      return absl::StrCat("the log", where,
                          " is incomplete: feedback came for decisions that it "
                          "does not have");
    case LedgerGap::REMOVED:
      break;
  }
  return absl::StrCat("tuples", where,
                      " were removed before a step read them (take steps more "
                      "often than tuples are removed)");
}

}  // namespace

absl::StatusOr<LedgerState> LedgerState::Create(const Rollout& rollout) {
  RETURN_IF_ERROR(CheckPlan(rollout.plan()));
  ASSIGN_OR_RETURN(std::vector<RolloutLimit> limits, LimitsOf(rollout.plan()));
  return LedgerState(rollout, std::move(limits));
}

LedgerState::LedgerState(const Rollout& rollout,
                         std::vector<RolloutLimit> limits)
    : window_seconds_(rollout.plan().unit_window_seconds()),
      evidence_(rollout.plan(), std::move(limits)),
      rounds_(static_cast<int64_t>(window_seconds_ * kMicrosPerSecond),
              evidence_.num_outcomes()) {
  before_.started_us = before_.newest_us = before_.incomplete_until_us =
      rollout.started_us();
  for (const RolloutLimit& limit : evidence_.limits()) {
    counts_.add_guardrails()->set_reward(limit.name);
  }
}

absl::Status LedgerState::TakeRounds(const LedgerRecord& record) {
  for (const model::v1::LedgerRound& round : record.rounds()) {
    if (round.places() == 0 || round.places() >= kSplitPlaces ||
        !(round.canary_probability() > 0 && round.canary_probability() < 1)) {
      return absl::DataLossError(absl::StrCat(
          "ROLLOUT_LEDGER has a round with places = ", round.places(),
          " and canary_probability = ", round.canary_probability(),
          ": must be in (0, ", kSplitPlaces, ") and (0, 1); ", kEndRollout));
    }
    rounds_.Restore(FromLedger(round));
  }
  return absl::OkStatus();
}

absl::Status LedgerState::TakeOutcomes(const LedgerRecord& record) {
  for (const model::v1::LedgerOutcome& outcome : record.outcomes()) {
    if (!std::isfinite(outcome.mean()) ||
        !rounds_.RestoreClosed(FromLedger(outcome))) {
      return absl::DataLossError(absl::StrCat(
          "ROLLOUT_LEDGER closes outcome ", outcome.outcome(), " of round ",
          outcome.round(), " with mean = ", outcome.mean(),
          ": must be open, of ", rounds_.rounds().size(),
          " rounds, and finite; ", kEndRollout));
    }
    TakeOutcome(FromLedger(outcome));
  }
  return absl::OkStatus();
}

absl::Status LedgerState::Take(const LedgerRecord& record) {
  if (record.has_gap()) NoteGap(record.gap());
  RETURN_IF_ERROR(TakeRounds(record));
  RETURN_IF_ERROR(TakeOutcomes(record));
  if (!record.has_newest_us()) return absl::OkStatus();
  before_.newest_us = std::max(before_.newest_us, record.newest_us());
  before_.sources = record.sources();
  if (record.keep_probability() > 0) {
    before_.keep_probability =
        std::min(before_.keep_probability, record.keep_probability());
  }
  return absl::OkStatus();
}

void LedgerState::NoteGap(const model::v1::LedgerGap& gap) {
  rounds_.NoteGap(ShareOfPlaces(gap.places()));
  counts_.set_gap(GapText(gap));
  if (gap.kind() == LedgerGap::INCOMPLETE) {
    before_.incomplete_until_us =
        std::max(before_.incomplete_until_us, gap.to_us());
  }
}

void LedgerState::TakeOutcome(const RoundOutcome& outcome) {
  evidence_.Take(rounds_.rounds()[outcome.round], outcome);
  if (outcome.outcome > 0) {
    CountGuardrail(outcome);
    return;
  }
  counts_.set_closed(counts_.closed() + 1);
  if (outcome.why_void == RoundVoid::kCensored) {
    counts_.set_censored(counts_.censored() + 1);
  } else if (outcome.why_void == RoundVoid::kGone) {
    counts_.set_gone(counts_.gone() + 1);
  }
}

void LedgerState::CountGuardrail(const RoundOutcome& outcome) {
  config::v1::RolloutGuardrailRounds& counts =
      *counts_.mutable_guardrails(static_cast<int>(outcome.outcome) - 1);
  counts.set_closed(counts.closed() + 1);
  if (outcome.why_void == RoundVoid::kCensored) {
    counts.set_unknown(counts.unknown() + 1);
  } else if (outcome.why_void == RoundVoid::kGone) {
    counts.set_gone(counts.gone() + 1);
  }
}

double LedgerState::RetentionSeconds() const {
  double horizon_seconds = 0;
  bool is_gone = counts_.gone() > 0;
  for (size_t i = 0; i < evidence_.limits().size(); ++i) {
    if (counts_.guardrails(static_cast<int>(i)).gone() == 0) continue;
    is_gone = true;
    const int64_t horizon_us = evidence_.limits()[i].file.period.horizon_us;
    horizon_seconds = std::max(
        horizon_seconds, static_cast<double>(horizon_us) / kMicrosPerSecond);
  }
  return is_gone ? window_seconds_ + horizon_seconds : 0;
}

config::v1::RolloutLedger LedgerState::Counts() const {
  config::v1::RolloutLedger counts = counts_;
  counts.set_rounds(rounds_.rounds().size());
  counts.set_open(rounds_.num_open(0));
  counts.set_unknown_decisions(rounds_.num_unknown());
  if (RetentionSeconds() > 0) counts.set_retention_seconds(RetentionSeconds());
  return counts;
}

AddedRecords::AddedRecords(int64_t step_us, uint64_t num_rounds)
    : step_us_(step_us), num_rounds_(num_rounds) {
  Begin();
}

void AddedRecords::Add(const UnitRound& round) {
  MakeRoom();
  *records_.back().add_rounds() = ToLedger(round);
  ++num_rounds_;
}

void AddedRecords::Add(const RoundOutcome& outcome) {
  MakeRoom();
  *records_.back().add_outcomes() = ToLedger(outcome);
}

void AddedRecords::Begin() {
  LedgerRecord& record = records_.emplace_back();
  record.set_step_us(step_us_);
  record.set_first_round(num_rounds_);
}

void AddedRecords::MakeRoom() {
  constexpr int kMaxEntries = 10000;
  const LedgerRecord& record = records_.back();
  if (record.rounds_size() + record.outcomes_size() >= kMaxEntries) Begin();
}

}  // namespace sortition
