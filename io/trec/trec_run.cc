#include "io/trec/trec_run.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "io/trec/trec_fields.h"

namespace sortition {
namespace {

class RunReader {
 public:
  // Takes qid, Q0, docno, rank, score and tag.
  absl::Status Add(const std::vector<absl::string_view>& fields) {
    double score = 0;
    if (!ParseNumber(fields[4], &score) || !std::isfinite(score)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "score is '", Shown(fields[4]), "', must be a finite number"));
    }
    const auto [place, is_new] =
        index_.try_emplace(std::string(fields[0]), run_.queries.size());
    if (is_new) {
      run_.queries.emplace_back().id = std::string(fields[0]);
      seen_.emplace_back();
    }
    if (!seen_[place->second].emplace(fields[2]).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("query '", fields[0], "' has document '",
                       Shown(fields[2]), "' twice, must have it once"));
    }
    TrecRunQuery& query = run_.queries[place->second];
    CountRank(place->second, fields[3], score);
    query.documents.emplace_back(fields[2]);
    query.scores.push_back(score);
    return absl::OkStatus();
  }

  TrecRun Take() { return std::move(run_); }

 private:
  struct Line {
    size_t query;
    double rank;
    double score;
  };

  // A rank that is not a number is not looked at.
  void CountRank(size_t query, absl::string_view text, double score) {
    double rank = 0;
    if (!ParseNumber(text, &rank)) {
      before_.reset();
      return;
    }
    if (before_.has_value() && before_->query == query &&
        rank > before_->rank && score > before_->score) {
      ++run_.contradicting_ranks;
    }
    before_ = Line{query, rank, score};
  }

  TrecRun run_;
  absl::flat_hash_map<std::string, size_t> index_;  // In run_.queries.
  std::vector<absl::flat_hash_set<std::string>> seen_;
  std::optional<Line> before_;
};

}  // namespace

absl::StatusOr<TrecRun> ReadTrecRun(const std::string& path) {
  RunReader reader;
  RETURN_IF_ERROR(
      ForEachTrecLine(path, "qid Q0 docno rank score tag",
                      [&](const std::vector<absl::string_view>& fields) {
                        return reader.Add(fields);
                      }));
  TrecRun run = reader.Take();
  if (!run.queries.empty()) return run;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has no line, must have one for each document"));
}

}  // namespace sortition
