#include "trainer/labelled/trec_orders.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "io/trec/trec_qrels.h"
#include "io/trec/trec_run.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

// What a run retrieved for a judged query.
struct JudgedList {
  std::vector<uint32_t> relevances;  // Of the documents of the run.
  std::vector<uint32_t> unranked;    // Of judged documents that it lacks.
  uint64_t unjudged = 0;             // Documents of the run.
};

JudgedList Judge(const TrecRunQuery& ranked, const TrecJudgedQuery& judged) {
  JudgedList list;
  absl::flat_hash_map<std::string, uint32_t> rest = judged.relevances;
  for (const std::string& document : ranked.documents) {
    const auto found = rest.find(document);
    if (found == rest.end()) {
      list.relevances.push_back(0);
      ++list.unjudged;
      continue;
    }
    list.relevances.push_back(found->second);
    rest.erase(found);
  }
  for (const auto& [document, relevance] : rest) {
    list.unranked.push_back(relevance);
  }
  return list;
}

void Warn(const TrecRun& run, EvaluateReport* report) {
  if (run.contradicting_ranks == 0) return;
  report->add_warnings(absl::StrCat(
      run.contradicting_ranks,
      " lines of the run have a larger rank and a larger score than the line "
      "before. Documents are ordered by score, highest first, as trec_eval "
      "does, and ranks are not used: check that larger scores are better"));
}

}  // namespace

absl::Status AddTrecQueries(const EvaluateOptions& options,
                            OrderSummary* summary, EvaluateReport* report) {
  ASSIGN_OR_RETURN(const TrecRun run, ReadTrecRun(options.run()));
  ASSIGN_OR_RETURN(const TrecQrels qrels, ReadTrecQrels(options.qrels()));
  absl::flat_hash_map<std::string, const TrecRunQuery*> ranked;
  for (const TrecRunQuery& query : run.queries) ranked[query.id] = &query;
  const TrecRunQuery nothing;
  uint64_t both = 0, unjudged = 0, not_retrieved = 0;
  for (const TrecJudgedQuery& judged : qrels.queries) {
    const auto found = ranked.find(judged.id);
    const bool is_missing = found == ranked.end();
    if (is_missing && options.skip_missing_queries()) continue;
    const TrecRunQuery& query = is_missing ? nothing : *found->second;
    JudgedList list = Judge(query, judged);
    CutRelevances(options.relevance_cut(), list.relevances);
    CutRelevances(options.relevance_cut(), list.unranked);
    summary->Add(judged.id, {list.relevances, query.scores, list.unranked});
    if (is_missing) continue;
    ++both;
    unjudged += list.unjudged;
    for (const uint32_t relevance : list.unranked) {
      not_retrieved += relevance >= options.relevant_from() ? 1 : 0;
    }
  }
  if (both == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no query of --run='", options.run(), "' is judged in --qrels='",
        options.qrels(), "': the first ids are '", run.queries[0].id, "' and '",
        qrels.queries[0].id, "', must be the same ids"));
  }
  report->set_missing_queries(qrels.queries.size() - both);
  report->set_skipped_missing(options.skip_missing_queries());
  report->set_unjudged_queries(run.queries.size() - both);
  report->set_unjudged_candidates(unjudged);
  report->set_negative_judgements(qrels.negative_judgements);
  report->set_relevant_not_retrieved(not_retrieved);
  Warn(run, report);
  return absl::OkStatus();
}

}  // namespace sortition
