#include "client/validation/drift_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"

namespace sortition {
namespace {

using model::v1::ValueStatistics;

// By custom, something happened above this index.
constexpr double kMoved = 0.25;
constexpr size_t kMaxNamedFigures = 5;
// Versions of which nothing moved and that have a line.
constexpr size_t kMostListed = 100;

// How many bins DriftCounts has: one more for missing values, and for
// categories that are not listed.
size_t NumBins(const ValueStatistics& statistics) {
  return statistics.categories().empty()
             ? static_cast<size_t>(statistics.bin_counts_size()) + 1
             : static_cast<size_t>(statistics.categories_size()) + 2;
}

// What an index is allowed to be by chance. Of a values in training and b that
// were served, from the same distribution, it is about χ² (1/a + 1/b) with B -
// 1 degrees of freedom; twice its mean is hardly exceeded. The half value more
// in each bin adds at most B |o - e| |ln(o / e)| where bins are empty.
// Candidates of one query are alike, so that queries are counted.
double Chance(size_t num_bins, uint64_t trained, uint64_t served) {
  const auto bins = static_cast<double>(num_bins);
  const auto a = static_cast<double>(std::max<uint64_t>(1, trained));
  const auto b = static_cast<double>(std::max<uint64_t>(1, served));
  const double expected = 0.5 / (a + 0.5 * bins);
  const double observed = 0.5 / (b + 0.5 * bins);
  return 2 * (bins - 1) * (1 / a + 1 / b) +
         bins * (observed - expected) * std::log(observed / expected);
}

std::string FigureText(const DriftFigure& figure) {
  return absl::StrFormat("%s %s %.3g", figure.is_feature ? "feature" : "column",
                         figure.name, figure.stability_index);
}

std::string FiguresText(const std::vector<DriftFigure>& figures) {
  std::vector<std::string> texts;
  for (const DriftFigure& figure : figures) {
    if (texts.size() == kMaxNamedFigures) {
      texts.push_back(absl::StrCat(figures.size() - kMaxNamedFigures, " more"));
      break;
    }
    texts.push_back(FigureText(figure));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

absl::StatusOr<model::v1::Features> DriftCheck::LoadFeatures(
    const Key& key) const {
  ASSIGN_OR_RETURN(StoredModel stored, store_.Load(key.first, key.second));
  if (stored.model.has_features()) {
    return std::move(*stored.model.mutable_features());
  }
  return absl::InvalidArgumentError(
      absl::StrCat("version ", key.second, " of model ", key.first,
                   " takes features, not columns"));
}

absl::StatusOr<const FeatureTransform*> DriftCheck::Remember(
    const Key& key, const model::v1::Features& features) {
  ASSIGN_OR_RETURN(FeatureTransform transform,
                   FeatureTransform::Create(features));
  // Decisions of one version mostly follow each other.
  constexpr size_t kMostTransforms = 64;
  if (transforms_.size() >= kMostTransforms) transforms_.clear();
  return &transforms_.emplace(key, std::move(transform)).first->second;
}

absl::StatusOr<const FeatureTransform*> DriftCheck::TransformOf(
    const Key& key) {
  const auto found = transforms_.find(key);
  if (found != transforms_.end()) return &found->second;
  ASSIGN_OR_RETURN(const model::v1::Features features, LoadFeatures(key));
  return Remember(key, features);
}

absl::Status DriftCheck::Begin(const Key& key, Version* version) {
  ASSIGN_OR_RETURN(const model::v1::Features features, LoadFeatures(key));
  ASSIGN_OR_RETURN(const FeatureTransform* const transform,
                   Remember(key, features));
  const model::v1::LearnedFeatures& learned = features.learned();
  ASSIGN_OR_RETURN(DriftCounts counts,
                   DriftCounts::Create(transform->schema(), learned));
  version->counts.push_back(std::move(counts));
  version->trained_queries = learned.num_queries();
  for (const ValueStatistics& column : learned.column()) {
    version->num_bins[{false, column.name()}] = NumBins(column);
  }
  for (const ValueStatistics& feature : learned.feature()) {
    version->num_bins[{true, feature.name()}] = NumBins(feature);
  }
  return absl::OkStatus();
}

void DriftCheck::Take(const LogEntry& entry) {
  if (entry.decision == nullptr || !entry.decision->has_columns() ||
      entry.decision->version() == 0) {
    return;
  }
  if (decisions_++ % every_ != 0) return;
  const log::v1::Decision& decision = *entry.decision;
  const Key key = {decision.model(), decision.version()};
  const bool is_new = !versions_.entries().contains(key);
  Version* const version = versions_.Get(key, decision.model().size());
  if (version == nullptr) return;
  ++looked_at_;
  if (is_new) version->problem = Begin(key, version);
  if (!version->problem.ok()) {
    unknown_.Add(entry, version->problem.message());
    return;
  }
  const auto transform = TransformOf(key);
  absl::Status status = transform.status();
  // Drift is measured on requests that the version would serve.
  BoundColumns bound;
  if (status.ok()) {
    status = bound.Bind((*transform)->schema(), decision.columns());
  }
  if (status.ok()) {
    status = (*transform)->Apply(decision.columns(), &scratch_, &matrix_);
  }
  if (!status.ok()) {
    refused_.Add(entry, status.message());
    return;
  }
  version->counts[0].Add(scratch_.columns(), matrix_);
  ++version->decisions;
}

void DriftCheck::AppendMovers(const Key& key, const Version& version,
                              bool is_listed, std::vector<Finding>* findings) {
  const std::vector<DriftFigure> figures =
      version.counts[0].TopMovers(std::numeric_limits<size_t>::max());
  std::vector<DriftFigure> moved;
  std::vector<DriftFigure> others;
  for (const DriftFigure& figure : figures) {
    const size_t num_bins =
        version.num_bins.at({figure.is_feature, figure.name});
    const double most =
        kMoved + Chance(num_bins, version.trained_queries, version.decisions);
    (figure.stability_index > most ? moved : others).push_back(figure);
  }
  const std::string name =
      absl::StrCat(key.first, " version ", key.second, ": ");
  if (!moved.empty()) {
    findings->push_back(
        {Level::kWarn,
         absl::StrCat(name, moved.size(), " of ", figures.size(),
                      " columns and features are not as in training: ",
                      FiguresText(moved), " (stability index above ", kMoved,
                      "), by ", version.decisions, " decisions")});
  } else if (is_listed && !others.empty()) {
    findings->push_back(
        {Level::kPass,
         absl::StrCat(name, version.decisions,
                      " decisions as in training, by stability index: ",
                      FiguresText(others))});
  }
}

std::vector<Finding> DriftCheck::Report() const {
  std::vector<Finding> findings;
  size_t listed = 0;
  for (const auto& [key, version] : versions_.entries()) {
    if (version.decisions == 0) continue;
    AppendMovers(key, version, listed < kMostListed, &findings);
    ++listed;
  }
  if (refused_.count() > 0) {
    findings.push_back(
        {Level::kWarn, absl::StrCat("columns that their model refuses: ",
                                    refused_.Text(looked_at_, "decisions"))});
  }
  if (unknown_.count() > 0) {
    findings.push_back(
        {Level::kWarn, absl::StrCat("no training to compare with: ",
                                    unknown_.Text(looked_at_, "decisions"))});
  }
  versions_.AppendLeftOut("decisions", "versions", &findings);
  if (findings.empty()) {
    findings.push_back(
        {Level::kPass, "no decision of a version has named columns"});
  }
  return findings;
}

}  // namespace sortition
