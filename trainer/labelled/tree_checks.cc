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
#include "io/scorers/tree_columns.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/query_scorer.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using EnsembleMessage = model::v1::TreeEnsemble;
using Scores = std::vector<double>;

// Relative to the larger of 1 and the score.
constexpr double kTolerance = 1e-6;
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

struct Printed {
  Scores scores;  // By row of options.data.
  double tolerance = kTolerance;
};

bool Agree(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

size_t CountDifferent(const Scores& ours, const Printed& theirs) {
  size_t count = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!Agree(ours[i], theirs.scores[i], theirs.tolerance)) ++count;
  }
  return count;
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
  absl::StatusOr<Printed> Read(const std::string& path) const {
    ASSIGN_OR_RETURN(const auto file, ReadScores(path));
    Printed printed;
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

// A way in which the other tool may differ, and how well it explains the
// scores.
struct Cause {
  std::string sentence;
  size_t num_different = 0;
};

// Undoes SkipFirstColumn(), but for the names of features.
void AddFirstColumn(EnsembleMessage* ensemble) {
  ensemble->clear_feature_names();
  ensemble->set_num_features(ensemble->num_features() + 1);
  for (auto& tree : *ensemble->mutable_trees()) {
    for (uint32_t& feature : *tree.mutable_split_features()) ++feature;
  }
}

bool SplitsOnFirst(const EnsembleMessage& ensemble) {
  for (const auto& tree : ensemble.trees()) {
    const auto& features = tree.split_features();
    if (std::find(features.begin(), features.end(), 0u) != features.end()) {
      return true;
    }
  }
  return false;
}

// An ensemble that the other tool may have scored with.
struct Variant {
  EnsembleMessage ensemble;
  std::string how;  // Options that make it so; empty: it is that of the frame.
};

// Returns the ensemble with another first column; unset where it has none.
std::optional<Variant> WithOtherFirstColumn(const EnsembleMessage& ensemble) {
  Variant other{ensemble, ""};
  if (ensemble.skipped_columns() > 0) {
    AddFirstColumn(&other.ensemble);
    other.how = "trees_first_column = 0";
    return other;
  }
  if (SplitsOnFirst(ensemble) || ensemble.num_features() < 2) {
    return std::nullopt;
  }
  SkipFirstColumn(&other.ensemble);
  other.how = "trees_first_column = 1";
  return other;
}

Variant WithOtherAbsent(const Variant& variant) {
  Variant other = variant;
  const bool is_missing =
      variant.ensemble.absent_feature() == EnsembleMessage::MISSING;
  other.ensemble.set_absent_feature(is_missing ? EnsembleMessage::ZERO
                                               : EnsembleMessage::MISSING);
  absl::StrAppend(&other.how, other.how.empty() ? "" : " and ",
                  "trees_absent = ", is_missing ? "ZERO" : "MISSING");
  return other;
}

std::vector<Variant> VariantsOf(const EnsembleMessage& ensemble,
                                bool has_columns) {
  std::vector<Variant> variants = {{ensemble, ""}};
  if (!has_columns) {
    if (auto shifted = WithOtherFirstColumn(ensemble)) {
      variants.push_back(*std::move(shifted));
    }
  }
  const size_t count = variants.size();
  for (size_t i = 0; i < count; ++i) {
    variants.push_back(WithOtherAbsent(variants[i]));
  }
  return variants;
}

template <typename Map>
Scores Mapped(const Scores& scores, const Map& map) {
  Scores mapped;
  mapped.reserve(scores.size());
  for (const double score : scores) mapped.push_back(map(score));
  return mapped;
}

// Adds what could have been done to the scores of a variant.
void AddOutputCauses(const Variant& variant, const Scores& ours,
                     const Printed& theirs, std::vector<Cause>* causes) {
  const std::string with =
      variant.how.empty() ? "" : absl::StrCat(", and with ", variant.how);
  const auto add = [&](const Scores& mapped, std::string sentence) {
    causes->push_back(
        {absl::StrCat(sentence, with), CountDifferent(mapped, theirs)});
  };
  const double offset = theirs.scores[0] - ours[0];
  add(Mapped(ours, [&](double s) { return s + offset; }),
      absl::StrFormat("the other scores are larger by %.9g throughout: they "
                      "have another base score or base margin",
                      offset));
  const double slope = variant.ensemble.sigmoid_slope() > 0
                           ? variant.ensemble.sigmoid_slope()
                           : 1;
  add(Mapped(ours, [&](double s) { return 1 / (1 + std::exp(-slope * s)); }),
      "the other scores are probabilities, the sigmoid of the raw scores: "
      "print "
      "raw scores (XGBoost: output_margin=True; LightGBM: raw_score=True or "
      "predict_raw_score=true)");
  add(Mapped(ours, [](double s) { return std::exp(s); }),
      "the other scores are the exponential of the raw scores: print raw "
      "scores "
      "(XGBoost: output_margin=True; LightGBM: raw_score=True)");
}

// Adds fewer trees, as after early stopping, if a number of trees gives the
// scores of the first rows.
absl::Status AddTreeCount(const EnsembleMessage& ensemble,
                          const RowScorer& scorer, const Printed& theirs,
                          std::vector<Cause>* causes) {
  constexpr double kSearchTolerance = 1e-4;  // Sums in another precision.
  constexpr size_t kSearchRows = 20;
  const RowScorer head = scorer.First(kSearchRows);
  const std::vector<uint32_t> rows = head.Rows();
  EnsembleMessage one = ensemble;
  one.clear_trees();
  one.set_base_score(0);
  Scores sums(theirs.scores.size(), ensemble.base_score());
  for (int count = 1; count < ensemble.trees_size(); ++count) {
    one.clear_trees();
    *one.add_trees() = ensemble.trees(count - 1);
    ASSIGN_OR_RETURN(const Scores scores, head.Of(one));
    bool agree = true;
    for (const uint32_t row : rows) {
      sums[row] += scores[row];
      agree &= Agree(sums[row], theirs.scores[row], kSearchTolerance);
    }
    if (!agree) continue;
    EnsembleMessage first = ensemble;
    first.mutable_trees()->DeleteSubrange(count, ensemble.trees_size() - count);
    ASSIGN_OR_RETURN(const Scores by_first, scorer.Of(first));
    causes->push_back(
        {absl::StrCat("the other tool used the first ", count, " of ",
                      ensemble.trees_size(),
                      " trees, as after early stopping: save the model with "
                      "these trees alone"),
         CountDifferent(by_first, theirs)});
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Cause>> CausesOf(const EnsembleMessage& ensemble,
                                            const RowScorer& scorer,
                                            const Scores& ours,
                                            const Printed& theirs) {
  std::vector<Cause> causes;
  for (const Variant& variant : VariantsOf(ensemble, scorer.has_columns())) {
    ASSIGN_OR_RETURN(const Scores scores, scorer.Of(variant.ensemble));
    if (!variant.how.empty()) {
      causes.push_back(
          {absl::StrCat("give ", variant.how), CountDifferent(scores, theirs)});
    }
    AddOutputCauses(variant, scores, theirs, &causes);
  }
  RETURN_IF_ERROR(AddTreeCount(ensemble, scorer, theirs, &causes));
  Scores sorted = ours;
  Printed sorted_theirs = theirs;
  std::sort(sorted.begin(), sorted.end());
  std::sort(sorted_theirs.scores.begin(), sorted_theirs.scores.end());
  causes.push_back(
      {"the file has the same scores in another order: it must "
       "have one for each line of data, in the same order",
       CountDifferent(sorted, sorted_theirs)});
  return causes;
}

// Returns what probably is the cause, as a sentence.
std::string MostLikely(const std::vector<Cause>& causes, size_t num_different,
                       double largest) {
  const auto best = std::min_element(causes.begin(), causes.end(),
                                     [](const Cause& a, const Cause& b) {
                                       return a.num_different < b.num_different;
                                     });
  if (best->num_different == 0) {
    return absl::StrCat("Most likely cause, which explains all scores: ",
                        best->sentence);
  }
  if (largest < 1e-3) {
    return "The differences are small: print at least 9 digits, by the library "
           "that trained the model";
  }
  if (2 * best->num_different < num_different) {
    return absl::StrCat("Most likely cause, with which ", best->num_different,
                        " still differ: ", best->sentence);
  }
  return "No usual cause explains them: neither the first column, absent "
         "features, the base score, a transform of the output, fewer trees nor "
         "another order of lines";
}

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
  const size_t num_different = CountDifferent(ours, *printed);
  if (num_different == 0) {
    return absl::StrFormat(
        "the trees' scores of all %d lines of data are those of %s, within "
        "%.0e of the larger of 1 and the score",
        ours.size(), options.check_scores(), printed->tolerance);
  }
  size_t first = 0;
  while (Agree(ours[first], printed->scores[first], printed->tolerance)) {
    ++first;
  }
  double largest = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(ours[i] - printed->scores[i]));
  }
  ASSIGN_OR_RETURN(const std::vector<Cause> causes,
                   CausesOf(ensemble, scorer, ours, *printed));
  return absl::InvalidArgumentError(absl::StrFormat(
      "check_scores: candidate %d of data (query '%s') has score %.9g by the "
      "imported trees and %.9g in %s; %d of %d scores differ, by up to %.3g. "
      "%s",
      first + 1, scorer.QueryOf(first), ours[first], printed->scores[first],
      options.check_scores(), num_different, ours.size(), largest,
      MostLikely(causes, num_different, largest)));
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
