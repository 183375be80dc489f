#include "trainer/evaluate_orders.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/data/candidates.h"
#include "io/files.h"
#include "io/letor.h"
#include "io/model_store.h"
#include "trainer/newest_version.h"
#include "trainer/order_metrics.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

std::vector<std::string> FilesOf(const EvaluateOptions& options) {
  std::vector<std::string> files;
  for (const std::string& list : options.data()) {
    for (absl::string_view name : absl::StrSplit(list, ',')) {
      files.emplace_back(absl::StripAsciiWhitespace(name));
    }
  }
  return files;
}

absl::Status CheckOptions(const EvaluateOptions& options) {
  if (options.data_size() == 0) {
    return absl::InvalidArgumentError(
        "data is unset, must name a file of labelled queries");
  }
  if (options.model_store().empty() == options.scores().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model_store and scores are both ",
        options.scores().empty() ? "unset" : "set", ", must be one of them"));
  }
  if (options.output() != "text" && options.output() != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "output is '", options.output(), "', must be text or json"));
  }
  return absl::OkStatus();
}

// What gives the queries of all files their scores.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                                     uint32_t num_features) = 0;
  // After the queries of each file, of so many candidates.
  virtual void EndFile(size_t num_candidates) = 0;
  // After all files.
  virtual absl::Status End() = 0;
};

class ModelScorer : public Scorer {
 public:
  explicit ModelScorer(const model::v1::Model& model)
      : model_(model),
        weights_(model.weights().begin(), model.weights().end()) {}

  // Files end their lines at the last feature that is not 0: they may have
  // fewer than the model.
  absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                             uint32_t num_features) override {
    if (weights_.size() != model_.num_features()) {
      return absl::InvalidArgumentError(
          absl::StrCat("model '", model_.name(), "' has ", weights_.size(),
                       " weights for ", model_.num_features(),
                       " features, must have one each to order candidates"));
    }
    if (num_features > weights_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data has ", num_features, " features, must have at most ",
          weights_.size(), ", those of model '", model_.name(), "'"));
    }
    ASSIGN_OR_RETURN(const Candidates items,
                     Candidates::Dense(query.features, num_features));
    std::vector<uint32_t> all(query.relevances.size());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<double> scores(all.size());
    items.Scores(all, std::span(weights_).first(num_features), scores);
    return scores;
  }
  void EndFile(size_t) override {}
  absl::Status End() override { return absl::OkStatus(); }

 private:
  const model::v1::Model model_;
  const std::vector<double> weights_;
};

class FileScorer : public Scorer {
 public:
  static absl::StatusOr<std::unique_ptr<Scorer>> Read(const std::string& path) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    auto scorer = std::make_unique<FileScorer>();
    scorer->path_ = path;
    size_t line = 0;
    for (absl::string_view token : absl::StrSplit(text, '\n')) {
      ++line;
      token = absl::StripAsciiWhitespace(token);
      if (token.empty()) continue;
      double score = 0;
      if (!absl::SimpleAtod(token, &score) || !std::isfinite(score)) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": line ", line, " is '", token,
                         "', must be one finite number"));
      }
      scorer->scores_.push_back(score);
    }
    return scorer;
  }

  absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                             uint32_t) override {
    std::vector<double> scores;
    for (const uint32_t row : query.file_rows) {
      if (before_ + row >= scores_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": has ", scores_.size(),
                         " scores, must have one for each candidate of data"));
      }
      scores.push_back(scores_[before_ + row]);
    }
    return scores;
  }
  void EndFile(size_t num_candidates) override { before_ += num_candidates; }
  absl::Status End() override {
    if (before_ == scores_.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": has ", scores_.size(), " scores, must have ",
                     before_, ", one for each candidate of data"));
  }

 private:
  std::string path_;
  std::vector<double> scores_;
  size_t before_ = 0;  // Candidates of the files before.
};

absl::StatusOr<std::unique_ptr<Scorer>> MakeScorer(
    const EvaluateOptions& options, EvaluateReport* report) {
  if (!options.scores().empty()) return FileScorer::Read(options.scores());
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  const ModelStore store(options.model_store());
  uint64_t version = options.version();
  if (version == 0) {
    ASSIGN_OR_RETURN(version, NewestVersion(options.model(), store));
    if (version == 0) {
      return absl::NotFoundError(absl::StrCat(
          "model is '", options.model(), "', there is no version of it in ",
          options.model_store()));
    }
  }
  ASSIGN_OR_RETURN(const StoredModel stored,
                   store.Load(options.model(), version));
  report->set_model(options.model());
  report->set_version(version);
  return std::make_unique<ModelScorer>(stored.model);
}

// Means over the queries that have the metric, and a line for each query.
class Summary {
 public:
  explicit Summary(std::vector<OrderMetric> metrics)
      : metrics_(std::move(metrics)),
        sums_(metrics_.size()),
        counts_(metrics_.size()) {
    table_ = "qid";
    for (const OrderMetric& metric : metrics_) {
      absl::StrAppend(&table_, "\t", metric.name);
    }
    table_ += "\n";
  }

  void Add(const std::string& id, const ScoredQuery& query) {
    table_ += id;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const double value = metrics_[m].of(query);
      if (std::isnan(value)) {
        table_ += "\t";
        continue;
      }
      absl::StrAppendFormat(&table_, "\t%.6f", value);
      sums_[m] += value;
      ++counts_[m];
    }
    table_ += "\n";
  }

  void Fill(EvaluateReport* report) const {
    for (size_t m = 0; m < metrics_.size(); ++m) {
      EvaluateReport::Metric* row = report->add_metrics();
      row->set_name(metrics_[m].name);
      row->set_queries(counts_[m]);
      if (counts_[m] == 0) continue;
      row->set_value(sums_[m] / static_cast<double>(counts_[m]));
    }
  }
  const std::string& table() const { return table_; }

 private:
  const std::vector<OrderMetric> metrics_;
  std::vector<double> sums_;
  std::vector<uint64_t> counts_;
  std::string table_;
};

}  // namespace

absl::StatusOr<EvaluateReport> EvaluateOrders(const EvaluateOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(std::vector<OrderMetric> metrics, MakeOrderMetrics(options));
  EvaluateReport report;
  ASSIGN_OR_RETURN(const auto scorer, MakeScorer(options, &report));
  Summary summary(std::move(metrics));
  uint64_t num_queries = 0;
  uint64_t num_candidates = 0;
  for (const std::string& file : FilesOf(options)) {
    ASSIGN_OR_RETURN(const LabelledQueries data, ReadLetor(file));
    size_t of_file = 0;
    for (const LabelledQuery& query : data.queries) {
      ASSIGN_OR_RETURN(const std::vector<double> scores,
                       scorer->Scores(query, data.num_features));
      summary.Add(query.id, {query.relevances, scores});
      of_file += scores.size();
      ++num_queries;
    }
    scorer->EndFile(of_file);
    num_candidates += of_file;
  }
  RETURN_IF_ERROR(scorer->End());
  summary.Fill(&report);
  report.set_queries(num_queries);
  report.set_candidates(num_candidates);
  if (!options.per_query().empty()) {
    RETURN_IF_ERROR(WriteFile(options.per_query(), summary.table()));
  }
  return report;
}

std::string FormatOrderReport(const EvaluateReport& report) {
  std::string text = absl::StrFormat(
      "%d queries, %d candidates%s\n", report.queries(), report.candidates(),
      report.has_version() ? absl::StrFormat(", ordered by %s version %d",
                                             report.model(), report.version())
                           : ", ordered by the scores given");
  for (const EvaluateReport::Metric& metric : report.metrics()) {
    absl::StrAppendFormat(
        &text, "  %-22s %8s%s\n", metric.name(),
        metric.has_value() ? absl::StrFormat("%.4f", metric.value()) : "-",
        metric.queries() == report.queries()
            ? ""
            : absl::StrFormat("   of %d queries that have it",
                              metric.queries()));
  }
  return text;
}

}  // namespace sortition
