#include "trainer/imports/score_causes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/scorers/tree_columns.h"

namespace sortition {
namespace {

using EnsembleMessage = model::v1::TreeEnsemble;
using Scores = std::vector<double>;

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
                                bool may_shift) {
  std::vector<Variant> variants = {{ensemble, ""}};
  if (may_shift) {
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
                     const OtherScores& theirs, std::vector<Cause>* causes) {
  const std::string with =
      variant.how.empty() ? "" : absl::StrCat(", and with ", variant.how);
  const auto add = [&](const Scores& mapped, const std::string& sentence) {
    causes->push_back(
        {absl::StrCat(sentence, with), theirs.CountDifferent(mapped)});
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
                          const ScorableRows& rows, const OtherScores& theirs,
                          std::vector<Cause>* causes) {
  OtherScores rough = theirs;
  rough.tolerance = 1e-4;  // Sums in another precision.
  EnsembleMessage one = ensemble;
  one.clear_trees();
  one.set_base_score(0);
  Scores sums(theirs.scores.size(), ensemble.base_score());
  for (int count = 1; count < ensemble.trees_size(); ++count) {
    one.clear_trees();
    *one.add_trees() = ensemble.trees(count - 1);
    ASSIGN_OR_RETURN(const Scores scores, rows.first(one));
    bool agree = true;
    for (const uint32_t row : rows.first_rows) {
      sums[row] += scores[row];
      agree &= rough.Agrees(row, sums[row]);
    }
    if (!agree) continue;
    EnsembleMessage first = ensemble;
    first.mutable_trees()->DeleteSubrange(count, ensemble.trees_size() - count);
    ASSIGN_OR_RETURN(const Scores by_first, rows.all(first));
    causes->push_back(
        {absl::StrCat("the other tool used the first ", count, " of ",
                      ensemble.trees_size(),
                      " trees, as after early stopping: save the model with "
                      "these trees alone"),
         theirs.CountDifferent(by_first)});
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Cause>> CausesOf(const EnsembleMessage& ensemble,
                                            const ScorableRows& rows,
                                            const Scores& ours,
                                            const OtherScores& theirs) {
  std::vector<Cause> causes;
  for (const Variant& variant : VariantsOf(ensemble, rows.may_shift)) {
    ASSIGN_OR_RETURN(const Scores scores, rows.all(variant.ensemble));
    if (!variant.how.empty()) {
      causes.push_back(
          {absl::StrCat("give ", variant.how), theirs.CountDifferent(scores)});
    }
    AddOutputCauses(variant, scores, theirs, &causes);
  }
  RETURN_IF_ERROR(AddTreeCount(ensemble, rows, theirs, &causes));
  Scores sorted = ours;
  OtherScores sorted_theirs = theirs;
  std::sort(sorted.begin(), sorted.end());
  std::sort(sorted_theirs.scores.begin(), sorted_theirs.scores.end());
  Cause& order = causes.emplace_back();
  order.sentence =
      "the file has the same scores in another order: it must have one for "
      "each line of data, in the same order";
  order.num_different = sorted_theirs.CountDifferent(sorted);
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

bool OtherScores::Agrees(size_t row, double score) const {
  return std::abs(score - scores[row]) <=
         tolerance * std::max(1.0, std::abs(scores[row]));
}

size_t OtherScores::CountDifferent(const Scores& ours) const {
  size_t count = 0;
  for (size_t row = 0; row < ours.size(); ++row) {
    if (!Agrees(row, ours[row])) ++count;
  }
  return count;
}

absl::StatusOr<std::string> MostLikelyCause(const EnsembleMessage& ensemble,
                                            const ScorableRows& rows,
                                            const Scores& ours,
                                            const OtherScores& theirs) {
  double largest = 0;
  for (size_t row = 0; row < ours.size(); ++row) {
    largest = std::max(largest, std::abs(ours[row] - theirs.scores[row]));
  }
  ASSIGN_OR_RETURN(const std::vector<Cause> causes,
                   CausesOf(ensemble, rows, ours, theirs));
  return MostLikely(causes, theirs.CountDifferent(ours), largest);
}

}  // namespace sortition
