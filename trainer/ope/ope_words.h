#pragma once
// What a report says in sentences.
#include <string>
#include <vector>

#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

// Returns a sentence that names the population of the intervals.
// `units_are_decisions`: each decision counts as independent.
std::string QuestionText(const config::v1::OpeOptions& options,
                         bool units_named, bool units_are_decisions);

// Returns what was found out about a policy, whose answer, findings and
// guardrails are there, as are the findings of the report about the log. Grave
// ones and guardrails that do not hold are reservations. `decisions_needed` is
// what it takes to see the improvement of the options; 0: unknown.
std::string PolicyVerdict(const config::v1::OpeOptions& options,
                          const config::v1::OpeReport& report,
                          const config::v1::OpePolicy& policy,
                          bool is_compared_with, bool is_log,
                          uint64_t decisions_needed);

// Returns which of the two versions of interleaved orders users prefer.
std::string PreferenceVerdict(const config::v1::OpeOptions& options,
                              const config::v1::OpeInterleaving& interleaving);

// Returns which policy is better, from gains that hold for all policies at
// once, in the order of report.policies, with the reservations about it; one
// without reservations is preferred. Unset: that of the policy that others
// are compared with.
std::string OverallVerdict(const config::v1::OpeReport& report,
                           const std::vector<config::v1::OpeEstimate>& gains);

// Returns what was assumed, a sentence each. `report` has all but this.
std::vector<std::string> AssumptionTexts(const config::v1::OpeOptions& options,
                                         const config::v1::OpeReport& report);

// A number with four significant digits, and with a sign.
std::string Text(double number);
std::string SignedText(double number);
// "95 %"
std::string ConfidenceText(double confidence);
// "12,500"; "more than can be counted" for the largest number.
std::string CountText(uint64_t count);

}  // namespace sortition
