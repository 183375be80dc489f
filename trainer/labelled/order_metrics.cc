#include "trainer/labelled/order_metrics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/metrics/letor_metrics.h"
#include "core/metrics/pair_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/set_metrics.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;

constexpr uint32_t kMaxK = 1'000'000;

using Measure = std::function<double(const ScoredQuery&)>;
using Maker = Measure (*)(const EvaluateOptions& options, uint32_t k);

// Which `@k` may follow the name of a metric.
enum class Ranks { kNone, kOptional, kNeeded, kUpToTen };

// What a metric depends on. kRanking: the ranks of candidates. kPairs: the
// scores of all candidates. kSet: which scores are above the threshold.
enum class Of { kRanking, kPairs, kSet };

LetorFigures LetorOf(const ScoredQuery& query) {
  return LetorFiguresOf(query.ranking);
}

std::vector<uint32_t> Relevant(const ScoredQuery& query, uint32_t from) {
  std::vector<uint32_t> relevant;
  for (const uint32_t relevance : query.relevances) {
    relevant.push_back(relevance >= from ? 1 : 0);
  }
  return relevant;
}

SetCounts CountsOf(const ScoredQuery& query, const EvaluateOptions& options) {
  std::vector<uint8_t> called, relevant;
  for (size_t i = 0; i < query.scores.size(); ++i) {
    called.push_back(query.scores[i] > options.threshold() ? 1 : 0);
    relevant.push_back(query.relevances[i] >= options.relevant_from() ? 1 : 0);
  }
  return CountSet(called, relevant);
}

Measure OfSet(const EvaluateOptions& options,
              double (*measure)(const SetCounts&)) {
  return [=](const ScoredQuery& q) { return measure(CountsOf(q, options)); };
}

using RankMeasure = double (*)(const TiedRanking&, uint32_t relevant_from,
                               uint32_t k);

Measure OfRanks(const EvaluateOptions& options, uint32_t k,
                RankMeasure measure) {
  const uint32_t from = options.relevant_from();
  return [=](const ScoredQuery& q) { return measure(q.ranking, from, k); };
}

Measure PrecisionMeasure(const EvaluateOptions& options, uint32_t k) {
  return k == 0 ? OfSet(options, Precision) : OfRanks(options, k, Precision);
}

Measure LinearNdcgMeasure(const EvaluateOptions&, uint32_t k) {
  return [=](const ScoredQuery& q) { return LinearNdcg(q.ranking, k); };
}

struct Known {
  const char* name;
  Ranks ranks;
  Of of;
  Maker make;
};

constexpr Known kKnown[] = {
    {"ndcg_letor", Ranks::kUpToTen, Of::kRanking,
     [](const EvaluateOptions&, uint32_t k) -> Measure {
       return [=](const ScoredQuery& q) { return LetorOf(q).ndcg[k - 1]; };
     }},
    {"mean_ndcg", Ranks::kNone, Of::kRanking,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) { return LetorOf(q).mean_ndcg; };
     }},
    {"map", Ranks::kNone, Of::kRanking,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) { return LetorOf(q).average_precision; };
     }},
    {"average_precision", Ranks::kNone, Of::kRanking,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [from = options.relevant_from()](const ScoredQuery& q) {
         return AveragePrecision(q.ranking, from);
       };
     }},
    {"precision", Ranks::kOptional, Of::kRanking, PrecisionMeasure},
    {"recall", Ranks::kNeeded, Of::kRanking,
     [](const EvaluateOptions& options, uint32_t k) {
       return OfRanks(options, k, Recall);
     }},
    {"success", Ranks::kNeeded, Of::kRanking,
     [](const EvaluateOptions& options, uint32_t k) {
       return OfRanks(options, k, Success);
     }},
    {"ndcg_exponential", Ranks::kOptional, Of::kRanking,
     [](const EvaluateOptions&, uint32_t k) -> Measure {
       return [=](const ScoredQuery& q) { return Ndcg(q.ranking, k); };
     }},
    {"ndcg_linear", Ranks::kOptional, Of::kRanking, LinearNdcgMeasure},
    {"ndcg_top", Ranks::kOptional, Of::kRanking, LinearNdcgMeasure},
    {"mrr", Ranks::kOptional, Of::kRanking,
     [](const EvaluateOptions& options, uint32_t k) {
       return OfRanks(options, k, ReciprocalRank);
     }},
    {"kendall", Ranks::kNone, Of::kPairs,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) {
         return 1 - KendallTauCost(q.scores, q.relevances);
       };
     }},
    {"pairs", Ranks::kNone, Of::kPairs,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) {
         return RightPairs(q.scores, q.relevances);
       };
     }},
    {"auc", Ranks::kNone, Of::kPairs,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [from = options.relevant_from()](const ScoredQuery& q) {
         return RightPairs(q.scores, Relevant(q, from));
       };
     }},
    {"sensitivity", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, Sensitivity);
     }},
    {"specificity", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, Specificity);
     }},
    {"f_beta", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [=](const ScoredQuery& q) {
         return FBeta(CountsOf(q, options), options.beta());
       };
     }},
    {"jaccard", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, Jaccard);
     }},
    {"hamming_loss", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, HammingLoss);
     }},
    {"subset_accuracy", Ranks::kNone, Of::kSet,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, SubsetAccuracy);
     }},
};

// The figures that trec_eval prints by default or that reports quote most.
constexpr const char* kTrec[] = {
    "average_precision", "mrr",           "precision@5",    "precision@10",
    "precision@20",      "precision@100", "recall@10",      "recall@100",
    "recall@1000",       "success@1",     "success@5",      "success@10",
    "ndcg_linear",       "ndcg_linear@5", "ndcg_linear@10", "ndcg_linear@20"};

absl::Status Error(absl::string_view asked, absl::string_view must) {
  return absl::InvalidArgumentError(
      absl::StrCat("metrics has '", asked, "', ", must));
}

absl::StatusOr<uint32_t> ParseRanks(const Known& known, absl::string_view asked,
                                    absl::string_view ranks, bool given) {
  if (!given) {
    if (known.ranks == Ranks::kUpToTen) {
      return Error(asked, absl::StrCat("must be ", known.name, "@1 to @10"));
    }
    if (known.ranks != Ranks::kNeeded) return 0;
    return Error(asked, absl::StrCat("must be ", known.name,
                                     "@K with the number K of the first ranks "
                                     "that count, such as ",
                                     known.name, "@5"));
  }
  if (known.ranks == Ranks::kNone) {
    return Error(asked, absl::StrCat("must be ", known.name, " without @"));
  }
  const uint32_t most =
      known.ranks == Ranks::kUpToTen ? uint32_t{kLetorRanks} : kMaxK;
  uint32_t k = 0;
  if (!absl::SimpleAtoi(ranks, &k) || k < 1 || k > most) {
    return Error(asked, absl::StrCat("the number after @ must be 1 to ", most));
  }
  return k;
}

absl::StatusOr<OrderMetric> MakeOne(const EvaluateOptions& options,
                                    absl::string_view asked) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(asked, absl::MaxSplits('@', 1));
  std::vector<absl::string_view> names = {"letor", "trec"};
  for (const Known& known : kKnown) {
    names.push_back(known.name);
    if (parts.first != known.name) continue;
    ASSIGN_OR_RETURN(const uint32_t k,
                     ParseRanks(known, asked, parts.second,
                                asked.size() > parts.first.size()));
    const bool is_of_set =
        known.of == Of::kSet || (k == 0 && known.make == PrecisionMeasure);
    if (options.format() == "trec" && (is_of_set || known.of == Of::kPairs)) {
      return Error(asked,
                   "must be a metric of ranks with format=trec: documents that "
                   "the run did not retrieve have no score");
    }
    return OrderMetric{std::string(asked), is_of_set, known.make(options, k)};
  }
  return Error(asked,
               absl::StrCat("must be one of ", absl::StrJoin(names, ", ")));
}

// Appends the metrics of LETOR 4.0's tool, in its order.
void AddLetor(std::vector<OrderMetric>* metrics) {
  for (size_t k = 0; k < kLetorRanks; ++k) {
    metrics->push_back(
        {absl::StrCat("P@", k + 1), false,
         [k](const ScoredQuery& q) { return LetorOf(q).precision[k]; }});
  }
  metrics->push_back({"MAP", false, [](const ScoredQuery& q) {
                        return LetorOf(q).average_precision;
                      }});
  for (size_t k = 0; k < kLetorRanks; ++k) {
    metrics->push_back(
        {absl::StrCat("NDCG@", k + 1), false,
         [k](const ScoredQuery& q) { return LetorOf(q).ndcg[k]; }});
  }
  metrics->push_back({"MeanNDCG", false, [](const ScoredQuery& q) {
                        return LetorOf(q).mean_ndcg;
                      }});
}

}  // namespace

bool ScoredQuery::HasRelevant(uint32_t relevant_from) const {
  const auto is_relevant = [=](uint32_t relevance) {
    return relevance >= relevant_from;
  };
  return std::any_of(relevances.begin(), relevances.end(), is_relevant) ||
         std::any_of(ranking.unranked().begin(), ranking.unranked().end(),
                     is_relevant);
}

absl::StatusOr<std::vector<OrderMetric>> MakeOrderMetrics(
    const EvaluateOptions& options) {
  std::vector<absl::string_view> names;
  for (const std::string& list : options.metrics()) {
    for (const absl::string_view name : absl::StrSplit(list, ',')) {
      names.push_back(absl::StripAsciiWhitespace(name));
    }
  }
  if (names.empty()) {
    names = {options.format() == "trec" ? "trec" : "letor"};
  }
  std::vector<OrderMetric> metrics;
  const auto add = [&](absl::string_view name) -> absl::Status {
    ASSIGN_OR_RETURN(OrderMetric metric, MakeOne(options, name));
    metrics.push_back(std::move(metric));
    return absl::OkStatus();
  };
  for (const absl::string_view name : names) {
    if (name == "letor") {
      AddLetor(&metrics);
    } else if (name == "trec") {
      for (const char* const one : kTrec) RETURN_IF_ERROR(add(one));
    } else {
      RETURN_IF_ERROR(add(name));
    }
  }
  return metrics;
}

}  // namespace sortition
