#include "trainer/gate.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/models/look_ledger.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/tuples/scan/present_rate.h"

namespace sortition {
namespace {

const char* Result(const TupleGate& gate) {
  if (gate.options.dry_run()) return "Nothing published (dry run)";
  if (Passes(gate)) return "Published";
  return gate.options.force() ? "Published by --force" : "Not published";
}

// What a policy that passes is better than.
std::string Compared(const TupleGate& gate) {
  if (gate.counts.judged_with_baseline > 0) {
    return "what logged, in which the caller's baseline had a part";
  }
  if (gate.counts.baseline_version == 0) return "the policy that logged";
  return absl::StrCat("version ", gate.counts.baseline_version);
}

// The first guardrail that does not hold; null: all do.
const model::v1::Guardrail* FirstBroken(
    const model::v1::Evaluation& evaluation) {
  for (const auto& guardrail : evaluation.guardrails()) {
    if (!guardrail.holds()) return &guardrail;
  }
  return nullptr;
}

// Returns true if the improvement is over the version to be replaced, because
// that version logged, or if there is no such version.
bool HoldsAgainstNewest(const TupleGate& gate) {
  if (gate.report.has_why_not_compared()) return false;
  return !gate.report.has_improvement_over_newest() ||
         gate.report.improvement_over_newest().lower() >= 0;
}

// What the comparison leaves open.
std::string NotProved(const TupleGate& gate) {
  if (gate.newest_version == 0) {
    return absl::StrCat(
        " No version of model '", gate.options.model(),
        "' is in the store: the comparison is with what logged, and nothing "
        "says that this is what serves otherwise.");
  }
  if (gate.newest_version == gate.counts.baseline_version &&
      gate.counts.judged_with_baseline == 0) {
    return "";
  }
  return absl::StrFormat(
      " It earns no less than version %d, which it replaces, either.",
      gate.newest_version);
}

const char* ThingsOf(const config::v1::TrainReport::Forecast& forecast) {
  return forecast.by_units() ? "users" : "decisions";
}

// The range of the forecast, because the estimate is not certain.
std::string RangeText(const config::v1::TrainReport::Forecast& forecast) {
  if (forecast.has_needed_most()) {
    return absl::StrFormat("%d to %d", forecast.needed_least(),
                           forecast.needed_most());
  }
  return absl::StrFormat(
      "%d or more: the estimate is within one standard error of 0, so there "
      "may be no improvement",
      forecast.needed_least());
}

// How many users or decisions of the whole log would prove it: people know
// these numbers, and not those of the test part.
std::string ForecastText(const TupleGate& gate) {
  const auto& forecast = gate.report.forecast();
  return absl::StrFormat(
      "if the improvement is %.2g, as estimated (standard error %.2g), about "
      "%d %s are needed (%s), and the log has %d%s",
      forecast.improvement(), forecast.standard_error(), forecast.needed(),
      ThingsOf(forecast), RangeText(forecast), forecast.so_far(),
      AtPresentRate(static_cast<double>(forecast.needed() - forecast.so_far()),
                    gate.counts.arrivals, gate.now_us));
}

std::string Needed(const TupleGate& gate) {
  if (gate.report.evaluation().decisions_needed() == 0) {
    return "if the estimate is right, no number of decisions would prove it";
  }
  return absl::StrCat("not enough data yet: ", ForecastText(gate));
}

// The log is so small that nothing better could be expected of it.
std::string TooLittleText(const TupleGate& gate) {
  const auto& evaluation = gate.report.evaluation();
  const Arrivals& arrivals = gate.counts.arrivals;
  const uint64_t decisions = evaluation.train_tuples() +
                             evaluation.validation_tuples() +
                             evaluation.test_tuples();
  const bool by_units = !arrivals.units_are_decisions();
  const uint64_t so_far = by_units ? arrivals.units : decisions;
  const uint64_t needed = gate.report.units_to_double();
  return absl::StrFormat(
      "%s: not enough data yet: %d decisions%s; about %d%s are needed to show "
      "an improvement of %.2g per decision, as much as decisions earn now or "
      "could still gain%s.",
      Result(gate), decisions,
      by_units ? absl::StrFormat(" of %d users", so_far) : std::string(),
      needed, by_units ? " users" : "", gate.report.improvement_to_show(),
      AtPresentRate(static_cast<double>(needed - so_far), arrivals,
                    gate.now_us));
}

}  // namespace

bool Passes(const TupleGate& gate) {
  const auto& evaluation = gate.report.evaluation();
  return gate.report.test_looked_at() && gate.counts.evaluates_baseline &&
         evaluation.improvement().lower() > 0 &&
         FirstBroken(evaluation) == nullptr && HoldsAgainstNewest(gate) &&
         !ContradictsItself(evaluation);
}

bool NeedsMoreData(const TupleGate& gate) {
  if (Passes(gate)) return false;
  const auto& report = gate.report;
  return report.has_deferred_look() || report.has_units_to_double() ||
         (report.has_forecast() && gate.counts.evaluates_baseline &&
          report.evaluation().improvement().lower() <= 0 &&
          !ContradictsItself(report.evaluation()));
}

uint64_t DecisionsNeeded(const model::v1::Evaluation& evaluation,
                         double confidence) {
  const auto& improvement = evaluation.improvement();
  if (!(improvement.value() > 0) || improvement.lower() > 0) return 0;
  const double distance = improvement.value() - improvement.lower();
  const double now = (1 - improvement.confidence()) / 2;
  const double next =
      (1 - confidence) / 2 *
      (evaluation.look() > 0 ? ShareOfLook(evaluation.look() + 1) : 1);
  const double factor = std::pow(distance / improvement.value(), 2) *
                        std::log(next) / std::log(now);
  constexpr double kMost = 1e18;
  return static_cast<uint64_t>(std::fmin(
      kMost,
      std::ceil(factor * static_cast<double>(evaluation.test_tuples()))));
}

namespace {

// Why the test part was left alone, although validation promises something.
std::string DeferredText(const TupleGate& gate) {
  const auto& deferred = gate.report.deferred_look();
  const auto test = static_cast<double>(gate.report.evaluation().test_tuples());
  const std::string promise = absl::StrFormat(
      "%s yet: the validation part promises an improvement (estimate %.4g), "
      "but the test part was not looked at.",
      Result(gate), gate.report.validation_improvement().value());
  constexpr char kWhy[] =
      "each look spends part of the gate's error budget. --look_now looks at "
      "once.";
  if (!deferred.has_likely_tuples()) {
    const auto more =
        static_cast<double>(deferred.needed_tuples() - deferred.new_tuples());
    const double every = 1 / gate.options.test_fraction();
    return absl::StrFormat(
        "%s It has %.0f tuples, of which %d are newer than look %d, and the "
        "next look takes %d newer ones%s: %s",
        promise, test, deferred.new_tuples(), deferred.look(),
        deferred.needed_tuples(),
        AtPresentDecisionRate(more, every, gate.counts.arrivals, gate.now_us),
        kWhy);
  }
  if (deferred.likely_tuples() == 0) {
    return absl::StrCat(promise, " It would probably not pass: ", kWhy);
  }
  return absl::StrFormat("%s It would probably not pass yet: %s. Also, %s",
                         promise, ForecastText(gate), kWhy);
}

std::string Decision(const TupleGate& gate) {
  const auto& evaluation = gate.report.evaluation();
  const auto& improvement = evaluation.improvement();
  const std::string odds =
      absl::StrFormat("%g %% confidence", 100 * gate.options.confidence());
  // A forecast has its own sentence.
  if (gate.report.needs_more_data() && gate.report.has_units_to_double()) {
    return TooLittleText(gate);
  }
  if (!gate.report.test_looked_at() && gate.report.is_unchanged()) {
    return absl::StrFormat(
        "%s: what was trained is version %d again, which it would replace, so "
        "the test part was not looked at and can still be asked.",
        Result(gate), gate.newest_version);
  }
  if (!gate.report.test_looked_at() && gate.report.keeps_parent()) {
    return absl::StrFormat(
        "%s: nothing that was trained validates better than version %d, so the "
        "test part was not looked at and can still be asked.",
        Result(gate), gate.report.parent_version());
  }
  if (!gate.report.test_looked_at() && gate.is_uniform) {
    return absl::StrFormat(
        "%s: what was trained chooses at random (all weights are 0), so "
        "nothing was learned, and the test part was not looked at. More "
        "decisions may help, or other features: `sortition-trainer "
        "suggest-features` lists what is made of each column, and what is left "
        "out and why.",
        Result(gate));
  }
  if (gate.report.has_deferred_look()) return DeferredText(gate);
  if (!gate.report.test_looked_at() && gate.report.validation_promises()) {
    return absl::StrFormat(
        "%s: the validation part promises an improvement (estimate %.4g), but "
        "this look could not be noted in the store, so the test part was not "
        "looked at.",
        Result(gate), gate.report.validation_improvement().value());
  }
  if (!gate.report.test_looked_at()) {
    return absl::StrFormat(
        "%s: the validation part promises no improvement (estimate %.4g), so "
        "the test part was not looked at and can still be asked.",
        Result(gate), gate.report.validation_improvement().value());
  }
  if (!gate.counts.evaluates_baseline) {
    return absl::StrFormat(
        "%s: there are too few tuples of version %d, which would be replaced; "
        "the estimates compare with all versions that logged (improvement "
        "%.4g, at least %.4g with %s).",
        Result(gate), gate.counts.baseline_version, improvement.value(),
        improvement.lower(), odds);
  }
  if (ContradictsItself(evaluation)) {
    return absl::StrFormat(
        "%s: no interval of this log holds (improvement %.4g, at least %.4g "
        "with %s, were its propensities right).",
        Result(gate), improvement.value(), improvement.lower(), odds);
  }
  if (Passes(gate)) {
    return absl::StrFormat(
        "%s: with %s the new policy earns at least %.4g more per decision than "
        "%s (estimate %.4g).%s",
        Result(gate), odds, improvement.lower(), Compared(gate),
        improvement.value(), NotProved(gate));
  }
  if (const auto* broken = FirstBroken(evaluation);
      broken != nullptr && improvement.lower() > 0) {
    return absl::StrFormat(
        "%s: guardrail '%s' does not hold: with %s it could fall by %.4g "
        "(estimate %.4g), and %.4g is allowed.",
        Result(gate), broken->reward(), odds, -broken->change().lower(),
        broken->change().value(), broken->allowed());
  }
  if (improvement.lower() > 0 && gate.report.has_why_not_compared()) {
    return absl::StrFormat(
        "%s: it is better than %s, but cannot be compared with version %d, "
        "which it would replace: %s. %s",
        Result(gate), Compared(gate), gate.newest_version,
        gate.report.why_not_compared(),
        gate.options.baseline() == "log"
            ? "Test on decisions of that version (--baseline=serving), or "
              "publish with --force."
            : "Publish with --force to replace it without this comparison.");
  }
  if (improvement.lower() > 0 && !HoldsAgainstNewest(gate)) {
    const auto& over = gate.report.improvement_over_newest();
    return absl::StrFormat(
        "%s: it is better than %s, but with %s it could earn %.4g less per "
        "decision than version %d, which it would replace (estimate %.4g).",
        Result(gate), Compared(gate), odds, -over.lower(), gate.newest_version,
        over.value());
  }
  return absl::StrFormat(
      "%s: with %s the new policy could earn %.4g less per decision than %s "
      "(estimate %.4g); %s.",
      Result(gate), odds, -improvement.lower(), Compared(gate),
      improvement.value(), Needed(gate));
}

}  // namespace

std::string Verdict(const TupleGate& gate) {
  std::string text = Decision(gate);
  const bool publishes =
      !gate.options.dry_run() && (Passes(gate) || gate.options.force());
  if (publishes && !gate.why_not_serving.empty()) {
    absl::StrAppend(&text, " ", gate.why_not_serving);
  }
  return text;
}

}  // namespace sortition
