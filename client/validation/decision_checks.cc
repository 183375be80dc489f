#include "client/validation/decision_checks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/choices/baseline_choice.h"
#include "core/data/action.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

// Of sums of propensities, relative to their logarithm.
constexpr double kSumTolerance = 1e-9;
constexpr size_t kMostMissing = 10000;

bool IsLogPropensity(double value) {
  return std::isfinite(value) && value <= kLogPropensityRounding;
}

bool IsProbability(double value) { return value > 0 && value <= 1; }

// What a baseline's part says of the propensity: that of the caller, 1, or w
// p + (1 - w) [the action is the baseline's].
std::string BaselineProblem(const log::v1::Decision& decision) {
  const log::v1::BaselineChoice& baseline = decision.baseline();
  double expected = baseline.log_propensity();
  if (!IsOfBaseline(decision)) {
    if (!IsProbability(baseline.model_probability())) {
      return absl::StrCat("baseline.model_probability is ",
                          baseline.model_probability(), ", must be in (0, 1]");
    }
    expected = LogAboveBaseline(
        baseline.model_probability(), baseline.model_log_propensity(),
        std::equal(decision.action().begin(), decision.action().end(),
                   baseline.action().begin(), baseline.action().end()));
  }
  const double bound = kSumTolerance * std::max(1.0, std::abs(expected));
  if (std::isfinite(expected) &&
      std::abs(decision.log_propensity() - expected) <= bound) {
    return "";
  }
  return absl::StrFormat(
      "log_propensity is %.17g, must be %.17g by its baseline",
      decision.log_propensity(), expected);
}

// Σ_a q_a p_a is at least the part of the own arm.
std::string ArmProblem(const log::v1::Decision& decision) {
  const log::v1::ArmChoice& arm = decision.arm();
  if (!IsProbability(arm.probability())) {
    return absl::StrCat("arm.probability is ", arm.probability(),
                        ", must be in (0, 1]");
  }
  if (!arm.has_mixture_log_propensity()) return "";
  const double own = std::log(arm.probability()) + decision.log_propensity();
  const double mixture = arm.mixture_log_propensity();
  if (IsLogPropensity(mixture) &&
      mixture >= own - kSumTolerance * std::max(1.0, std::abs(own))) {
    return "";
  }
  return absl::StrFormat(
      "arm.mixture_log_propensity is %.17g, must be in [%.17g, 0]: the own arm "
      "has that much",
      mixture, own);
}

// What can be known of an interleaved order without the two versions.
std::string InterleavingProblem(const log::v1::Decision& decision) {
  const log::v1::Interleaving& interleaving = decision.interleaving();
  if (decision.action_kind() != log::v1::RANK || decision.has_arm() ||
      decision.has_baseline()) {
    return "interleaving is set, must be so for RANK only, without arm and "
           "baseline";
  }
  if (interleaving.other_version() == 0 ||
      interleaving.other_version() == decision.version()) {
    return absl::StrCat("interleaving.other_version is ",
                        interleaving.other_version(),
                        ", must be another one than ", decision.version());
  }
  if (interleaving.method() != model::v1::Interleave::TEAM_DRAFT &&
      interleaving.method() != model::v1::Interleave::PROBABILISTIC) {
    return absl::StrCat("interleaving.method is ",
                        static_cast<int>(interleaving.method()),
                        ", must be TEAM_DRAFT or PROBABILISTIC");
  }
  if (IsProbability(interleaving.probability())) return "";
  return absl::StrCat("interleaving.probability is ",
                      interleaving.probability(), ", must be in (0, 1]");
}

// Returns the number of documents that the action must have; nothing if any
// number is right.
std::optional<size_t> RequiredSize(const log::v1::Decision& decision) {
  switch (decision.action_kind()) {
    case log::v1::SELECT:
      return 1;
    case log::v1::RANK:
      if (decision.top_k() == 0) return std::nullopt;
      return std::min<size_t>(decision.top_k(), NumEligible(decision));
    case log::v1::SUBSET: {
      if (decision.policy().game_subset().measure() ==
          model::v1::GameSubset::F_BETA) {
        return std::nullopt;
      }
      const uint32_t size = decision.top_k() > 0
                                ? decision.top_k()
                                : SubsetSize(decision.policy());
      if (size == 0) return std::nullopt;
      return std::min<size_t>(size, NumEligible(decision));
    }
    default:
      return std::nullopt;
  }
}

std::string FeaturesProblem(const log::v1::Decision& decision) {
  const uint64_t n = decision.num_candidates();
  if (decision.has_columns()) {
    const uint64_t rows = decision.columns().num_candidates();
    if (rows == n) return "";
    return absl::StrCat("columns.num_candidates is ", rows, ", must be ", n);
  }
  if (decision.has_sparse()) {
    const auto rows =
        static_cast<uint64_t>(decision.sparse().row_offsets_size());
    if (rows == n + 1) return "";
    return absl::StrCat("sparse.row_offsets has ", rows, " entries, must have ",
                        n + 1);
  }
  const auto values = static_cast<uint64_t>(decision.dense_values_size());
  if (values == n * decision.num_features()) return "";
  return absl::StrCat("dense_values has ", values, " entries, must have ",
                      n * decision.num_features());
}

}  // namespace

std::string PropensityCheck::ProblemOf(const log::v1::Decision& decision) {
  const double value = decision.log_propensity();
  if (!IsLogPropensity(value)) {
    return absl::StrFormat("log_propensity is %.17g, must be in (-infinity, 0]",
                           value);
  }
  std::string problem =
      decision.has_baseline() ? BaselineProblem(decision) : "";
  if (problem.empty() && decision.has_arm()) problem = ArmProblem(decision);
  if (problem.empty() && decision.has_interleaving()) {
    problem = InterleavingProblem(decision);
  }
  return problem;
}

void PropensityCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr) return;
  ++decisions_;
  const std::string problem = ProblemOf(*entry.decision);
  if (!problem.empty()) bad_.Add(entry, problem);
}

std::vector<Finding> PropensityCheck::Report() const {
  return {Verdict(bad_, Level::kFail, decisions_, "decisions",
                  absl::StrCat(decisions_, " propensities are in (0, 1]"))};
}

void ConditionalsCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr ||
      entry.decision->action_kind() != log::v1::RANK) {
    return;
  }
  ++orders_;
  const auto& conditionals = entry.decision->conditional_log_propensities();
  if (conditionals.empty()) {
    ++without_;
    return;
  }
  if (conditionals.size() != entry.decision->action_size()) {
    bad_.Add(entry, absl::StrCat("conditional_log_propensities has ",
                                 conditionals.size(), " entries, must have ",
                                 entry.decision->action_size()));
    return;
  }
  double sum = 0;
  for (const double conditional : conditionals) {
    sum += IsLogPropensity(conditional) ? conditional : std::nan("");
  }
  const double whole = entry.decision->log_propensity();
  const double bound = kSumTolerance * std::max(1.0, std::abs(whole));
  if (std::abs(sum - whole) <= bound) return;
  bad_.Add(entry, absl::StrFormat("conditional_log_propensities add up to "
                                  "%.17g, log_propensity is %.17g",
                                  sum, whole));
}

std::vector<Finding> ConditionalsCheck::Report() const {
  return {Verdict(
      bad_, Level::kFail, orders_, "orders",
      absl::StrCat(
          "the conditionals of ", orders_ - without_, " orders add up",
          without_ > 0 ? absl::StrCat("; ", without_, " have none") : ""))};
}

std::string ActionCheck::ProblemOf(const log::v1::Decision& decision) {
  const bool labels = decision.action_kind() == log::v1::LABELS;
  if (!labels && !ActionKindOf(decision).has_value()) {
    return absl::StrCat("action_kind is ",
                        static_cast<int>(decision.action_kind()),
                        ", must be SELECT, RANK, SUBSET or LABELS");
  }
  const int64_t end =
      labels ? decision.num_labels() : decision.num_candidates();
  if (!decision.eligible().empty() &&
      decision.eligible_size() != static_cast<int>(decision.num_candidates())) {
    return absl::StrCat("eligible has ", decision.eligible_size(),
                        " entries, must have ", decision.num_candidates());
  }
  const auto& action = decision.action();
  const std::optional<size_t> size = RequiredSize(decision);
  if (size.has_value() && static_cast<size_t>(action.size()) != *size) {
    return absl::StrCat("action has ", action.size(), " entries, must have ",
                        *size);
  }
  if (decision.action_kind() == log::v1::SELECT && action[0] == kAbstain &&
      decision.can_abstain()) {
    return FeaturesProblem(decision);
  }
  if ((labels || decision.action_kind() == log::v1::SUBSET) &&
      !std::is_sorted(action.begin(), action.end())) {
    return "action is not ascending";
  }
  sorted_.assign(action.begin(), action.end());
  std::sort(sorted_.begin(), sorted_.end());
  const auto twice = std::adjacent_find(sorted_.begin(), sorted_.end());
  if (twice != sorted_.end()) {
    return absl::StrCat("action has ", *twice, " twice");
  }
  for (const int32_t index : action) {
    if (index < 0 || index >= end) {
      return absl::StrCat("action has ", index, ", must be in [0, ", end, ")");
    }
    if (!labels && !decision.eligible().empty() && !decision.eligible(index)) {
      return absl::StrCat("action has ", index, ", which is not eligible");
    }
  }
  return FeaturesProblem(decision);
}

void ActionCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr) return;
  ++decisions_;
  const std::string problem = ProblemOf(*entry.decision);
  if (!problem.empty()) bad_.Add(entry, problem);
}

std::vector<Finding> ActionCheck::Report() const {
  return {Verdict(bad_, Level::kFail, decisions_, "decisions",
                  absl::StrCat(decisions_, " actions were possible"))};
}

void PolicyCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr || entry.decision->has_aggregation()) return;
  ++decisions_;
  const log::v1::Decision& decision = *entry.decision;
  if (decision.version() == 0 &&
      decision.policy().kind_case() != model::v1::Policy::KIND_NOT_SET) {
    bad_.Add(entry, "version 0, which is uniform, has a policy");
    return;
  }
  decision.policy().SerializeToString(&bytes_);
  const Hash128 hash = HashBytes(bytes_);
  const Hash128* const known = policies_.Get(
      {decision.model(), decision.version()}, decision.model().size(), hash);
  if (known == nullptr || *known == hash) return;
  bad_.Add(entry,
           absl::StrCat("version ", decision.version(), " of model ",
                        decision.model(), " has another policy than before: ",
                        decision.policy().ShortDebugString()));
}

std::vector<Finding> PolicyCheck::Report() const {
  std::vector<Finding> findings = {
      Verdict(bad_, Level::kFail, decisions_, "decisions",
              absl::StrCat(policies_.entries().size(),
                           " versions, each with one policy"))};
  policies_.AppendLeftOut("decisions", "versions", &findings);
  return findings;
}

void RecomputeCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr ||
      entry.decision->action_kind() == log::v1::LABELS) {
    return;
  }
  ++decisions_;
  const std::pair<std::string, uint64_t> version = {entry.decision->model(),
                                                    entry.decision->version()};
  if (missing_.contains(version)) {
    unknown_.Add(entry, "");
    return;
  }
  const auto difference = verifier_.Difference(*entry.decision);
  if ((!difference.ok() || difference->has_value()) &&
      IsImported(*entry.header)) {
    ++imported_;
  } else if (!difference.ok()) {
    // Those for which there is no room are looked for again.
    if (missing_.size() < kMostMissing) missing_.insert(version);
    unknown_.Add(entry, difference.status().message());
  } else if (difference->has_value()) {
    different_.Add(entry, **difference);
  }
}

std::vector<Finding> RecomputeCheck::Report() const {
  std::vector<Finding> findings = {Verdict(
      different_, Level::kFail, decisions_, "decisions",
      absl::StrCat(decisions_ - unknown_.count() - imported_,
                   " decisions recomputed bit for bit",
                   imported_ > 0 ? absl::StrCat(", ", imported_,
                                                " not a Sortition policy "
                                                "(imported)")
                                 : ""))};
  if (unknown_.count() > 0) {
    findings.push_back(
        {Level::kWarn, absl::StrCat("no model to recompute ",
                                    unknown_.Text(decisions_, "decisions"))});
  }
  return findings;
}

}  // namespace sortition
