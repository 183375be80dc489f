#include "trainer/tuples/labels/convert.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/datasets/label_file_options.h"
#include "io/datasets/multilabel.h"
#include "io/models/model_store.h"
#include "io/segments/segment_batch.h"
#include "process/progress.h"
#include "trainer/tuples/labels/label_record.h"

namespace sortition {
namespace {

using config::v1::ConvertOptions;

constexpr char kWriterId[] = "convert";
// The length of a sequence of random numbers.
constexpr uint64_t kMaxDraws = uint64_t{1} << 32;

// Returns the version that the logging policy will have.
absl::StatusOr<uint64_t> NextVersion(const ConvertOptions& options) {
  if (options.model_store().empty()) return 1;
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(options.model()));
  if (versions.empty() || options.force()) {
    return store.NextVersion(options.model());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "model '", options.model(), "' has version ", versions.back(),
      " already, which would be replaced without a gate; choose another name, "
      "or give --force"));
}

absl::Status CheckSizes(const ConvertOptions& options,
                        const LabelledContexts& data) {
  const LabelContexts& contexts = data.contexts;
  const uint64_t weights =
      uint64_t{contexts.num_features} * contexts.num_labels;
  if (weights > kMaxLabelWeights) {
    return absl::InvalidArgumentError(
        absl::StrCat(contexts.num_features, " features times ",
                     contexts.num_labels, " labels are ", weights,
                     " weights, must be at most ", kMaxLabelWeights));
  }
  const uint64_t labels = contexts.size() * contexts.num_labels;
  if (labels > kMaxDraws / options.replays()) {
    return absl::InvalidArgumentError(absl::StrCat(
        contexts.size(), " contexts times ", contexts.num_labels,
        " labels times ", options.replays(), " replays must be at most ",
        kMaxDraws, ", the random numbers of a seed"));
  }
  return absl::OkStatus();
}

struct LabelledFiles {
  LabelledContexts data;
  std::optional<LabelledContexts> test;
  uint64_t extreme_values = 0;
};

absl::StatusOr<LabelledFiles> ReadFiles(const ConvertOptions& options) {
  const SvmlightOptions lines = ToSvmlightOptions(options.label_files());
  ASSIGN_OR_RETURN(const MultilabelData data,
                   ReadMultilabel(options.data(), lines));
  std::optional<MultilabelData> test;
  uint32_t num_features = data.num_features;
  uint32_t num_labels = data.num_labels;
  if (!options.test().empty()) {
    ASSIGN_OR_RETURN(test, ReadMultilabel(options.test(), lines));
    num_features = std::max(num_features, test->num_features);
    num_labels = std::max(num_labels, test->num_labels);
  }
  const ContextShape shape{.num_features = num_features,
                           .num_labels = num_labels,
                           .intercept = options.intercept()};
  LabelledFiles files;
  files.extreme_values =
      data.extreme_values + (test.has_value() ? test->extreme_values : 0);
  files.data = ToLabelledContexts(data, shape);
  if (test.has_value()) files.test = ToLabelledContexts(*test, shape);
  return files;
}

// Draws `fraction` of the contexts, at least one, without replacement.
std::vector<uint32_t> DrawRows(size_t n, const ConvertOptions& options) {
  std::vector<uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0u);
  RandomSequence random(StableHash(HashDomain::kTraining,
                                   {"convert", absl::StrCat(options.seed())}));
  const size_t wanted = std::max<size_t>(
      1, static_cast<size_t>(options.fraction() * static_cast<double>(n)));
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(rows[i], rows[i + random.Below(n - i)]);
  }
  rows.resize(wanted);
  return rows;
}

model::v1::Model MakeModel(const ConvertOptions& options,
                           const LabelContexts& contexts,
                           const Eigen::VectorXd& weights) {
  model::v1::Model model;
  model.set_name(options.model());
  model.mutable_policy()->set_inverse_temperature(
      options.inverse_temperature());
  model.mutable_policy()->mutable_independent_labels()->set_num_labels(
      contexts.num_labels);
  model.set_num_features(contexts.num_features);
  model.mutable_weights()->Add(weights.data(), weights.data() + weights.size());
  model::v1::Provenance* provenance = model.mutable_provenance();
  provenance->set_learner("labels");
  provenance->set_options(options.ShortDebugString());
  provenance->set_created_time_us(absl::ToUnixMicros(absl::Now()));
  return model;
}

absl::Status WriteTuples(const ConvertOptions& options,
                         const LabelContexts& contexts,
                         const LabelTuples& tuples,
                         const model::v1::Policy& policy, uint64_t version,
                         SegmentBatch* batch) {
  Progress progress("writing tuples", "tuples", tuples.size());
  constexpr size_t kReportEvery = 1000;
  const size_t q = contexts.num_labels;
  log::v1::LogRecord record;
  log::v1::BanditTuple* tuple = record.mutable_tuple();
  tuple->set_has_feedback(true);
  tuple->set_spool_writer(kWriterId);
  log::v1::Decision* decision = tuple->mutable_decision();
  decision->set_model(options.model());
  decision->set_version(version);
  *decision->mutable_policy() = policy;
  for (size_t i = 0; i < tuples.size(); ++i) {
    SetContext(contexts, tuples.contexts[i],
               std::span(tuples.labels).subspan(i * q, q), decision);
    // Replays follow each other; each goes over all contexts.
    decision->set_decision_id(
        absl::StrCat(options.model(), "-", version, "-", options.seed(), "-",
                     i / contexts.size(), "-", tuples.contexts[i]));
    decision->set_log_propensity(tuples.log_propensities[i]);
    // This is 1 - (wrong labels) / q exactly, and 0 rather than -0 if all are
    // wrong.
    tuple->set_reward(0 - tuples.losses[i]);
    RETURN_IF_ERROR(batch->Append(record));
    if ((i + 1) % kReportEvery == 0) progress.Add(kReportEvery);
  }
  progress.Add(tuples.size() % kReportEvery);
  return absl::OkStatus();
}

void Summarise(const LabelTuples& tuples, uint32_t num_labels,
               ConvertReport* report) {
  report->tuples = tuples.size();
  const double sum =
      std::accumulate(tuples.losses.begin(), tuples.losses.end(), 0.0);
  report->mean_wrong_labels =
      num_labels * (1 + sum / static_cast<double>(tuples.size()));
  std::vector<double> sorted = tuples.log_propensities;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < ConvertReport::kPercentiles.size(); ++k) {
    const auto percent = static_cast<size_t>(ConvertReport::kPercentiles[k]);
    report->log_propensities[k] = sorted[(sorted.size() - 1) * percent / 100];
  }
}

// Must be called before the tuples appear, so that they never name a version
// that does not exist.
absl::Status PublishModel(const ConvertOptions& options,
                          const model::v1::Model& model, uint64_t expected) {
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const uint64_t version, store.Publish(model, nullptr, {}));
  if (version == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "version ", expected, " of model '", options.model(),
      "' was published meanwhile: the logging policy became version ", version,
      " and has no tuples; try again with --force"));
}

}  // namespace

absl::StatusOr<ConvertReport> Convert(const ConvertOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  ConvertReport report;
  ASSIGN_OR_RETURN(report.version, NextVersion(options));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<SegmentBatch> batch,
      SegmentBatch::Create({.dir = options.output(),
                            .writer_id = kWriterId,
                            .kind = log::v1::SegmentHeader::TUPLES,
                            .segment_bytes = options.segment_bytes(),
                            .options_text = options.ShortDebugString(),
                            .replace = options.force()}));
  ASSIGN_OR_RETURN(const LabelledFiles files, ReadFiles(options));
  const LabelContexts& contexts = files.data.contexts;
  RETURN_IF_ERROR(CheckSizes(options, files.data));
  const std::vector<uint32_t> rows = DrawRows(contexts.size(), options);
  ASSIGN_OR_RETURN(const Eigen::VectorXd weights,
                   FitLabels(files.data, rows, options.l2(), options.lbfgs()));
  model::v1::Model model = MakeModel(options, contexts, weights);
  model.mutable_provenance()->set_num_tuples(rows.size());
  RETURN_IF_ERROR(ValidateModel(model));
  const LabelTuples tuples =
      DrawTuples(files.data, weights,
                 {.inverse_temperature = options.inverse_temperature(),
                  .replays = options.replays(),
                  .seed = options.seed()});
  RETURN_IF_ERROR(WriteTuples(options, contexts, tuples, model.policy(),
                              report.version, batch.get()));
  report.published = !options.model_store().empty();
  if (report.published) {
    RETURN_IF_ERROR(PublishModel(options, model, report.version));
  }
  RETURN_IF_ERROR(batch->Publish());
  report.contexts = contexts.size();
  report.num_features = contexts.num_features;
  report.num_labels = contexts.num_labels;
  report.extreme_values = files.extreme_values;
  report.fitted_contexts = rows.size();
  report.segments = batch->num_segments();
  if (files.test.has_value()) {
    report.test =
        MeanHammingLosses(*files.test, options.inverse_temperature() * weights);
  }
  Summarise(tuples, contexts.num_labels, &report);
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return report;
}

std::string FormatConvertReport(const config::v1::ConvertOptions& options,
                                const ConvertReport& report) {
  std::string text = absl::StrFormat(
      "%s: %d contexts, %d features%s, %d labels\n"
      "%s version %d%s: fitted to %d contexts, logged at temperature 1/%g\n"
      "%d tuples in %d segments of %s: %.4f wrong labels a tuple, mean reward "
      "%.4f\n",
      options.data(), report.contexts, report.num_features,
      options.intercept() ? " with the intercept" : "", report.num_labels,
      options.model(), report.version, report.published ? ", published" : "",
      report.fitted_contexts, options.inverse_temperature(), report.tuples,
      report.segments, options.output(), report.mean_wrong_labels,
      1 - report.mean_wrong_labels / report.num_labels);
  if (report.extreme_values > 0) {
    absl::StrAppend(&text,
                    ExtremeValuesNote(options.label_files(), "the label files",
                                      report.extreme_values),
                    "\n");
  }
  if (report.test.has_value()) {
    absl::StrAppendFormat(&text,
                          "%s: %.4f wrong labels expected, %.4f of the most "
                          "probable labels\n",
                          options.test(), report.test->expected,
                          report.test->map);
  }
  absl::StrAppend(&text, "propensity");
  for (size_t k = 0; k < report.log_propensities.size(); ++k) {
    absl::StrAppendFormat(&text, "%s %d %%: %.3g", k == 0 ? "" : ",",
                          ConvertReport::kPercentiles[k],
                          std::exp(report.log_propensities[k]));
  }
  absl::StrAppendFormat(&text, " (percentiles)\n%.2f s\n", report.seconds);
  return text;
}

}  // namespace sortition
