#include "trainer/ope/ope_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/counterfactual/estimators.h"
#include "core/counterfactual/evaluation/planning.h"
#include "core/counterfactual/evaluation/support.h"
#include "process/version.h"
#include "trainer/offpolicy/stored_overlap.h"
#include "trainer/ope/exploration_report.h"
#include "trainer/ope/more_rewards.h"
#include "trainer/ope/ope_findings.h"
#include "trainer/ope/ope_words.h"
#include "trainer/ope/rankings/ranking_report.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using config::v1::OpeSlice;

class Reporter {
 public:
  explicit Reporter(const OpeReportTask& task)
      : task_(task),
        sums_(task.judgement.all()),
        num_policies_(task.judgement.num_reported()) {}

  OpeReport Make() {
    AddLog();
    AddManyVersions();
    AddShadows();
    for (const auto& findings : {RewardFindings(task_), LogFindings(task_)}) {
      report_.mutable_findings()->Add(findings.begin(), findings.end());
    }
    for (size_t k = 0; k < num_policies_; ++k) AddPolicy(k);
    AddSlices(task_.judgement.slices().segments(), report_.mutable_segments());
    AddSlices(task_.judgement.slices().days(), report_.mutable_days());
    AddPropensities();
    AddInterleavings();
    if (task_.rankings != nullptr) {
      AddRankings(*task_.rankings,
                  {.confidence = task_.style.confidence,
                   .against = task_.style.against,
                   .units_are_decisions = task_.style.units_are_decisions},
                  &report_);
    }
    AddExploration(task_, WantedImprovement(), &report_);
    for (std::string& text : AssumptionTexts(task_.options, report_)) {
      report_.add_assumptions(std::move(text));
    }
    if (std::any_of(report_.policies().begin(), report_.policies().end(),
                    [](const OpePolicy& policy) {
                      return !policy.has_missing_mass();
                    })) {
      report_.add_assumptions(
          "The log does not say of all policies what else it could have done: "
          "of policies without missing_mass, intervals reckon with whatever "
          "the weights leave open, and are wider. Selections and orders of "
          "versions in --model_store, and of uniform logs, say it.");
    }
    if (!task_.features_note.empty()) {
      report_.add_assumptions(task_.features_note);
    }
    if (task_.model != nullptr) {
      report_.add_assumptions(absl::StrFormat(
          "The model of rewards takes away %.3g %% of the squared error of a "
          "constant, on units that it has not seen; if it is wrong, doubly "
          "robust estimates are less precise, and the direct one is wrong.",
          100 * task_.model->model().TotalError().r_squared()));
    }
    report_.set_verdict(OverallVerdict(report_, SimultaneousGains()));
    return std::move(report_);
  }

 private:
  void AddLog() {
    const LogSummary& summary = task_.summary;
    report_.set_model(task_.options.model());
    report_.set_against(task_.options.against());
    report_.set_read_tuples(task_.counts.read_tuples);
    report_.set_decisions(summary.decisions);
    const bool has_units = summary.named > 0 || summary.units.HasRepeats();
    report_.set_units(has_units ? summary.units.num_units()
                                : summary.decisions);
    report_.set_units_named(summary.named > 0);
    report_.set_question(QuestionText(task_.options, summary.named > 0,
                                      task_.style.units_are_decisions));
    for (const auto& [reason, count] : task_.counts.excluded) {
      (*report_.mutable_excluded())[reason] = count;
    }
    for (const auto& [reason, count] : task_.policies.unknown_texts()) {
      (*report_.mutable_excluded())[reason] = count;
    }
    report_.set_corrupt_records(task_.counts.damage.corrupt_records);
    for (const auto& [version, count] : summary.versions) {
      (*report_.mutable_logging_versions())[version] = count;
    }
    report_.set_arms_balanced(summary.arms_balanced);
    report_.set_arms_apart(summary.arms_apart);
    report_.set_arms_without_mixture(summary.arms_without_mixture);
    report_.set_arms_kept_by_unit(summary.arms_kept_by_unit);
    for (const NamedRewards& rewards : task_.rewards) {
      auto* const coverage = report_.add_reward_coverage();
      coverage->set_reward(rewards.name);
      coverage->set_judged(rewards.coverage.used() -
                           rewards.coverage.not_judged());
      coverage->set_not_judged(rewards.coverage.not_judged());
      coverage->set_period(rewards.coverage.PeriodText(rewards.file));
    }
    report_.set_with_baseline(summary.with_baseline);
    report_.set_certain_baseline(summary.certain_baseline);
    report_.set_interleaved(summary.interleaved);
    report_.set_interleaved_unknown(task_.preferences.unknown());
    if (task_.counts.orders > 0) {
      report_.set_logged_ranks(task_.counts.mean_logged_ranks());
      report_.set_counted_ranks(task_.counts.mean_counted_ranks());
      report_.set_ranks(RankUseText(task_.ranks));
    }
    if (summary.first_time_us > 0) {
      report_.set_first_time(UtcTimeText(summary.first_time_us));
      report_.set_last_time(UtcTimeText(summary.last_time_us));
    }
    report_.set_confidence(task_.options.confidence());
    report_.set_reward_min(task_.options.reward_min());
    report_.set_reward_max(task_.options.reward_max());
    *report_.mutable_logged() = LoggedEstimate(task_.style, sums_);
    report_.set_group_size(task_.options.group_size());
    report_.set_command(task_.options.ShortDebugString());
    report_.set_program(absl::StrCat("sortition-trainer ", Version()));
  }

  void AddShadows() {
    std::string sentence = task_.policies.ShadowText(task_.summary.decisions +
                                                     task_.policies.unknown());
    if (sentence.empty()) return;
    auto* const finding = report_.add_findings();
    finding->set_kind("shadow_views");
    finding->set_gravity(model::v1::Finding::CAUTION);
    finding->set_part("log");
    finding->set_sentence(std::move(sentence));
  }

  void AddInterleavings() {
    Preferences::Style style = {.confidence = task_.style.confidence,
                                .power = kPower};
    if (!task_.style.units_are_decisions) {
      style.largest_group = task_.style.largest_group;
    }
    for (auto& each : task_.preferences.Report(style)) {
      each.set_verdict(PreferenceVerdict(task_.options, each));
      *report_.add_interleavings() = std::move(each);
    }
  }

  void AddManyVersions() {
    const size_t versions = task_.logging.num_versions();
    if (versions <= LoggingPolicies::kMostMixed) return;
    auto* const finding = report_.add_findings();
    finding->set_kind("many_versions");
    finding->set_gravity(model::v1::Finding::CAUTION);
    finding->set_part("log");
    finding->set_sentence(absl::StrCat(
        CountText(versions), " versions logged, more than ",
        LoggingPolicies::kMostMixed,
        ": the estimators balanced and weighted are left out. Choose fewer "
        "with --versions or --since."));
  }

  Estimator ChooseEstimatorOf(size_t k) const {
    const auto applicable = ApplicableKinds(task_.judgement, k);
    const auto& asked = task_.style.estimator;
    if (asked && std::find(applicable.begin(), applicable.end(), *asked) !=
                     applicable.end()) {
      return WithParameter(sums_, k, *asked, task_.style.confidence);
    }
    // Models would only add noise to what is known.
    if (task_.judgement.weights().is_log(k)) return {EstimatorKind::kIps};
    return DefaultEstimator(task_.judgement.has_model(k));
  }

  void AddPolicy(size_t k) {
    const JudgedPolicy& judged = task_.judgement.policy(k);
    OpePolicy* const policy = report_.add_policies();
    policy->set_name(judged.name());
    policy->set_description(judged.description());
    const Estimator chosen = ChooseEstimatorOf(k);
    estimators_.push_back(chosen);
    AddEstimates(k, chosen, policy);
    const EstimateTask answer{.sums = sums_, .policy = k, .estimator = chosen};
    *policy->mutable_answer() =
        MakeAnswer(task_.style, answer, task_.judgement.weights().is_log(k));
    policy->mutable_answer()->set_chosen(true);
    policy->mutable_answer()->set_assumes(AssumptionOf(chosen.kind));
    for (OpeEstimate& interval : MakeIntervals(task_.style, answer)) {
      *policy->add_intervals() = std::move(interval);
    }
    AddOverlap(k, judged, policy);
    AddMissingMass(k, policy);
    AddMoreRewards(task_, k, policy);
    *policy->mutable_grouped() = MakeGrouped(
        task_.style,
        {.sums = task_.judgement.grouped(), .policy = k, .estimator = chosen});
    policy->set_without_probabilities(task_.policies.unknown_of()[k]);
    const uint64_t needed = AddPlans(k, *policy);
    policy->set_verdict(
        PolicyVerdict(task_.options, report_, *policy, task_.style.against == k,
                      task_.judgement.weights().is_log(k), needed));
  }

  void AddEstimates(size_t k, const Estimator& chosen, OpePolicy* policy) {
    for (const EstimatorKind kind : ApplicableKinds(task_.judgement, k)) {
      const Estimator estimator =
          kind == chosen.kind
              ? chosen
              : WithParameter(sums_, k, kind, task_.style.confidence);
      OpeEstimate* const estimate = policy->add_estimates();
      *estimate = MakeRow(task_.style,
                          {.sums = sums_, .policy = k, .estimator = estimator});
      estimate->set_chosen(kind == chosen.kind);
      estimate->set_assumes(AssumptionOf(kind));
    }
  }

  void AddOverlap(size_t k, const JudgedPolicy& judged, OpePolicy* policy) {
    const WeightSample& weights = task_.judgement.weights();
    const Overlap overlap = weights.OverlapOf(k);
    StoreOverlap(overlap, policy->mutable_overlap());
    policy->set_effective_sample_size(weights.EffectiveSampleSize(k));
    *policy->mutable_weights() = weights.HistogramOf(k);
    // A policy may have been learned from this log.
    const uint64_t before = task_.judgement.learned_after(k);
    for (auto& finding : StoredFindings(
             overlap, before > 0 ? TupleUse::kTraining : TupleUse::kHeldOut)) {
      finding.set_part(before > 0 ? "train" : "test");
      *policy->add_findings() = std::move(finding);
    }
    if (before > 0) {
      *policy->add_findings() =
          LearnedFromLog(judged, before, task_.judgement.decisions());
    }
    if (const std::string absent = judged.AbsentColumns(); !absent.empty()) {
      *policy->add_findings() = LacksColumns(judged, absent);
    }
    if (BoundsContradictEachOther(task_.style, {.sums = sums_, .policy = k})) {
      *policy->add_findings() = BoundsContradict(judged);
    }
    if (const auto& asked = task_.style.estimator;
        asked && estimators_.back().kind != *asked) {
      *policy->add_findings() =
          EstimatorDoesNotApply(*asked, estimators_.back().kind);
    }
  }

  void AddMissingMass(size_t k, OpePolicy* policy) {
    constexpr double kNoticeable = 0.005;
    if (!sums_.IsSupportKnown(k)) return;
    const double mass = SidesOf({.sums = &sums_, .policy = k}).missing_mass;
    policy->set_missing_mass(mass);
    if (mass >= kNoticeable) *policy->add_findings() = HardlyJudged(mass);
  }

  double Failure() const { return (1 - task_.style.confidence) / 2; }

  // Decisions by day; 0 if unknown.
  double DailyRate() const {
    constexpr double kDayUs = 86400e6;
    const double days = static_cast<double>(task_.summary.last_time_us -
                                            task_.summary.first_time_us) /
                        kDayUs;
    return days > 0 ? static_cast<double>(task_.summary.decisions) / days : 0;
  }

  // Returns the improvement that the options ask for, in units of the reward.
  double WantedImprovement() const {
    return task_.options.improvement() * std::abs(report_.logged().value());
  }

  // Returns the number of decisions that it takes to detect an improvement,
  // with the kind of interval that the answer of this log has. It is at least
  // the number that the distance of the lower end requires.
  uint64_t DecisionsFor(double improvement, const GainBound& bound,
                        const OpeEstimate& answer) const {
    const double distance = answer.gain().value() - answer.gain().lower();
    const uint64_t decisions = task_.summary.decisions;
    return std::max(DecisionsToSee(bound.standard_error, decisions, improvement,
                                   Failure(), kPower, bound.kind),
                    DecisionsToSee(distance / NormalQuantile(1 - Failure()),
                                   decisions, improvement, Failure(), kPower));
  }

  // Returns how many decisions the improvement of the options takes; 0 if it is
  // unknown.
  uint64_t AddPlans(size_t k, const OpePolicy& policy) {
    constexpr double kFactors[] = {0.2, 0.5, 1, 2, 5};
    uint64_t needed = 0;
    if (!policy.answer().has_gain() || WantedImprovement() == 0) return 0;
    const GainBound bound = LowerBoundOfGain(
        task_.style, {.sums = sums_, .policy = k, .estimator = estimators_[k]});
    if (!std::isfinite(bound.standard_error) || bound.standard_error <= 0) {
      return 0;
    }
    for (const double factor : kFactors) {
      config::v1::OpePlan* const plan = report_.add_plans();
      plan->set_policy(policy.name());
      plan->set_improvement(factor * WantedImprovement());
      const uint64_t decisions =
          DecisionsFor(plan->improvement(), bound, policy.answer());
      plan->set_decisions(decisions);
      plan->set_seen(task_.summary.decisions);
      if (DailyRate() > 0) {
        plan->set_days(static_cast<double>(decisions) / DailyRate());
      }
      if (factor == 1) needed = decisions;
    }
    return needed;
  }

  // Bonferroni: intervals of so many slices, for all policies, fail together
  // with 1 - confidence at most.
  EstimateStyle StyleForAll(size_t slices) const {
    EstimateStyle style = task_.style;
    style.confidence =
        1 - (1 - style.confidence) / static_cast<double>(std::max<size_t>(
                                         1, slices * num_policies_));
    return style;
  }

  static OpeSlice* AddSlice(
      const Slice& slice, const EstimateStyle& style,
      google::protobuf::RepeatedPtrField<OpeSlice>* stored) {
    OpeSlice* const added = stored->Add();
    added->set_name(slice.name);
    added->set_decisions(slice.sums.num_decisions());
    added->set_units(slice.units.Estimate());
    *added->mutable_logged() = LoggedEstimate(style, slice.sums);
    return added;
  }

  // A slice of propensities has certain actions, and no policy would take these
  // only: what it earns when it does is a mean by weights.
  void AddPropensities() {
    const auto& slices = task_.judgement.slices().propensities();
    EstimateStyle style = StyleForAll(slices.size());
    for (const Slice& slice : slices) {
      if (slice.sums.num_decisions() == 0) continue;
      OpeSlice* const added =
          AddSlice(slice, style, report_.mutable_propensities());
      for (size_t k = 0; k < num_policies_; ++k) {
        OpeEstimate* const estimate = added->add_policies();
        *estimate =
            MakeEstimate(style,
                         {.sums = slice.sums,
                          .policy = k,
                          .estimator = {EstimatorKind::kSelfNormalised}},
                         IntervalKind::kStudent);
        estimate->clear_gain();
        estimate->clear_gain_interval();
        estimate->clear_gain_standard_error();
      }
    }
  }

  void AddSlices(const std::vector<Slice>& slices,
                 google::protobuf::RepeatedPtrField<OpeSlice>* stored) {
    const EstimateStyle style = StyleForAll(slices.size());
    for (const Slice& slice : slices) {
      if (slice.sums.num_decisions() == 0) continue;
      OpeSlice* const added = AddSlice(slice, style, stored);
      for (size_t k = 0; k < num_policies_; ++k) {
        *added->add_policies() = MakeEstimate(
            style,
            {.sums = slice.sums, .policy = k, .estimator = estimators_[k]},
            std::nullopt);
      }
    }
  }

  // Gains that hold for all policies at once.
  std::vector<OpeEstimate> SimultaneousGains() const {
    EstimateStyle style = task_.style;
    const size_t compared = num_policies_ - (style.against ? 1 : 0);
    style.confidence =
        1 - (1 - style.confidence) /
                static_cast<double>(std::max<size_t>(1, compared));
    std::vector<OpeEstimate> gains;
    for (size_t k = 0; k < num_policies_; ++k) {
      gains.push_back(MakeEstimate(
          style, {.sums = sums_, .policy = k, .estimator = estimators_[k]},
          std::nullopt));
    }
    return gains;
  }

  const OpeReportTask& task_;
  const PolicySums& sums_;
  const size_t num_policies_;          // Without those of exploration.
  std::vector<Estimator> estimators_;  // Chosen, by policy.
  OpeReport report_;
};

}  // namespace

OpeReport MakeOpeReport(const OpeReportTask& task) {
  return Reporter(task).Make();
}

}  // namespace sortition
