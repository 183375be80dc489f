#pragma once
// The sections of the page as HTML. What a report does not have is left out.
#include <string>

#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

// head_sections.cc: the title, the verdict, links to the sections, key figures.
std::string Head(const config::v1::OpeReport& report,
                 const std::string& html_links);
std::string FindingsSection(const config::v1::OpeReport& report);

// answer_section.cc: the chosen estimate of each policy.
std::string AnswerSection(const config::v1::OpeReport& report);

// policy_section.cc: all that is known of one policy.
std::string PolicySection(const config::v1::OpeReport& report, int policy);
// weights.cc: how much of the log speaks for a policy.
std::string Weights(const config::v1::OpePolicy& policy);
// rewards.cc: further rewards of a policy, and its guardrails.
std::string Rewards(const config::v1::OpeReport& report,
                    const config::v1::OpePolicy& policy);

// slice_sections.cc
std::string DaysSection(const config::v1::OpeReport& report);
std::string SegmentsSection(const config::v1::OpeReport& report);
std::string PropensitiesSection(const config::v1::OpeReport& report);

// interleaving_section.cc: which version users prefer in interleaved orders.
std::string InterleavingSection(const config::v1::OpeReport& report);

// planning_section.cc: how much more log it takes, and what exploration costs.
std::string PlanningSection(const config::v1::OpeReport& report);

// closing_sections.cc
std::string AssumptionsSection(const config::v1::OpeReport& report);
std::string ProvenanceSection(const config::v1::OpeReport& report);

}  // namespace sortition
