#include "trainer/labelled/order_metrics.h"

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

// What `@k` may follow the name of a metric.
enum class Ranks { kNone, kOptional, kUpToTen };

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

Measure PrecisionMeasure(const EvaluateOptions& options, uint32_t k) {
  if (k == 0) return OfSet(options, Precision);
  const uint32_t from = options.relevant_from();
  return [=](const ScoredQuery& q) { return Precision(q.ranking, from, k); };
}

Measure LinearNdcgMeasure(const EvaluateOptions&, uint32_t k) {
  return [=](const ScoredQuery& q) { return LinearNdcg(q.ranking, k); };
}

struct Known {
  const char* name;
  Ranks ranks;
  Maker make;
};

constexpr Known kKnown[] = {
    {"ndcg_letor", Ranks::kUpToTen,
     [](const EvaluateOptions&, uint32_t k) -> Measure {
       return [=](const ScoredQuery& q) { return LetorOf(q).ndcg[k - 1]; };
     }},
    {"mean_ndcg", Ranks::kNone,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) { return LetorOf(q).mean_ndcg; };
     }},
    {"map", Ranks::kNone,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) { return LetorOf(q).average_precision; };
     }},
    {"precision", Ranks::kOptional, PrecisionMeasure},
    {"ndcg_exponential", Ranks::kOptional,
     [](const EvaluateOptions&, uint32_t k) -> Measure {
       return [=](const ScoredQuery& q) { return Ndcg(q.ranking, k); };
     }},
    {"ndcg_linear", Ranks::kOptional, LinearNdcgMeasure},
    {"ndcg_top", Ranks::kOptional, LinearNdcgMeasure},
    {"mrr", Ranks::kNone,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [from = options.relevant_from()](const ScoredQuery& q) {
         return ReciprocalRank(q.ranking, from, 0);
       };
     }},
    {"kendall", Ranks::kNone,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) {
         return 1 - KendallTauCost(q.scores, q.relevances);
       };
     }},
    {"pairs", Ranks::kNone,
     [](const EvaluateOptions&, uint32_t) -> Measure {
       return [](const ScoredQuery& q) {
         return RightPairs(q.scores, q.relevances);
       };
     }},
    {"auc", Ranks::kNone,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [from = options.relevant_from()](const ScoredQuery& q) {
         return RightPairs(q.scores, Relevant(q, from));
       };
     }},
    {"sensitivity", Ranks::kNone,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, Sensitivity);
     }},
    {"specificity", Ranks::kNone,
     [](const EvaluateOptions& options, uint32_t) {
       return OfSet(options, Specificity);
     }},
    {"f_beta", Ranks::kNone,
     [](const EvaluateOptions& options, uint32_t) -> Measure {
       return [=](const ScoredQuery& q) {
         return FBeta(CountsOf(q, options), options.beta());
       };
     }},
};

absl::Status Error(absl::string_view asked, absl::string_view must) {
  return absl::InvalidArgumentError(
      absl::StrCat("metrics has '", asked, "', ", must));
}

absl::StatusOr<uint32_t> ParseRanks(const Known& known, absl::string_view asked,
                                    absl::string_view ranks, bool given) {
  if (!given) {
    if (known.ranks != Ranks::kUpToTen) return 0;
    return Error(asked, absl::StrCat("must be ", known.name, "@1 to @10"));
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
  std::vector<absl::string_view> names = {"letor"};
  for (const Known& known : kKnown) {
    names.push_back(known.name);
    if (parts.first != known.name) continue;
    ASSIGN_OR_RETURN(const uint32_t k,
                     ParseRanks(known, asked, parts.second,
                                asked.size() > parts.first.size()));
    return OrderMetric{std::string(asked), known.make(options, k)};
  }
  return Error(asked,
               absl::StrCat("must be one of ", absl::StrJoin(names, ", ")));
}

// Appends the metrics of LETOR 4.0's tool, in its order.
void AddLetor(std::vector<OrderMetric>* metrics) {
  for (size_t k = 0; k < kLetorRanks; ++k) {
    metrics->push_back({absl::StrCat("P@", k + 1), [k](const ScoredQuery& q) {
                          return LetorOf(q).precision[k];
                        }});
  }
  metrics->push_back({"MAP", [](const ScoredQuery& q) {
                        return LetorOf(q).average_precision;
                      }});
  for (size_t k = 0; k < kLetorRanks; ++k) {
    metrics->push_back(
        {absl::StrCat("NDCG@", k + 1),
         [k](const ScoredQuery& q) { return LetorOf(q).ndcg[k]; }});
  }
  metrics->push_back(
      {"MeanNDCG", [](const ScoredQuery& q) { return LetorOf(q).mean_ndcg; }});
}

}  // namespace

absl::StatusOr<std::vector<OrderMetric>> MakeOrderMetrics(
    const EvaluateOptions& options) {
  std::vector<OrderMetric> metrics;
  if (options.metrics_size() == 0) AddLetor(&metrics);
  for (const std::string& list : options.metrics()) {
    for (absl::string_view asked : absl::StrSplit(list, ',')) {
      asked = absl::StripAsciiWhitespace(asked);
      if (asked == "letor") {
        AddLetor(&metrics);
        continue;
      }
      ASSIGN_OR_RETURN(OrderMetric metric, MakeOne(options, asked));
      metrics.push_back(std::move(metric));
    }
  }
  return metrics;
}

}  // namespace sortition
