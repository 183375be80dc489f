#include "trainer/offpolicy/overlap_report.h"

#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using model::v1::Evaluation;
using StoredOverlap = model::v1::Overlap;
using model::v1::RewardBound;

std::string PartName(const std::string& part) {
  return absl::StrCat(part == "train" ? "training" : part, " part");
}

std::string Label(const RewardBound& bound) {
  if (bound.method() == "log_smoothing") {
    return absl::StrFormat("logarithmic smoothing, %s, lambda %g",
                           PartName(bound.part()), bound.lambda());
  }
  const std::string policies =
      bound.part() == "train" ? "the whole linear family"
                              : absl::StrFormat("any of %.0f policies",
                                                std::exp(bound.log_capacity()));
  return absl::StrFormat("Theorem 3, %s, %s", PartName(bound.part()), policies);
}

struct Row {
  const char* name;
  std::function<std::string(const StoredOverlap&)> value;
};

std::string Percent(double share) {
  return absl::StrFormat("%.3g %%", 100 * share);
}

std::vector<Row> Rows() {
  return {
      {"tuples",
       [](const StoredOverlap& o) { return absl::StrCat(o.tuples()); }},
      {"mean weight (1 expected), standard error",
       [](const StoredOverlap& o) {
         return absl::StrFormat("%.4g (%.2g)", o.mean_weight(),
                                o.mean_weight_error());
       }},
      {"effective sample size, share of the tuples",
       [](const StoredOverlap& o) {
         return absl::StrFormat(
             "%.1f (%s)", o.effective_sample_size(),
             Percent(o.effective_sample_size() /
                     std::fmax(1, static_cast<double>(o.tuples()))));
       }},
      {"fewest tuples with half of the weight",
       [](const StoredOverlap& o) {
         return absl::StrCat(o.half_weight_tuples());
       }},
      {"largest share of one tuple in the weight",
       [](const StoredOverlap& o) { return Percent(o.largest_share()); }},
      {"weight: median, 90 %, 99 %",
       [](const StoredOverlap& o) {
         return absl::StrFormat("%.3g, %.3g, %.3g", o.median_weight(),
                                o.weight_p90(), o.weight_p99());
       }},
      {"largest weight",
       [](const StoredOverlap& o) {
         return absl::StrFormat("%.4g", o.largest_weight());
       }},
      {"clipped at M: tuples, weight taken away",
       [](const StoredOverlap& o) {
         if (o.clip() == 0) return std::string("not clipped");
         return absl::StrFormat("%.4g: %s, %s", o.clip(),
                                Percent(o.clipped_fraction()),
                                Percent(o.clipped_mass()));
       }},
      {"smallest propensity",
       [](const StoredOverlap& o) {
         return absl::StrFormat("%.3g", o.smallest_propensity());
       }},
      {"tuples of propensity 1",
       [](const StoredOverlap& o) {
         return Percent(o.deterministic_fraction());
       }},
      {"tuples logged without full support",
       [](const StoredOverlap& o) {
         return Percent(o.without_full_support_fraction());
       }},
      {"uniform policy's mean weight (at most 1)",
       [](const StoredOverlap& o) {
         return absl::StrFormat("%.4g (%.2g)", o.uniform_mean_weight(),
                                o.uniform_mean_weight_error());
       }},
  };
}

}  // namespace

void AppendBounds(const Evaluation& evaluation, std::string* text) {
  if (evaluation.bounds_size() == 0) return;
  absl::StrAppendFormat(
      text, "\n  Reward of the new policy, with %g %% confidence %14s\n",
      100 * evaluation.bounds(0).confidence(), "at least");
  for (const RewardBound& bound : evaluation.bounds()) {
    absl::StrAppendFormat(text, "  %-53s %9.4f%s\n", Label(bound),
                          bound.lower(),
                          bound.vacuous() ? " (says nothing)" : "");
  }
}

void AppendOverlap(const Evaluation& evaluation, std::string* text) {
  const bool has_train = evaluation.has_train_overlap();
  absl::StrAppendFormat(text, "\n  %-43s %21s %21s\n",
                        "Overlap of the new policy with the log", "test part",
                        has_train ? "training part" : "");
  for (const Row& row : Rows()) {
    absl::StrAppendFormat(
        text, "  %-43s %21s %21s\n", row.name,
        row.value(evaluation.test_overlap()),
        has_train ? row.value(evaluation.train_overlap()) : "");
  }
}

void AppendFindings(const Evaluation& evaluation, std::string* text) {
  if (evaluation.findings_size() == 0) return;
  absl::StrAppend(text, "\nBefore you trust this:\n");
  for (const auto& finding : evaluation.findings()) {
    absl::StrAppendFormat(text, "  %s: %s\n", PartName(finding.part()),
                          finding.sentence());
  }
}

}  // namespace sortition
