#include "bench/papers/letor/letor_methods.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/support/ranked_labels.h"
#include "bench/support/ranking_methods.h"
#include "core/base/status_macros.h"
#include "core/learners/hinge/hinge_problem.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/learners/orders/crf_training.h"
#include "core/learners/orders/relevance_regression.h"
#include "core/metrics/letor_metrics.h"
#include "core/metrics/ranking_metrics.h"

namespace sortition {
namespace {

using config::v1::CrfOptions;

constexpr std::array kLearningRates = {0.5, 0.1, 0.01, 0.001};
constexpr std::array kWeights = {1.0, 10.0, 20.0, 50.0};  // α and T.

// Returns NDCG@k of eq. 12 for each k; 0 if nothing is relevant.
std::vector<double> LinearNdcgs(const TiedRanking& ranking) {
  std::vector<double> ndcg;
  for (uint32_t k = 1; k <= ranking.size(); ++k) {
    const double value = LinearNdcg(ranking, k);
    ndcg.push_back(std::isnan(value) ? 0 : value);
  }
  return ndcg;
}

void Add(const TopNdcg& ndcg, double share, TopNdcg* sum) {
  for (size_t k = 0; k < kTopRanks; ++k) (*sum)[k] += share * ndcg[k];
}

absl::Status AddCrf(const LetorFold& fold, NdcgKind kind,
                    const CrfObjective& objective, const std::string& setting,
                    std::vector<LetorRanker>* rankers) {
  const auto validate = [&](std::span<const double> weights) {
    return Criterion(fold.validation, weights, kind);
  };
  for (const double rate : kLearningRates) {
    ASSIGN_OR_RETURN(
        CrfResult result,
        TrainCrfBySteps(fold.train, objective, rate, CrfOptions(), validate));
    rankers->push_back({absl::StrFormat("%srate %g, epoch %d", setting, rate,
                                        result.best_epoch),
                        std::move(result.weights)});
  }
  return absl::OkStatus();
}

LetorMethod Crf(const std::string& name, CrfObjective::Kind objective,
                const TopNdcg& published = {}) {
  const auto train =
      [objective](const LetorFold& fold,
                  NdcgKind kind) -> absl::StatusOr<std::vector<LetorRanker>> {
    std::vector<LetorRanker> rankers;
    if (objective == CrfObjective::kLossAugmented) {
      for (const double weight : kWeights) {
        RETURN_IF_ERROR(
            AddCrf(fold, kind, {.kind = objective, .loss_weight = weight},
                   absl::StrFormat("alpha %g, ", weight), &rankers));
      }
    } else if (objective == CrfObjective::kKullbackLeibler) {
      for (const double temperature : kWeights) {
        RETURN_IF_ERROR(
            AddCrf(fold, kind, {.kind = objective, .temperature = temperature},
                   absl::StrFormat("T %g, ", temperature), &rankers));
      }
    } else {
      RETURN_IF_ERROR(AddCrf(fold, kind, {.kind = objective}, "", &rankers));
    }
    return rankers;
  };
  return {name, true, published, train};
}

// Makes a method that learns from labels 2^relevance - 1. Validation and test
// queries keep theirs.
LetorMethod WithGains(const std::string& name, const LetorMethod& method) {
  const auto train =
      [inner = method.train](
          const LetorFold& fold,
          NdcgKind kind) -> absl::StatusOr<std::vector<LetorRanker>> {
    LetorFold gained = fold;
    std::deque<std::vector<uint32_t>> gains;
    for (LabelledItems& query : gained.train) {
      std::vector<uint32_t>& own = gains.emplace_back();
      for (const uint32_t y : query.relevances) own.push_back((1u << y) - 1);
      query.relevances = own;
    }
    return inner(gained, kind);
  };
  return {name, method.is_crf, {}, train};
}

LetorMethod Baseline(const std::string& name, const std::string& method,
                     const TopNdcg& published = {}) {
  const auto train = [train = BaselineMethod(method).train](
                         const LetorFold& fold,
                         NdcgKind) -> absl::StatusOr<std::vector<LetorRanker>> {
    ASSIGN_OR_RETURN(const std::vector<LinearRanker> points, train(fold.train));
    std::vector<LetorRanker> rankers;
    for (const LinearRanker& point : points) {
      rankers.push_back({absl::StrFormat("C %g", point.c), point.weights});
    }
    return rankers;
  };
  return {name, false, published, train};
}

// Fits least squares of the relevance with a constant for each query, that is,
// with the query's mean features subtracted. The penalty is negligible, but
// columns of zeros need one.
absl::StatusOr<std::vector<LetorRanker>> FitWithinQueries(const LetorFold& fold,
                                                          NdcgKind) {
  constexpr double kL2 = 1e-6;
  std::deque<std::vector<float>> features;
  std::vector<LabelledItems> queries;
  for (const LabelledItems& query : fold.train) {
    const size_t d = query.items.num_features();
    const size_t n = query.relevances.size();
    const auto values = query.items.values();
    std::vector<float>& centred =
        features.emplace_back(values.begin(), values.end());
    for (size_t j = 0; j < d; ++j) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += values[i * d + j];
      const auto mean = static_cast<float>(sum / static_cast<double>(n));
      for (size_t i = 0; i < n; ++i) centred[i * d + j] -= mean;
    }
    queries.push_back(
        {Candidates::DenseUnchecked(centred, query.items.num_features()),
         query.relevances});
  }
  ASSIGN_OR_RETURN(RegressionResult result, FitRelevance(queries, kL2));
  return std::vector<LetorRanker>{{"", std::move(result.weights)}};
}

// Trains the hinge of NDCG (seed 001, sec. 17.4.2) for C = 2^-6 .. 2^6.
absl::StatusOr<std::vector<LetorRanker>> TrainNdcgHinge(const LetorFold& fold,
                                                        NdcgKind) {
  const config::v1::HingeOptions options;
  ASSIGN_OR_RETURN(const auto problem,
                   HingeProblem::Create(fold.train, options));
  const auto solver = MakeHingeSolver(problem.get(), options);
  std::vector<LetorRanker> rankers;
  for (int power = -6; power <= 6; ++power) {
    const double c = std::exp2(power);
    const double lambda = 1 / (c * static_cast<double>(problem->num_queries()));
    ASSIGN_OR_RETURN(const HingeResult result,
                     solver->Minimise(lambda, nullptr));
    rankers.push_back({absl::StrFormat("C %g", c),
                       {result.weights.begin(), result.weights.end()}});
  }
  return rankers;
}

}  // namespace

TopNdcg TopNdcgOf(const TiedRanking& ranking, NdcgKind kind) {
  TopNdcg top;
  if (kind == NdcgKind::kLinear) {
    std::vector<double> ndcg = LinearNdcgs(ranking);
    ndcg.resize(std::max(ndcg.size(), kTopRanks), ndcg.back());
    std::copy_n(ndcg.begin(), kTopRanks, top.begin());
  } else {
    std::copy_n(LetorFiguresOf(ranking).ndcg.begin(), kTopRanks, top.begin());
  }
  return top;
}

double MeanOver(const TopNdcg& ndcg) {
  return std::accumulate(ndcg.begin(), ndcg.end(), 0.0) / kTopRanks;
}

std::vector<TopNdcg> JudgeQueries(std::span<const LabelledItems> queries,
                                  std::span<const double> weights,
                                  NdcgKind kind) {
  std::vector<TopNdcg> figures;
  for (const LabelledItems& query : queries) {
    figures.push_back(TopNdcgOf(RankingByScore(query, weights), kind));
  }
  return figures;
}

TopNdcg MeanOverQueries(std::span<const TopNdcg> queries) {
  TopNdcg mean = {};
  for (const TopNdcg& query : queries) {
    Add(query, 1 / static_cast<double>(queries.size()), &mean);
  }
  return mean;
}

double Criterion(std::span<const LabelledItems> queries,
                 std::span<const double> weights, NdcgKind kind) {
  double sum = 0;
  for (const LabelledItems& query : queries) {
    const TiedRanking ranking = RankingByScore(query, weights);
    if (kind == NdcgKind::kLinear) {
      const std::vector<double> ndcg = LinearNdcgs(ranking);
      sum += std::accumulate(ndcg.begin(), ndcg.end(), 0.0) /
             static_cast<double>(ndcg.size());
    } else {
      sum += LetorFiguresOf(ranking).mean_ndcg;
    }
  }
  return sum / static_cast<double>(queries.size());
}

TopNdcg JudgeRandomTop(std::span<const LabelledItems> queries, NdcgKind kind) {
  const std::vector<double> zeros(queries[0].items.num_features(), 0.0);
  return MeanOverQueries(JudgeQueries(queries, zeros, kind));
}

std::vector<LetorMethod> CrfMethods() {
  return {
      Crf("ML", CrfObjective::kMaximumLikelihood),
      Crf("LA", CrfObjective::kLossAugmented),
      Crf("LS", CrfObjective::kLossScaled),
      Crf("EL", CrfObjective::kExpectedLoss),
      Crf("KL", CrfObjective::kKullbackLeibler,
          {39.47, 41.80, 43.74, 46.18, 47.84}),
      WithGains("KL, gains", Crf("", CrfObjective::kKullbackLeibler)),
  };
}

std::vector<LetorMethod> LetorBaselines() {
  // RankSVM by pairs is called "RankSVM-Struct" by LETOR and "SVM-Struct" by
  // the paper. LETOR's regression is close to one with a constant for each
  // query, and far from one with a single constant.
  return {
      {.name = "regression",
       .published = {36.67, 40.62, 42.89, 45.60, 47.73},
       .train = FitWithinQueries},
      Baseline("one constant", "linear regression"),
      Baseline("RankSVM, pairs", "RankSVM, pairs",
               {36.26, 39.84, 42.85, 45.08, 46.95}),
      Baseline("RankSVM, queries", "RankSVM, queries"),
      {.name = "hinge of NDCG", .train = TrainNdcgHinge},
      Baseline("ListNet", "ListNet", {37.54, 41.12, 43.24, 45.68, 47.47}),
      Baseline("ListNet, gains", "ListNet, gains"),
  };
}

}  // namespace sortition
