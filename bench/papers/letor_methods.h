#pragma once
// What table 1 and figure 2 of the paper of loss-sensitive random fields
// compare [VolkovsLarochelleZemel11, sec. 6], and how it is judged.
#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/support/letor_folds.h"

namespace sortition {

// NDCG@1 .. NDCG@5, of one query or means.
inline constexpr size_t kTopRanks = 5;
using TopNdcg = std::array<double, kTopRanks>;

enum class NdcgKind {
  kLetor,   // Of LETOR 4.0's tool: letor_metrics.h.
  kLinear,  // Eq. 12 at k: gain the relevance, discount 1 / log2(rank + 2); 0
            // where nothing is relevant.
};

// Of relevances by rank, of all candidates.
TopNdcg TopNdcgOf(std::span<const int> relevances, NdcgKind kind);
double MeanOver(const TopNdcg& ndcg);

// Mean over queries ordered by falling score, ties in the order of the file.
TopNdcg JudgeTop(std::span<const LabelledItems> queries,
                 std::span<const double> weights, NdcgKind kind);
// What chooses: mean over queries of the mean of NDCG@1 .. NDCG@n of n
// candidates. Of all ranks, it is less a matter of luck than the first ones.
double Criterion(std::span<const LabelledItems> queries,
                 std::span<const double> weights, NdcgKind kind);
// Mean over `draws` random orders of each query.
TopNdcg JudgeRandomTop(std::span<const LabelledItems> queries, int draws,
                       uint64_t seed, NdcgKind kind);

// One point of a method's grid.
struct LetorRanker {
  std::string setting;
  std::vector<double> weights;
};

struct LetorMethod {
  std::string name;
  bool is_crf = false;
  // MQ2008 in table 1 or on LETOR's site, in percent; 0: none.
  TopNdcg published = {};
  // All grid points. Only random fields look at the validation queries, where
  // Criterion() of `kind` chooses the epoch.
  std::function<absl::StatusOr<std::vector<LetorRanker>>(const LetorFold& fold,
                                                         NdcgKind kind)>
      train;
};

// The five objectives with the grids of the paper, sec. 6.2: η, α, T.
std::vector<LetorMethod> CrfMethods();
// Those of ranking_methods.h that the paper has, or stand-ins.
std::vector<LetorMethod> LetorBaselines();

}  // namespace sortition
