#pragma once
// Describes the columns of logs and of data files, and drafts features of them.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/suggest/column_profile.h"
#include "core/features/suggest/suggest_features.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

// The value of --features that drafts features instead of reading them.
inline constexpr char kAutoFeatures[] = "auto";

// Number of queries that --features=auto describes.
inline constexpr uint64_t kMaxDescribed = 200000;

struct ColumnSource {
  ColumnProfiles profiles;
  bool can_abstain = false;  // One of the decisions could.
  std::string name;          // "4000 decisions in DIR".
  // Columns that cannot be read, by name, with the reason.
  std::vector<std::pair<std::string, std::string>> left_out;
};

// Describes the decisions that `options` select, the first `max_queries` of
// them (0: all), whatever came of them. Decisions with malformed columns are
// left out with a warning. FailedPrecondition if no decision has columns;
// errors of reading tuples.
absl::StatusOr<ColumnSource> DescribeTuples(
    const config::v1::TrainOptions& options, uint64_t max_queries);

// Describes the queries of files that IsColumnFile(), the first `max_queries`
// of them (0: all). A column whose type differs between files is left out,
// unless both are strings or numbers of CSV. InvalidArgument as InferColumns().
absl::StatusOr<ColumnSource> DescribeFiles(
    const std::vector<std::string>& paths, uint64_t max_queries);

// Drafts features as SuggestFeatures(), and names the columns of the source
// that cannot be read.
absl::StatusOr<FeatureSuggestion> SuggestFrom(const ColumnSource& source,
                                              const SuggestOptions& options);

// Returns why a log or file with columns needs features: names the columns,
// with their types, and what to do. `columns` is a list such as "price
// (NUMBER)".
std::string NoFeaturesText(const std::string& what, const std::string& columns);

}  // namespace sortition
