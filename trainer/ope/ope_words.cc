#include "trainer/ope/ope_words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "trainer/ope/policies/policy_spec.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeOptions;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using StoredFinding = model::v1::Finding;

// "the log" or "'newest'".
std::string Named(absl::string_view name) {
  return name == kLogName ? "the log" : absl::StrCat("'", name, "'");
}

// "0.012 to 0.05, 95 %"
std::string IntervalText(const model::v1::Estimate& estimate) {
  return absl::StrCat(SignedText(estimate.lower()), " to ",
                      SignedText(estimate.upper()), ", ",
                      ConfidenceText(estimate.confidence()));
}

// Returns why the numbers of a policy cannot be used; null if nothing says so.
const StoredFinding* ContradictionOf(const OpeReport& report,
                                     const OpePolicy& policy) {
  for (const auto* const findings : {&policy.findings(), &report.findings()}) {
    for (const StoredFinding& finding : *findings) {
      if (finding.gravity() == StoredFinding::CONTRADICTION) return &finding;
    }
  }
  return nullptr;
}

// Most decisions are of a baseline that always does the same.
bool LeavesNoChoice(const OpeReport& report) {
  return 2 * report.certain_baseline() > report.decisions();
}

// What a grave finding says against an answer.
std::string ClauseOf(const StoredFinding& finding) {
  constexpr std::pair<const char*, const char*> kClauses[] = {
      {"learned_from_log",
       "it may have learned from these very decisions, which makes it look "
       "better than it is"},
      {"deterministic_log", "the log hardly ever had a choice"},
      {"few_tuples_decide", "a few decisions decide what it seems to earn"},
      {"few_effective_tuples", "few decisions say anything about it"},
      {"no_full_support", "the log could not choose all that it chooses"},
      {"missing_support", "most of what it does is not in the log"},
  };
  for (const auto& [kind, clause] : kClauses) {
    if (finding.kind() == kind) return clause;
  }
  return absl::StrCat("there is a finding against it (", finding.kind(), ")");
}

// What speaks against taking a policy, in short clauses.
std::vector<std::string> ReservationsOf(const OpePolicy& policy) {
  std::vector<std::string> reservations;
  for (const auto& guardrail : policy.guardrails()) {
    if (guardrail.holds()) continue;
    reservations.push_back(absl::StrCat(
        "it is not shown that '", guardrail.reward(), "' falls by at most ",
        Text(guardrail.allowed()),
        guardrail.has_change()
            ? absl::StrCat(": it changes by ",
                           SignedText(guardrail.change().value()), " (",
                           IntervalText(guardrail.change()), ")")
            : ": all rewards of its file are 0"));
  }
  for (const StoredFinding& finding : policy.findings()) {
    if (finding.gravity() > StoredFinding::CAUTION) {
      reservations.push_back(ClauseOf(finding));
    }
  }
  return reservations;
}

// " But it ... and it ..."; empty without reservations.
std::string ButText(const std::vector<std::string>& reservations) {
  if (reservations.empty()) return "";
  return absl::StrCat(" But ", absl::StrJoin(reservations, ", and "), ".");
}

std::string GainText(const OpeOptions& options, const OpePolicy& policy,
                     uint64_t decisions_needed) {
  const model::v1::Estimate& gain = policy.answer().gain();
  const std::string name = absl::StrCat("'", policy.name(), "'");
  const std::string against = Named(options.against());
  if (gain.lower() > 0 || gain.upper() < 0) {
    const bool is_better = gain.lower() > 0;
    return absl::StrCat(name, " is ", is_better ? "better" : "worse", " than ",
                        against, ": it earns ", Text(std::abs(gain.value())),
                        is_better ? " more" : " less", " per decision (",
                        IntervalText(gain), ").");
  }
  std::string text =
      absl::StrCat("This log cannot tell whether ", name,
                   " is better or worse than ", against, ": the difference is ",
                   SignedText(gain.value()), " (", IntervalText(gain), ").");
  if (decisions_needed > 0) {
    absl::StrAppend(&text, " An improvement of ",
                    absl::StrFormat("%.3g %%", 100 * options.improvement()),
                    " would show in ", CountText(decisions_needed),
                    " decisions like these.");
  }
  return text;
}

}  // namespace

std::string Text(double number) { return absl::StrFormat("%.4g", number); }

std::string SignedText(double number) {
  return absl::StrFormat("%+.4g", number);
}

std::string ConfidenceText(double confidence) {
  return absl::StrFormat("%.6g %%", 100 * confidence);
}

std::string CountText(uint64_t count) {
  if (count == std::numeric_limits<uint64_t>::max()) {
    return "more than can be counted";
  }
  std::string digits = absl::StrCat(count);
  for (size_t end = digits.size(); end > 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string QuestionText(const OpeOptions& options, bool units_named,
                         bool units_are_decisions) {
  if (options.units() == "same") {
    return absl::StrCat(
        "What would these very units earn if they came back in these "
        "proportions? Each decision ",
        units_are_decisions ? "" : "id, some of which repeat, ",
        "counts as independent of the others, and nothing is claimed for other "
        "users.");
  }
  if (!units_named && !units_are_decisions) {
    return "What would other decisions like these earn? No unit_id is logged, "
           "and decision ids repeat: decisions with one id count as one unit.";
  }
  return units_named
             ? "What would other units like these earn? Intervals take the "
               "units for a sample: decisions of one unit may depend on each "
               "other."
             : "What would other decisions like these earn? No unit_id is "
               "logged, so each decision counts as independent of the others.";
}

std::string PolicyVerdict(const OpeOptions& options, const OpeReport& report,
                          const OpePolicy& policy, bool is_compared_with,
                          bool is_log, uint64_t decisions_needed) {
  if (const StoredFinding* const finding = ContradictionOf(report, policy)) {
    return absl::StrCat("Do not use the numbers of '", policy.name(), "'. ",
                        finding->sentence());
  }
  std::string text;
  if (is_compared_with) {
    text = absl::StrCat("'", policy.name(), "' earns ",
                        Text(policy.answer().value().value()),
                        " per decision; the others are compared with it.");
  } else if (is_log && options.against() == kLogName) {
    text = absl::StrCat("'", policy.name(),
                        "' is what wrote the log: it earns what the log did.");
  } else if (LeavesNoChoice(report)) {
    return absl::StrCat("This log cannot tell what '", policy.name(),
                        "' would earn: in ",
                        CountText(report.certain_baseline()), " of ",
                        CountText(report.decisions()),
                        " decisions the caller's baseline left no choice.");
  } else {
    text = GainText(options, policy, decisions_needed);
  }
  return absl::StrCat(text, ButText(ReservationsOf(policy)));
}

std::string PreferenceVerdict(const OpeOptions& options,
                              const config::v1::OpeInterleaving& interleaving) {
  const std::string other =
      absl::StrCat("version ", interleaving.other_version());
  const std::string serving = absl::StrCat("version ", interleaving.version());
  if (!interleaving.has_preference()) {
    return absl::StrCat("Nothing is known of users who see ", serving, " and ",
                        other, " together: none of ",
                        CountText(interleaving.decisions()),
                        " decisions has feedback that names its rank.");
  }
  const model::v1::Estimate& preference = interleaving.preference();
  if (preference.lower() > 0 || preference.upper() < 0) {
    const bool is_other = preference.lower() > 0;
    return absl::StrCat("Users prefer ", is_other ? other : serving, " to ",
                        is_other ? serving : other, ": in ",
                        CountText(interleaving.decisions()),
                        " decisions the ranks that it filled earned ",
                        Text(std::abs(preference.value())),
                        " more per decision than the ", "other's (", other,
                        " minus ", serving, ": ", IntervalText(preference),
                        ").");
  }
  std::string text = absl::StrCat(
      "These ", CountText(interleaving.decisions()),
      " decisions cannot tell whether users prefer ", other, " or ", serving,
      ": what the ranks of each earned differs by ",
      SignedText(preference.value()), " per decision (",
      IntervalText(preference), ").");
  if (interleaving.has_needed()) {
    absl::StrAppend(&text, " A preference of ",
                    absl::StrFormat("%.3g %%", 100 * options.improvement()),
                    " of what ranks earn would show in ",
                    CountText(interleaving.needed()), " decisions like these.");
  }
  return text;
}

std::string OverallVerdict(const OpeReport& report,
                           const std::vector<OpeEstimate>& gains) {
  const auto gain_of = [&](int k) -> const model::v1::Estimate& {
    return gains[static_cast<size_t>(k)].gain();
  };
  int best = -1;
  int compared = 0;
  // One that nothing speaks against comes before others that earn more.
  const auto rank = [&](int k) {
    const bool can_be_taken =
        gain_of(k).lower() > 0 && ReservationsOf(report.policies(k)).empty();
    return std::pair(can_be_taken, gain_of(k).lower());
  };
  for (int k = 0; k < report.policies_size(); ++k) {
    if (!gains[static_cast<size_t>(k)].has_gain()) continue;
    ++compared;
    if (const StoredFinding* const finding =
            ContradictionOf(report, report.policies(k))) {
      return absl::StrCat("Do not decide by this log. ", finding->sentence());
    }
    if (best < 0 || rank(k) > rank(best)) best = k;
  }
  const std::string against = Named(report.against());
  if (best < 0) {
    return absl::StrCat("Nothing was compared with ", against, ".");
  }
  const OpePolicy& policy = report.policies(best);
  if (compared == 1) return policy.verdict();
  if (LeavesNoChoice(report)) {
    return absl::StrCat("Do not decide by this log: in ",
                        CountText(report.certain_baseline()), " of ",
                        CountText(report.decisions()),
                        " decisions the caller's baseline left no choice.");
  }
  const model::v1::Estimate& gain = gain_of(best);
  const std::string all =
      absl::StrCat(ConfidenceText(report.confidence()), " for all ", compared,
                   " policies at once");
  if (gain.lower() > 0) {
    const std::vector<std::string> reservations = ReservationsOf(policy);
    return absl::StrCat(
        reservations.empty() ? "Take '" : "Do not take any yet. The best is '",
        policy.name(), "': it earns ", Text(gain.value()),
        " more per decision than ", against, ", and at least ",
        Text(gain.lower()), " more (", all, ").", ButText(reservations));
  }
  return absl::StrCat("Stay with ", against, ": none of the ", compared,
                      " policies is shown to earn more. The nearest is '",
                      policy.name(), "' with ", SignedText(gain.value()), " (",
                      SignedText(gain.lower()), " to ",
                      SignedText(gain.upper()), ", ", all, ").");
}

std::vector<std::string> AssumptionTexts(const OpeOptions& options,
                                         const OpeReport& report) {
  std::vector<std::string> texts = {
      "The logged propensities are right: each is the probability with which "
      "the action was drawn.",
      "Users and candidates will be like those of the log, and the reward is "
      "what is wanted."};
  if (report.units_named() && options.units() == "new") {
    texts.push_back("Different units are independent of each other.");
  } else {
    texts.push_back("Decisions are independent of each other.");
  }
  texts.push_back(
      options.overrides() == "as_shown"
          ? "Where something else than the action was shown, no policy earns "
            "anything."
          : "What overrides decisions on their way to the user does not depend "
            "on the policy.");
  if (report.counted_ranks() < report.logged_ranks()) {
    texts.push_back(absl::StrFormat(
        "The reward of an order depends on the ranks that were %s alone (%.3g "
        "of %.3g on average), and whether somebody looks further on what "
        "stands above, not on what stands below.",
        report.ranks(), report.counted_ranks(), report.logged_ranks()));
  }
  std::vector<std::string> seen;
  for (const OpePolicy& policy : report.policies()) {
    const std::string& assumes = policy.answer().assumes();
    if (assumes.empty() ||
        std::find(seen.begin(), seen.end(), assumes) != seen.end()) {
      continue;
    }
    seen.push_back(assumes);
    texts.push_back(
        absl::StrCat("The answer of '", policy.name(), "' assumes: ", assumes));
  }
  if (report.segments_size() + report.days_size() + report.propensities_size() >
      0) {
    texts.push_back(absl::StrCat(
        "Intervals of segments hold for all segments at once with ",
        ConfidenceText(options.confidence()),
        " (Bonferroni); so do those of all days, and of all ranges of the "
        "propensity."));
  }
  for (const auto& coverage : report.reward_coverage()) {
    texts.push_back(absl::StrCat("The file of '", coverage.reward(),
                                 "' has all outcomes of ", coverage.period(),
                                 "."));
  }
  if (report.reward_coverage_size() > 0) {
    texts.push_back(
        "Rewards are in the range that --reward_ranges gives them; those "
        "without one are between the smallest and the largest of their file "
        "and 0.");
  }
  return texts;
}

}  // namespace sortition
