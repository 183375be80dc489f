#include "trainer/ope/ope.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/reward_models/reward_model.h"
#include "io/models/model_store.h"
#include "process/command.h"
#include "process/log.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/ope/column_features.h"
#include "trainer/ope/interleaving/preferences.h"
#include "trainer/ope/judgement.h"
#include "trainer/ope/ope_estimates.h"
#include "trainer/ope/ope_log.h"
#include "trainer/ope/ope_report.h"
#include "trainer/ope/policy_set.h"
#include "trainer/ope/rankings/rank_feedback.h"
#include "trainer/ope/rankings/rank_reward_fit.h"
#include "trainer/ope/rankings/ranking_judgement.h"
#include "trainer/ope/rankings/ranking_options.h"

namespace sortition {
namespace {

using config::v1::OpeOptions;
using config::v1::OpeReport;

// Larger models of rewards, one for each policy, would need too much memory.
constexpr uint32_t kMostRobustFeatures = 256;
constexpr uint64_t kFewestDecisions = 2;

absl::Status CheckOneOf(absl::string_view option, absl::string_view value,
                        absl::string_view a, absl::string_view b) {
  if (value == a || value == b) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is '", value, "', must be ", a, " or ", b));
}

absl::StatusOr<std::vector<NamedRewards>> ReadRewards(
    const std::vector<NamedFile>& files,
    const std::vector<NamedRange>& ranges) {
  std::vector<NamedRewards> rewards;
  for (const NamedFile& file : files) {
    std::optional<RewardBounds> bounds;
    for (const NamedRange& range : ranges) {
      if (range.name == file.name) bounds = RewardBounds{range.min, range.max};
    }
    ASSIGN_OR_RETURN(RewardFile read,
                     RewardFile::Read(file.path, file.period, bounds));
    rewards.push_back({.name = file.name, .file = std::move(read)});
  }
  return rewards;
}

absl::Status CheckGuarded(const std::vector<NamedRewards>& rewards,
                          const std::vector<NamedLimit>& limits) {
  for (const NamedLimit& limit : limits) {
    for (const NamedRewards& each : rewards) {
      if (each.name != limit.name) continue;
      RETURN_IF_ERROR(each.file.CheckCanBeGuarded(limit.name));
    }
  }
  return absl::OkStatus();
}

// What the first pass learns.
struct FirstPass {
  LogSummary summary;
  TupleCounts counts;
  std::unique_ptr<RewardFit> model;  // Null: none.
  // Of rewards by rank; null: none.
  std::unique_ptr<RankRewardFit> rank_model;
  // By policy, for kMoreRobustDr; null: none.
  std::vector<std::unique_ptr<RewardFit>> robust_models;
};

class Run {
 public:
  Run(const OpeOptions& options, PolicySet* policies)
      : options_(options), policies_(*policies) {}

  absl::Status Open() {
    ASSIGN_OR_RETURN(model_kind_, ParseRewardModel(options_.reward_model()));
    ASSIGN_OR_RETURN(
        ranks_, ParseRankUse(options_.ranks(), options_.rewards_size() > 0));
    ASSIGN_OR_RETURN(ranking_, RankingOptions::Parse(options_));
    if (!policies_.CanCutOrders()) ranks_ = RankUse::kAll;
    OpeShape shape = policies_.shape();
    ASSIGN_OR_RETURN(columns_, FindColumnFeatures(options_, shape));
    shape.features = columns_.features;
    ASSIGN_OR_RETURN(log_, OpeLog::Open(options_, ranks_, shape));
    return absl::OkStatus();
  }

  absl::Status First() {
    absl::Status status;
    do {
      first_ = FirstPass();
      known_ = 0;
      policies_.ForgetUnknown();
      status = log_->Scan(
          [&](const LoggedDecision& decision) { return Learn(decision); },
          &first_.counts);
    } while (absl::IsAborted(status));
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(policies_.CheckKnown(known_ + policies_.unknown()));
    if (first_.summary.decisions < kFewestDecisions) {
      if (first_.counts.read_tuples == 0) return NoTuplesYet(options_.tuples());
      const std::string others = OtherModelsText(first_.counts);
      return NotYetError(absl::StrCat(
          "not enough data yet: ", first_.summary.decisions,
          " decisions can be judged, must be at least ", kFewestDecisions, ": ",
          DescribeExclusions(), others.empty() ? "" : "; ", others));
    }
    if (first_.model == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(first_.model->Fit());
    if (first_.rank_model != nullptr) RETURN_IF_ERROR(first_.rank_model->Fit());
    for (const auto& robust : first_.robust_models) {
      if (robust != nullptr) RETURN_IF_ERROR(robust->Fit());
    }
    return absl::OkStatus();
  }

  absl::Status Second(std::vector<NamedRewards>* rewards) {
    RETURN_IF_ERROR(policies_.Finish(log_->action_kind(), first_.summary));
    first_.robust_models.resize(policies_.policies().policies.size());
    ASSIGN_OR_RETURN(categories_, Categories::Parse(options_.categories(),
                                                    log_->num_features()));
    logging_ = LoggingPolicies::Load(options_, first_.summary.versions,
                                     log_->num_features());
    preferences_.emplace(options_, log_->num_features(), independent());
    RETURN_IF_ERROR(PlanRankings());
    ASSIGN_OR_RETURN(judgement_,
                     Judgement::Plan({.options = options_,
                                      .summary = first_.summary,
                                      .policies = policies_.policies(),
                                      .model = first_.model.get(),
                                      .robust_models = first_.robust_models,
                                      .logging = logging_,
                                      .categories = categories_,
                                      .rewards = *rewards}));
    TupleCounts unused;
    RETURN_IF_ERROR(log_->Scan(
        [&](const LoggedDecision& decision) { return Judge(decision); },
        &unused,
        [&](const log::v1::Decision& decision) {
          for (NamedRewards& each : *rewards) {
            each.coverage.NoteInLog(each.file, decision.decision_id());
          }
        }));
    judgement_->Finish();
    for (const NamedRewards& each : *rewards) {
      RETURN_IF_ERROR(each.coverage.Check(each.file));
    }
    return absl::OkStatus();
  }

  OpeReport Report(const EstimateStyle& style,
                   const std::vector<NamedRewards>& rewards,
                   const std::vector<NamedLimit>& limits) const {
    return MakeOpeReport({.options = options_,
                          .style = style,
                          .summary = first_.summary,
                          .counts = first_.counts,
                          .ranks = ranks_,
                          .policies = policies_,
                          .logging = logging_,
                          .judgement = *judgement_,
                          .preferences = *preferences_,
                          .rankings = rankings_.get(),
                          .model = first_.model.get(),
                          .features_note = has_columns_ ? columns_.note : "",
                          .rewards = rewards,
                          .limits = limits});
  }

  // Arm and draw are functions of the decision id, so decisions with one id
  // depend on each other even if users do not count as a sample.
  const UnitSizes& independent() const {
    return options_.units() == "same" ? first_.summary.ids
                                      : first_.summary.units;
  }
  bool units_are_decisions() const {
    return (options_.units() == "same" || first_.summary.named == 0) &&
           !independent().HasRepeats();
  }
  // How much a group could count (UnitSizes).
  double largest_group() const {
    return independent().LargestGroup(GroupSums::kDefaultGroups);
  }

 private:
  std::string DescribeExclusions() const {
    std::string text = first_.counts.DescribeExclusions();
    for (const auto& [reason, count] : policies_.unknown_texts()) {
      absl::StrAppend(&text, ", ", count, " left out: ", reason);
    }
    return text;
  }

  absl::Status Learn(const LoggedDecision& decision) {
    if (!policies_.Know(decision)) {
      policies_.CountUnknown(decision);
      return absl::OkStatus();
    }
    if (known_++ == 0) MakeModels(decision);
    first_.summary.Add(decision);
    const double joined = decision.tuple->reward();
    first_.summary.joined_sum += joined;
    first_.summary.clamped +=
        joined < options_.reward_min() || joined > options_.reward_max();
    if (first_.model == nullptr) return absl::OkStatus();
    first_.model->Add(decision, 1);
    LearnRanks(decision);
    for (size_t k = 0; k < first_.robust_models.size(); ++k) {
      if (first_.robust_models[k] == nullptr) continue;
      RETURN_IF_ERROR(policies_.policies().policies[k]->View(
          decision, /*wants_first=*/false, &view_));
      first_.robust_models[k]->Add(
          decision,
          MoreRobustWeight(decision.log_propensity, view_.log_probability));
    }
    return absl::OkStatus();
  }

  // From the first decision on that has rewards of ranks: a log without them
  // costs nothing.
  void LearnRanks(const LoggedDecision& decision) {
    const uint32_t d = decision.query.candidates.num_features();
    if (first_.summary.with_rank_rewards == 0 || options_.reward_max() <= 0 ||
        d > RankRewardFit::kMostFeatures || !HasRankPropensities(decision)) {
      return;
    }
    if (first_.rank_model == nullptr) {
      first_.rank_model =
          std::make_unique<RankRewardFit>(model_kind_, d, options_.folds());
    }
    first_.rank_model->Add(
        decision,
        ReadRankFeedback(*decision.tuple, options_.reward_max()).rewards);
  }

  absl::Status Judge(const LoggedDecision& decision) {
    if (!policies_.Know(decision)) return absl::OkStatus();
    preferences_->Add(decision);
    if (rankings_ != nullptr) RETURN_IF_ERROR(rankings_->Add(decision));
    return judgement_->Add(decision);
  }

  absl::Status PlanRankings() {
    if (first_.summary.with_rank_rewards == 0 || options_.reward_max() <= 0) {
      return absl::OkStatus();
    }
    const JudgedPolicies& judged = policies_.policies();
    ASSIGN_OR_RETURN(
        rankings_,
        RankingJudgement::Create(
            {.options = options_,
             .ranking = ranking_,
             .policies = std::span(judged.policies).first(judged.num_reported),
             .logging = logging_,
             .model = first_.rank_model.get(),
             .units = independent(),
             .num_ranks = first_.summary.most_ranks}));
    return absl::OkStatus();
  }

  // Rewards of subsets are not those of candidates.
  void MakeModels(const LoggedDecision& decision) {
    has_columns_ = decision.query.columns != nullptr;
    if (model_kind_ == RewardModelKind::kNone ||
        decision.action_kind == ActionKind::kSubset ||
        (has_columns_ && columns_.features == nullptr)) {
      return;
    }
    const uint32_t d = decision.query.candidates.num_features();
    const uint32_t folds = options_.folds();
    first_.model = std::make_unique<RewardFit>(model_kind_, d, folds);
    if (d > kMostRobustFeatures) return;
    for (const auto& policy : policies_.policies().policies) {
      first_.robust_models.push_back(
          policy == nullptr
              ? nullptr
              : std::make_unique<RewardFit>(RewardModelKind::kRidge, d, folds));
    }
  }

  const OpeOptions& options_;
  PolicySet& policies_;
  RewardModelKind model_kind_ = RewardModelKind::kNone;
  RankUse ranks_ = RankUse::kAll;
  RankingOptions ranking_;
  ColumnFeatures columns_;
  bool has_columns_ = false;  // Of the first decision.
  std::unique_ptr<OpeLog> log_;
  FirstPass first_;
  uint64_t known_ = 0;  // Decisions that all policies know.
  PolicyView view_;
  Categories categories_;
  LoggingPolicies logging_;
  std::optional<Preferences> preferences_;      // From the second pass on.
  std::unique_ptr<RankingJudgement> rankings_;  // Null: ranks have no rewards.
  std::unique_ptr<Judgement> judgement_;
};

}  // namespace

absl::Status ValidateOpeOptions(const OpeOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  if (!(options.reward_min() < options.reward_max())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "reward_min is ", options.reward_min(), ", must be less than ",
        "reward_max, which is ", options.reward_max()));
  }
  RETURN_IF_ERROR(CheckOneOf("units", options.units(), "new", "same"));
  RETURN_IF_ERROR(CheckOneOf("output", options.output(), "text", "json"));
  return EstimateStyle::Of(options).status();
}

absl::StatusOr<OpeReport> Ope(const OpeOptions& options) {
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(ValidateOpeOptions(options));
  ASSIGN_OR_RETURN(EstimateStyle style, EstimateStyle::Of(options));
  ASSIGN_OR_RETURN(const auto files,
                   ParseNamedFiles("rewards", options.rewards()));
  ASSIGN_OR_RETURN(const auto limits,
                   ParseLimits("guardrails", options.guardrails(), files));
  ASSIGN_OR_RETURN(
      const auto ranges,
      ParseRanges("reward_ranges", options.reward_ranges(), files));
  ASSIGN_OR_RETURN(PolicySet policies, PolicySet::Load(options));
  ASSIGN_OR_RETURN(std::vector<NamedRewards> rewards,
                   ReadRewards(files, ranges));
  RETURN_IF_ERROR(CheckGuarded(rewards, limits));
  Run run(options, &policies);
  RETURN_IF_ERROR(run.Open());
  RETURN_IF_ERROR(run.First());
  RETURN_IF_ERROR(run.Second(&rewards));
  style.against = policies.against();
  style.units_are_decisions = run.units_are_decisions();
  style.largest_group = run.largest_group();
  OpeReport report = run.Report(style, rewards, limits);
  report.set_seconds(absl::ToDoubleSeconds(absl::Now() - start));
  return report;
}

}  // namespace sortition
