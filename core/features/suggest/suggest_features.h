#pragma once
// Drafts a declaration of features from what columns look like.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/features/suggest/column_profile.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

struct SuggestOptions {
  // True: decisions may abstain, so that features of the query alone matter.
  bool can_abstain = false;
  // True: a file of word vectors is there.
  bool has_word_vectors = false;
  // Largest number of features, for learners that hold dense rows; 0: sparse
  // features may be many.
  uint64_t max_features = 0;
};

// A declaration, and why it is as it is.
struct FeatureSuggestion {
  model::v1::FeatureSpec spec;
  std::vector<std::string> column_notes;  // One for each column of the schema.
  std::vector<std::string> transform_notes;  // One for each transform.
  // Columns that are not in the schema, or features that were not declared, by
  // name, with the reason.
  std::vector<std::pair<std::string, std::string>> left_out;
};

// Returns a declaration that CheckedSpec() accepts. It is a pure function of
// its arguments. FailedPrecondition, naming each column and the reason, if no
// column is of any use.
absl::StatusOr<FeatureSuggestion> SuggestFeatures(
    const ColumnProfiles& profiles, const SuggestOptions& options);

// Prefix of the lines of SuggestionText() that name features left out.
inline constexpr absl::string_view kLeftOutBegin = "#   ";

// Returns the suggestion as a text proto with comments. `source` says where the
// columns are from.
std::string SuggestionText(const FeatureSuggestion& suggestion,
                           absl::string_view source);

// Returns "title (TEXT), price (NUMBER)", the columns in their order.
std::string ColumnList(const ColumnProfiles& profiles);

}  // namespace sortition
