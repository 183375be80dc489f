#include "trainer/cluster/cluster_decision.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "core/aggregation/scale_scores.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

// Sorts the candidates by rising id. Returns what is wrong with the ids.
std::optional<LeftOutReason> SortById(const log::v1::Decision& decision,
                                      std::vector<uint32_t>* documents) {
  const auto& ids = decision.candidate_ids();
  if (ids.empty()) return LeftOutReason::kNoCandidateIds;
  if (ids.size() != static_cast<int>(decision.num_candidates())) {
    return LeftOutReason::kBadCandidateIds;
  }
  const auto id = [&](uint32_t document) -> const std::string& {
    return ids[static_cast<int>(document)];
  };
  std::sort(documents->begin(), documents->end(),
            [&](uint32_t a, uint32_t b) { return id(a) < id(b); });
  const auto twice = std::adjacent_find(
      documents->begin(), documents->end(),
      [&](uint32_t a, uint32_t b) { return id(a) == id(b); });
  if (twice != documents->end()) return LeftOutReason::kBadCandidateIds;
  return std::nullopt;
}

// Hashes each id with its length, so that no two sets have the same bytes.
Hash128 KeyOfIds(const log::v1::Decision& decision,
                 std::span<const uint32_t> documents) {
  std::string bytes;
  for (const uint32_t document : documents) {
    const std::string& id = decision.candidate_ids(static_cast<int>(document));
    absl::StrAppend(&bytes, id.size(), ":", id);
  }
  return HashBytes(bytes);
}

// Returns the scores of the eligible candidates, source by source.
std::vector<double> EligibleScores(const ComparableDecision& comparable) {
  const size_t n = comparable.documents.size();
  const size_t sources = comparable.candidates.num_features();
  std::vector<double> scores(sources * n);
  std::vector<double> row(sources);
  for (size_t i = 0; i < n; ++i) {
    std::fill(row.begin(), row.end(), 0);
    comparable.candidates.AddRow(comparable.documents[i], 1, row);
    for (size_t s = 0; s < sources; ++s) scores[s * n + i] = row[s];
  }
  return scores;
}

}  // namespace

std::optional<LeftOutReason> MakeComparable(const log::v1::Decision& decision,
                                            ClusterOf of, bool needs_ids,
                                            ComparableDecision* result) {
  const absl::StatusOr<DecisionView> view = ViewDecision(decision);
  if (!view.ok()) return LeftOutReason::kBadFeatures;
  result->candidates = view->candidates;
  result->documents.clear();
  for (uint32_t i = 0; i < view->candidates.num_candidates(); ++i) {
    if (view->is_eligible(i)) result->documents.push_back(i);
  }
  if (result->documents.size() < 2) return LeftOutReason::kFewCandidates;
  if (of == ClusterOf::kSources) {
    result->key = HashBytes(absl::StrCat(view->candidates.num_features()));
    std::vector<uint32_t> sorted = result->documents;
    return needs_ids ? SortById(decision, &sorted) : std::nullopt;
  }
  const auto reason = SortById(decision, &result->documents);
  if (!reason.has_value()) result->key = KeyOfIds(decision, result->documents);
  return reason;
}

std::optional<LeftOutReason> ScaleDecision(const log::v1::Decision& decision,
                                           const ComparableDecision& comparable,
                                           ClusterOf of, ScoreScale scale,
                                           std::vector<double>* rows) {
  const std::vector<double> scores = EligibleScores(comparable);
  const size_t n = comparable.documents.size();
  if (of == ClusterOf::kQueries) {
    const ScoreLists lists = {scores, n,
                              SpanOf(decision.aggregation().weights())};
    if (!ValidateScoreLists(lists).ok()) return LeftOutReason::kBadWeights;
    *rows = Aggregate(lists, scale, SerialFor).mean;
    return std::nullopt;
  }
  ScoreScaler scaler;
  std::vector<double> scaled;
  rows->clear();
  for (size_t begin = 0; begin < scores.size(); begin += n) {
    scaler.Scale(std::span(scores).subspan(begin, n), scale, &scaled);
    rows->insert(rows->end(), scaled.begin(), scaled.end());
  }
  return std::nullopt;
}

}  // namespace sortition
