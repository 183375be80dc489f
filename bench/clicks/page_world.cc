#include "bench/clicks/page_world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/support/shuffle.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/learners/orders/relevance_regression.h"
#include "core/policies/marginals/plackett_luce_marginals.h"
#include "core/simulation/world.h"

namespace sortition {
namespace {

constexpr double kRidge = 1;
constexpr size_t kFewestQueries = 5;
// Beyond them marginals say nothing to a simulation.
constexpr double kTolerance = 1e-10;

std::vector<LabelledItems> PagesOf(std::span<const LabelledItems> queries) {
  std::vector<LabelledItems> pages;
  for (const LabelledItems& query : queries) {
    const size_t count = query.relevances.size();
    if (count < kPageRanks) continue;
    const size_t kept = std::min(count, kMostCandidates);
    const uint32_t width = query.items.num_features();
    pages.push_back({.items = Candidates::DenseUnchecked(
                         query.items.values().first(kept * width), width),
                     .relevances = query.relevances.first(kept)});
  }
  return pages;
}

absl::StatusOr<LetorFolds> MakeFolds() {
  constexpr uint32_t kQueries = 500;
  config::v1::WorldOptions options;
  options.set_queries(kQueries);
  options.set_min_candidates(kMostCandidates);
  options.set_max_candidates(kMostCandidates);
  ASSIGN_OR_RETURN(LabelledQueries made, MakeWorld(options));
  auto world = std::make_shared<LabelledQueries>(std::move(made));
  std::array<std::vector<LabelledItems>, kNumFolds> parts;
  for (size_t q = 0; q < world->queries.size(); ++q) {
    const LabelledQuery& query = world->queries[q];
    parts[q % kNumFolds].push_back({.items = Candidates::DenseUnchecked(
                                        query.features, world->num_features),
                                    .relevances = query.relevances});
  }
  LetorFolds folds;
  for (size_t f = 0; f < kNumFolds; ++f) {
    LetorFold& fold = folds.folds[f];
    for (size_t i = 0; i < 3; ++i) {
      const auto& part = parts[(f + i) % kNumFolds];
      fold.train.insert(fold.train.end(), part.begin(), part.end());
    }
    fold.validation = parts[(f + 3) % kNumFolds];
    fold.test = parts[(f + 4) % kNumFolds];
  }
  folds.data = std::move(world);
  return folds;
}

std::vector<uint32_t> GradesByRank(const LabelledItems& page,
                                   std::span<const int32_t> order) {
  std::vector<uint32_t> grades;
  for (const int32_t d : order) grades.push_back(page.relevances[d]);
  return grades;
}

double WorthAt(std::span<const double> worths, size_t rank) {
  return worths.empty() ? 1 : worths[rank];
}

// Exact, from marginals.
PageTruth IndependentTruth(const PagePolicy& policy, const ClickUser& user,
                           std::span<const double> worths) {
  PageTruth truth;
  const ClickModel& model = user.model;
  const bool is_trust = model.kind == ClickModelKind::kTrustBias;
  const std::vector<std::vector<double>> marginals = policy.Marginals();
  for (size_t page = 0; page < policy.size(); ++page) {
    const size_t n = policy.num_candidates(page);
    for (size_t k = 0; k < kPageRanks; ++k) {
      for (size_t d = 0; d < n; ++d) {
        const double attraction =
            AttractionOf(user, policy.pages()[page].relevances[d]);
        const double click = is_trust
                                 ? model.Slope(k) * attraction + model.Offset(k)
                                 : model.Examination(k) * attraction;
        truth.clicks += WorthAt(worths, k) * marginals[page][k * n + d] * click;
      }
    }
  }
  truth.clicks /= static_cast<double>(policy.size());
  for (size_t k = 0; k < kPageRanks; ++k) {
    truth.examinations.push_back(model.Examination(k));
  }
  return truth;
}

}  // namespace

absl::StatusOr<LetorFolds> ReadPages(const std::string& dir) {
  LetorFolds folds;
  if (dir.empty()) {
    ASSIGN_OR_RETURN(folds, MakeFolds());
  } else {
    ASSIGN_OR_RETURN(folds, ReadLetorFolds(dir));
  }
  for (LetorFold& fold : folds.folds) {
    for (auto* part : {&fold.train, &fold.validation, &fold.test}) {
      *part = PagesOf(*part);
      if (part->empty()) {
        return absl::FailedPreconditionError(
            "a part has no query with ten candidates, must have one");
      }
    }
  }
  return folds;
}

absl::Status ScaleToUnit(std::span<const LabelledItems> pages,
                         std::vector<double>* weights) {
  double variance = 0;
  std::vector<double> scores;
  for (const LabelledItems& page : pages) {
    scores.resize(page.relevances.size());
    ScoreAll(page.items, *weights, scores);
    double sum = 0;
    double squares = 0;
    for (const double score : scores) {
      sum += score;
      squares += score * score;
    }
    const auto n = static_cast<double>(scores.size());
    variance += std::max(squares / n - sum / n * (sum / n), 0.0);
  }
  variance /= static_cast<double>(pages.size());
  if (!(variance > 0)) {
    return absl::FailedPreconditionError("all scores of a ranker are equal");
  }
  *weights = Times(1 / std::sqrt(variance), std::move(*weights));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> TrainRanker(
    std::span<const LabelledItems> pages, double share, uint64_t seed) {
  RandomSequence random(SeedKey(seed, "ranker"));
  std::vector<size_t> order = IndexesUpTo<size_t>(pages.size());
  Shuffle<size_t>(order, &random);
  const size_t wanted =
      std::max(kFewestQueries, static_cast<size_t>(std::lround(
                                   share * static_cast<double>(pages.size()))));
  std::vector<LabelledItems> judged;
  bool is_varied = false;
  for (const size_t q : order) {
    if (judged.size() >= wanted && is_varied) break;
    judged.push_back(pages[q]);
    const auto [least, most] = std::ranges::minmax(pages[q].relevances);
    is_varied = is_varied || most > least;
  }
  ASSIGN_OR_RETURN(RegressionResult result, FitRelevance(judged, kRidge));
  RETURN_IF_ERROR(ScaleToUnit(pages, &result.weights));
  return std::move(result.weights);
}

std::vector<double> Times(double factor, std::vector<double> values) {
  for (double& value : values) value *= factor;
  return values;
}

PagePolicy::PagePolicy(std::span<const LabelledItems> pages,
                       std::vector<double> weights)
    : pages_(pages),
      weights_(std::move(weights)),
      distribution_(1, kPageMixture) {
  for (const LabelledItems& page : pages_) {
    std::vector<double>& scores = scores_.emplace_back(page.relevances.size());
    ScoreAll(page.items, weights_, scores);
  }
}

void PagePolicy::Sample(size_t page, const CounterRandom& random,
                        DistributionScratch* scratch, Draw* draw) const {
  ScoredCandidates candidates;
  candidates.scores = scores_[page];
  candidates.top_k = kPageRanks;
  candidates.scratch = scratch;
  distribution_.Sample(candidates, random, draw);
}

std::vector<std::vector<double>> PagePolicy::Marginals() const {
  PlackettLuceMarginals computer(kTolerance);
  std::vector<std::vector<double>> marginals;
  for (const std::vector<double>& scores : scores_) {
    std::vector<double>& of_page =
        marginals.emplace_back(kPageRanks * scores.size());
    computer.Compute(scores, kPageRanks, of_page);
    MixMarginals(kPageMixture, scores.size(), of_page);
  }
  return marginals;
}

absl::StatusOr<ClickUser> MakePageUser(absl::string_view name) {
  ClickUserOptions options;
  options.max_relevance = kMaxRelevance;
  return MakeClickUser(name, options);
}

double AttractionOf(const ClickUser& user, uint32_t grade) {
  return user.attractions[std::min<size_t>(grade, user.attractions.size() - 1)];
}

bool ReadsOn(const ClickUser& user) {
  return user.model.kind != ClickModelKind::kPositionBased &&
         user.model.kind != ClickModelKind::kTrustBias;
}

PageTruth TruthOf(const PagePolicy& policy, const ClickUser& user, int draws,
                  uint64_t seed, std::span<const double> worths) {
  if (!ReadsOn(user)) return IndependentTruth(policy, user, worths);
  PageTruth truth;
  truth.examinations.assign(kPageRanks, 0);
  const Hash128 key = SeedKey(seed, "truth");
  const double total =
      static_cast<double>(draws) * static_cast<double>(policy.size());
  DistributionScratch scratch;
  Draw draw;
  std::array<double, kPageRanks> clicks;
  std::array<double, kPageRanks> examinations;
  uint32_t stream = 0;
  double variance = 0;
  for (size_t page = 0; page < policy.size(); ++page) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < draws; ++i) {
      policy.Sample(page, CounterRandom(key, stream++), &scratch, &draw);
      const GradedList list(user,
                            GradesByRank(policy.pages()[page], draw.action));
      MarginalClickProbabilities(user.model, list.list(), clicks, examinations);
      double clicked = 0;
      for (size_t k = 0; k < kPageRanks; ++k) {
        clicked += WorthAt(worths, k) * clicks[k];
        truth.examinations[k] += examinations[k] / total;
      }
      sum += clicked;
      squares += clicked * clicked;
    }
    truth.clicks += sum / total;
    variance += std::max(squares - sum * sum / draws, 0.0) / (draws - 1);
  }
  // Pages are strata.
  truth.standard_error =
      std::sqrt(variance / total / static_cast<double>(policy.size()));
  return truth;
}

}  // namespace sortition
