#include "trainer/labelled/tree_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/metrics/pair_metrics.h"
#include "core/scoring/tree_ensemble.h"
#include "io/files.h"
#include "trainer/imports/score_causes.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/query_scorer.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using EnsembleMessage = model::v1::TreeEnsemble;
using Scores = std::vector<double>;

// Rows on which fewer trees are tried.
constexpr size_t kSearchRows = 20;
// Half a unit of the last of 6 digits.
constexpr double kSixDigitTolerance = 5e-6;

// Returns the largest number of significant digits of a number of `text`.
int MaxDigits(absl::string_view text) {
  int most = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    int digits = 0;
    for (const char c : line) {
      if (c == 'e' || c == 'E') break;
      if (absl::ascii_isdigit(c) && (digits > 0 || c != '0')) ++digits;
    }
    most = std::max(most, digits);
  }
  return most;
}

// The queries of options.data: those of other files are in other parts.
std::vector<const LabelledQuery*> QueriesOfData(const TrainOptions& options,
                                                const LabelledData& data) {
  std::vector<const LabelledQuery*> queries;
  const auto add = [&](const std::vector<LabelledQuery>& part) {
    for (const LabelledQuery& query : part) queries.push_back(&query);
  };
  add(data.training);
  if (options.validation_size() == 0) add(data.validation);
  if (options.test_size() == 0) add(data.test);
  return queries;
}

// Scores the rows of options.data by any ensemble.
class RowScorer {
 public:
  static absl::StatusOr<RowScorer> Create(const TrainOptions& options,
                                          const LabelledData& data) {
    RowScorer scorer(data);
    scorer.queries_ = QueriesOfData(options, data);
    model::v1::Model inputs = data.frame.model;
    inputs.clear_trees();
    inputs.clear_hidden_layer();
    ASSIGN_OR_RETURN(scorer.inputs_, ModelFeatures::Create(inputs));
    return scorer;
  }

  // Returns the scores by row. Rows of features are cut or filled to the
  // columns of the ensemble; with named columns it must have as many.
  absl::StatusOr<Scores> Of(const EnsembleMessage& message) const {
    ASSIGN_OR_RETURN(const TreeEnsemble trees, TreeEnsemble::Create(message));
    Scores all(data_->num_rows);
    TreeScratch scratch;
    ModelFeatureScratch made;
    for (const LabelledQuery* query : queries_) {
      std::vector<uint32_t> documents(query->relevances.size());
      std::iota(documents.begin(), documents.end(), 0u);
      SentRows sent;
      Candidates rows;
      if (query->columns != nullptr) {
        ASSIGN_OR_RETURN(rows, inputs_->Compute({{}, query->columns.get()},
                                                documents, &made));
      } else {
        sent = MakeSentRows(*query, data_->width(), trees.num_features(),
                            query->stated != nullptr);
        ASSIGN_OR_RETURN(rows, sent.View());
      }
      Scores scores(documents.size());
      trees.Scores(rows, documents, &scratch, scores);
      for (size_t i = 0; i < scores.size(); ++i) {
        all[query->file_rows[i]] = scores[i];
      }
    }
    return all;
  }

  // Returns the scores of the other tool by row.
  absl::StatusOr<OtherScores> Read(const std::string& path) const {
    ASSIGN_OR_RETURN(const auto file, ReadScores(path));
    OtherScores printed;
    printed.scores.resize(data_->num_rows);
    for (const LabelledQuery* query : queries_) {
      ASSIGN_OR_RETURN(const Scores scores, file->Scores(*query, 0));
      for (size_t i = 0; i < scores.size(); ++i) {
        printed.scores[query->file_rows[i]] = scores[i];
      }
    }
    file->EndFile(data_->num_rows);
    RETURN_IF_ERROR(file->End());
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    if (MaxDigits(text) == 6) printed.tolerance = kSixDigitTolerance;
    return printed;
  }

  const std::string& QueryOf(size_t row) const {
    for (const LabelledQuery* query : queries_) {
      const auto& rows = query->file_rows;
      if (std::find(rows.begin(), rows.end(), row) != rows.end()) {
        return query->id;
      }
    }
    return data_->training[0].id;
  }
  bool has_columns() const { return queries_[0]->columns != nullptr; }

  // Returns a scorer of the first queries, so many that they have `num_rows`
  // candidates; of other rows it returns 0.
  RowScorer First(size_t num_rows) const {
    RowScorer first = *this;
    first.queries_.clear();
    for (size_t i = 0, rows = 0; i < queries_.size() && rows < num_rows; ++i) {
      first.queries_.push_back(queries_[i]);
      rows += queries_[i]->relevances.size();
    }
    return first;
  }
  // Returns the rows that are scored.
  std::vector<uint32_t> Rows() const {
    std::vector<uint32_t> rows;
    for (const LabelledQuery* query : queries_) {
      rows.insert(rows.end(), query->file_rows.begin(), query->file_rows.end());
    }
    return rows;
  }

 private:
  explicit RowScorer(const LabelledData& data) : data_(&data) {}

  const LabelledData* data_;
  std::vector<const LabelledQuery*> queries_;
  std::optional<ModelFeatures> inputs_;
};

}  // namespace

absl::StatusOr<std::string> CheckTreeScores(const TrainOptions& options,
                                            const LabelledData& data) {
  if (!data.frame.model.has_trees()) {
    return absl::InvalidArgumentError(
        "check_scores is set, must be unset unless the model has trees: trees "
        "names a model file");
  }
  const EnsembleMessage& ensemble = data.frame.model.trees();
  ASSIGN_OR_RETURN(const RowScorer scorer, RowScorer::Create(options, data));
  const auto printed = scorer.Read(options.check_scores());
  if (!printed.ok()) {
    return absl::Status(
        printed.status().code(),
        absl::StrCat("check_scores: ", printed.status().message()));
  }
  ASSIGN_OR_RETURN(const Scores ours, scorer.Of(ensemble));
  const size_t num_different = printed->CountDifferent(ours);
  if (num_different == 0) {
    return absl::StrFormat(
        "the trees' scores of all %d lines of data are those of %s, within "
        "%.0e of the larger of 1 and the score",
        ours.size(), options.check_scores(), printed->tolerance);
  }
  size_t first = 0;
  while (printed->Agrees(first, ours[first])) ++first;
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(ours[i] - printed->scores[i]));
  }
  const RowScorer head = scorer.First(kSearchRows);
  const ScorableRows rows{
      .all = [&](const EnsembleMessage& other) { return scorer.Of(other); },
      .first = [&](const EnsembleMessage& other) { return head.Of(other); },
      .first_rows = head.Rows(),
      .may_shift = !scorer.has_columns()};
  ASSIGN_OR_RETURN(const std::string cause,
                   MostLikelyCause(ensemble, rows, ours, *printed));
  return absl::InvalidArgumentError(absl::StrFormat(
      "check_scores: candidate %d of data (query '%s') has score %.9g by the "
      "imported trees and %.9g in %s; %d of %d scores differ, by up to %.3g. "
      "%s",
      first + 1, scorer.QueryOf(first), ours[first], printed->scores[first],
      options.check_scores(), num_different, ours.size(), largest, cause));
}

std::string WarnIfNoBetterThanChance(const TrainOptions& options,
                                     const LabelledData& data) {
  const bool is_imported =
      data.frame.model.has_trees() && !options.trees().empty();
  if (!is_imported) return "";
  // The 95th percentile of the standard normal distribution.
  constexpr double kOneSided95 = 1.645;
  const size_t width = data.width();
  const size_t tree_column = data.num_inputs();
  double sum = 0;
  double sum_of_squares = 0;
  double n = 0;
  for (const LabelledQuery& query : data.validation) {
    Scores scores;
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      scores.push_back(
          static_cast<double>(query.features[i * width + tree_column]));
    }
    const double share = RightPairs(scores, query.relevances);
    if (std::isnan(share)) continue;
    sum += share;
    sum_of_squares += share * share;
    ++n;
  }
  if (n < 2) return "";
  const double mean = sum / n;
  const double variance =
      std::max(0.0, (sum_of_squares - n * mean * mean) / (n - 1));
  const double error = std::sqrt(variance / n);
  if (mean - kOneSided95 * error > 0.5) return "";
  return absl::StrFormat(
      "the imported trees alone order %.0f validation queries no better than "
      "chance: %.1f %% of the pairs of different relevance are in the correct "
      "order, with a standard error of %.1f, and a random order has 50. Their "
      "first column or absent features may be other than assumed "
      "(trees_first_column, trees_absent): compare with the scores of their "
      "library (check_scores)",
      n, 100 * mean, 100 * error);
}

}  // namespace sortition
