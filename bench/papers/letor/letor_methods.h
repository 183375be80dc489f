#pragma once
// The methods that table 1 and figure 2 of the paper on loss-sensitive random
// fields compare [VolkovsLarochelleZemel11, sec. 6], and their measure.
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"
#include "core/metrics/tied_ranking.h"

namespace sortition {

// NDCG@1 .. NDCG@5 of one query, or their means.
inline constexpr size_t kTopRanks = 5;
using TopNdcg = std::array<double, kTopRanks>;

enum class NdcgKind {
  kLetor,   // By LETOR 4.0's tool: letor_metrics.h.
  kLinear,  // By eq. 12 at k: the gain is the relevance, the discount
            // 1 / log2(rank + 2); 0 if nothing is relevant.
};

TopNdcg TopNdcgOf(const TiedRanking& ranking, NdcgKind kind);
double MeanOver(const TopNdcg& ndcg);

// Returns the figures of each query ordered by falling score.
std::vector<TopNdcg> JudgeQueries(std::span<const LabelledItems> queries,
                                  std::span<const double> weights,
                                  NdcgKind kind);
TopNdcg MeanOverQueries(std::span<const TopNdcg> queries);
// The criterion of validation: the mean over queries of the mean of NDCG@1 ..
// NDCG@n, where n is the query's number of candidates. It varies less than NDCG
// of the first ranks.
double Criterion(std::span<const LabelledItems> queries,
                 std::span<const double> weights, NdcgKind kind);
// Returns the expected NDCG of random orders.
TopNdcg JudgeRandomTop(std::span<const LabelledItems> queries, NdcgKind kind);

// One point of a method's grid.
struct LetorRanker {
  std::string setting;
  std::vector<double> weights;
};

struct LetorMethod {
  std::string name;
  bool is_crf = false;
  // Published figures for MQ2008, in table 1 or on LETOR's site, in percent; 0:
  // none.
  TopNdcg published = {};
  // Trains all grid points. Only random fields use the validation queries:
  // Criterion() with `kind` chooses the epoch.
  std::function<absl::StatusOr<std::vector<LetorRanker>>(const LetorFold& fold,
                                                         NdcgKind kind)>
      train;
};

// Returns the five objectives with the paper's grids of η, α and T (sec. 6.2),
// and KL with gains 2^relevance - 1 in its loss, as in LETOR's NDCG.
std::vector<LetorMethod> CrfMethods();
// Returns the paper's baselines from ranking_methods.h, or the closest to them.
std::vector<LetorMethod> LetorBaselines();

}  // namespace sortition
