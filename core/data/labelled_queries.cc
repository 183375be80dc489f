#include "core/data/labelled_queries.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

absl::Status CheckQuery(const LabelledItems& query, uint32_t num_features,
                        uint32_t max_relevance) {
  if (query.items.num_candidates() == 0) {
    return absl::InvalidArgumentError("has 0 items, must have at least 1");
  }
  if (query.items.num_features() != num_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", query.items.num_features(),
                     " features, must have ", num_features, ", as query 0"));
  }
  if (query.relevances.size() != query.items.num_candidates()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", query.relevances.size(), " relevances, must have ",
                     query.items.num_candidates(), ", one per item"));
  }
  for (size_t i = 0; i < query.relevances.size(); ++i) {
    if (query.relevances[i] > max_relevance) {
      return absl::InvalidArgumentError(
          absl::StrCat("relevances[", i, "] is ", query.relevances[i],
                       ", must be within [0, ", max_relevance, "]"));
    }
  }
  const Candidates& items = query.items;
  const auto created =
      items.sparse() ? Candidates::Sparse(items.row_offsets(), items.columns(),
                                          items.values(), num_features)
                     : Candidates::Dense(items.values(), num_features);
  return created.status();
}

}  // namespace

absl::Status CheckQueries(std::span<const LabelledItems> queries,
                          uint32_t max_relevance) {
  if (queries.empty()) {
    return absl::InvalidArgumentError(
        "there are 0 queries, must be at least 1");
  }
  const uint32_t num_features = queries[0].items.num_features();
  for (size_t j = 0; j < queries.size(); ++j) {
    if (const absl::Status status =
            CheckQuery(queries[j], num_features, max_relevance);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("query ", j, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

void CutRelevances(uint32_t cut, std::span<uint32_t> relevances) {
  if (cut == 0) return;
  for (uint32_t& relevance : relevances) relevance = relevance >= cut ? 1 : 0;
}

void ScoreAll(const Candidates& items, std::span<const double> weights,
              std::span<double> scores) {
  std::array<uint32_t, 64> indexes;
  for (size_t begin = 0; begin < scores.size(); begin += indexes.size()) {
    const size_t n = std::min(indexes.size(), scores.size() - begin);
    std::iota(indexes.begin(), indexes.begin() + n,
              static_cast<uint32_t>(begin));
    items.Scores({indexes.data(), n}, weights, scores.subspan(begin, n));
  }
}

}  // namespace sortition
