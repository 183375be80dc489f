#include "io/trec/trec_qrels.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "io/trec/trec_fields.h"

namespace sortition {

absl::StatusOr<TrecQrels> ReadTrecQrels(const std::string& path) {
  TrecQrels qrels;
  absl::flat_hash_map<std::string, size_t> index;  // In qrels.queries.
  const auto add =
      [&](const std::vector<absl::string_view>& fields) -> absl::Status {
    int64_t relevance = 0;
    if (!ParseNumber(fields[3], &relevance) ||
        relevance > int64_t{TrecQrels::kMaxRelevance}) {
      return absl::InvalidArgumentError(absl::StrCat(
          "relevance is '", Shown(fields[3]), "', must be an integer up to ",
          TrecQrels::kMaxRelevance));
    }
    const auto [place, is_new] =
        index.try_emplace(std::string(fields[0]), qrels.queries.size());
    if (is_new) qrels.queries.emplace_back().id = std::string(fields[0]);
    if (relevance < 0) ++qrels.negative_judgements;
    if (qrels.queries[place->second]
            .relevances
            .try_emplace(std::string(fields[2]),
                         static_cast<uint32_t>(std::max(relevance, int64_t{0})))
            .second) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("query '", fields[0], "' has document '", Shown(fields[2]),
                     "' twice, must have it once"));
  };
  RETURN_IF_ERROR(ForEachTrecLine(path, "qid 0 docno relevance", add));
  if (!qrels.queries.empty()) return qrels;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has no line, must have one for each judgement"));
}

}  // namespace sortition
