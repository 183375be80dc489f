#include "trainer/labelled/label_figures.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/metrics/set_metrics.h"
#include "io/files.h"
#include "trainer/labelled/label_instances.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

// How a metric comes from instances. kMean: the mean of a value of each.
enum class From { kMean, kMicro, kMacro };

struct LabelMetric {
  const char* name;
  From from;
  double (*of)(const LabelInstance& instance);  // Of kMean.
};

constexpr LabelMetric kMetrics[] = {
    {"hamming_loss", From::kMean,
     [](const LabelInstance& i) { return i.hamming_loss; }},
    {"expected_hamming_loss", From::kMean,
     [](const LabelInstance& i) { return i.expected_hamming_loss; }},
    {"subset_accuracy", From::kMean,
     [](const LabelInstance& i) { return SubsetAccuracy(i.counts); }},
    {"jaccard", From::kMean,
     [](const LabelInstance& i) { return Jaccard(i.counts); }},
    {"f1_micro", From::kMicro, nullptr},
    {"f1_macro", From::kMacro, nullptr},
    {"f1_samples", From::kMean,
     [](const LabelInstance& i) { return FBeta(i.counts, 1); }},
};

absl::StatusOr<std::vector<LabelMetric>> ChooseMetrics(
    const EvaluateOptions& options) {
  std::vector<LabelMetric> chosen;
  if (options.metrics_size() == 0) {
    chosen.assign(std::begin(kMetrics), std::end(kMetrics));
  }
  for (const std::string& list : options.metrics()) {
    for (absl::string_view name : absl::StrSplit(list, ',')) {
      name = absl::StripAsciiWhitespace(name);
      const auto* const found =
          std::find_if(std::begin(kMetrics), std::end(kMetrics),
                       [&](const LabelMetric& m) { return m.name == name; });
      if (found != std::end(kMetrics)) {
        chosen.push_back(*found);
        continue;
      }
      const auto append = [](std::string* out, const LabelMetric& metric) {
        out->append(metric.name);
      };
      return absl::InvalidArgumentError(absl::StrCat(
          "--metrics has '", name, "', must be one of ",
          absl::StrJoin(kMetrics, ", ", append), " for a label model"));
    }
  }
  return chosen;
}

// Sums over instances, with a line for each.
class LabelSummary {
 public:
  LabelSummary(std::vector<LabelMetric> metrics, size_t num_labels,
               bool skip_unlabelled)
      : metrics_(std::move(metrics)),
        skip_unlabelled_(skip_unlabelled),
        sums_(metrics_.size()),
        by_label_(num_labels) {
    table_ = "qid";
    for (const LabelMetric& metric : metrics_) {
      if (metric.from == From::kMean)
        absl::StrAppend(&table_, "\t", metric.name);
    }
    table_ += "\n";
  }

  // `by_label` has the counts of the instance for each label.
  void Add(const LabelInstance& instance, std::span<const SetCounts> by_label) {
    if (!instance.has_labels()) {
      ++unlabelled_;
      if (skip_unlabelled_) return;
    }
    ++instances_;
    for (size_t l = 0; l < by_label.size(); ++l) by_label_[l].Add(by_label[l]);
    table_ += instance.id;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].from != From::kMean) continue;
      const double value = metrics_[m].of(instance);
      sums_[m] += value;
      absl::StrAppendFormat(&table_, "\t%.6f", value);
    }
    table_ += "\n";
  }

  void Fill(EvaluateReport* report) const {
    SetCounts all;
    for (const SetCounts& counts : by_label_) all.Add(counts);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      EvaluateReport::Metric* const row = report->add_metrics();
      row->set_name(metrics_[m].name);
      row->set_queries(instances_);
      if (instances_ == 0) continue;
      if (metrics_[m].from == From::kMean) {
        row->set_value(sums_[m] / static_cast<double>(instances_));
      } else if (metrics_[m].from == From::kMicro) {
        row->set_value(FBeta(all, 1));
      } else {
        const MacroF1 macro = MacroF1Of(by_label_);
        row->set_labels(macro.counted);
        if (macro.counted > 0) row->set_value(macro.value);
      }
    }
    report->set_queries(instances_);
    report->set_irrelevant_queries(unlabelled_);
    report->set_skipped_irrelevant(skip_unlabelled_);
    report->set_labels(by_label_.size());
  }
  const std::string& table() const { return table_; }

 private:
  const std::vector<LabelMetric> metrics_;
  const bool skip_unlabelled_;
  std::vector<double> sums_;
  std::vector<SetCounts> by_label_;
  uint64_t instances_ = 0;
  uint64_t unlabelled_ = 0;
  std::string table_;
};

}  // namespace

bool IsLabelModel(const model::v1::Model& model) {
  return model.policy().has_independent_labels() ||
         model.policy().has_label_chain();
}

absl::Status EvaluateLabels(const EvaluateOptions& options,
                            const model::v1::Model& model,
                            EvaluateReport* report) {
  ASSIGN_OR_RETURN(std::vector<LabelMetric> metrics, ChooseMetrics(options));
  const model::v1::Policy& policy = model.policy();
  const bool is_chain = policy.has_label_chain();
  LabelSummary summary(std::move(metrics),
                       is_chain ? policy.label_chain().num_labels()
                                : policy.independent_labels().num_labels(),
                       options.skip_irrelevant_queries());
  const auto add = [&](const LabelInstance& instance,
                       std::span<const SetCounts> by_label) {
    summary.Add(instance, by_label);
  };
  RETURN_IF_ERROR(is_chain ? JudgeSequences(options, model, add)
                           : JudgeLabelSets(options, model, add));
  summary.Fill(report);
  if (options.per_query().empty()) return absl::OkStatus();
  return WriteFile(options.per_query(), summary.table());
}

}  // namespace sortition
