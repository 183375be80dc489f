#pragma once
// Queries whose candidates are ordered on pages of ten ranks, policies that
// order them, and what users are expected to click.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/support/letor_folds.h"
#include "core/base/random.h"
#include "core/clicks/click_user.h"
#include "core/data/labelled_items.h"
#include "core/policies/distributions/action_distribution.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {

inline constexpr size_t kPageRanks = 10;
inline constexpr size_t kMostCandidates = 20;
// Uniform share of every policy.
inline constexpr double kPageMixture = 0.1;
// Inverse temperatures at scores of unit variance within queries: policies that
// log explore more than those that are judged.
inline constexpr double kLoggingSharpness = 0.5;
inline constexpr double kTargetSharpness = 1;
inline constexpr uint32_t kMaxRelevance = 2;

// Reads the folds of a LETOR set, or makes as many of the built-in world if
// `dir` is empty. Queries with fewer than ten candidates are left out, others
// have their first 20. Errors as ReadLetorFolds().
absl::StatusOr<LetorFolds> ReadPages(const std::string& dir);

// Returns weights of linear scores by regression on a random share of the
// queries, five at the least. The scores of a query's candidates have the
// variance 1, on average over `pages`. FailedPrecondition if scores would all
// be equal.
absl::StatusOr<std::vector<double>> TrainRanker(
    std::span<const LabelledItems> pages, double share, uint64_t seed);

// Scales weights so that the mean variance of scores within a query is 1.
absl::Status ScaleToUnit(std::span<const LabelledItems> pages,
                         std::vector<double>* weights);

// Returns factor · values.
std::vector<double> Times(double factor, std::vector<double> values);

// Plackett-Luce orders by linear scores, mixed with uniform ones. Immutable and
// thread-safe.
class PagePolicy {
 public:
  // What `pages` views must outlive it.
  PagePolicy(std::span<const LabelledItems> pages, std::vector<double> weights);

  const std::vector<double>& weights() const { return weights_; }
  std::span<const LabelledItems> pages() const { return pages_; }
  size_t size() const { return pages_.size(); }
  size_t num_candidates(size_t page) const { return scores_[page].size(); }
  std::span<const double> scores(size_t page) const { return scores_[page]; }

  void Sample(size_t page, const CounterRandom& random,
              DistributionScratch* scratch, Draw* draw) const;
  // Returns P(candidate d is at rank k) at [k * n + d], of each page.
  std::vector<std::vector<double>> Marginals() const;

 private:
  std::span<const LabelledItems> pages_;
  std::vector<double> weights_;
  RankingDistribution distribution_;
  std::vector<std::vector<double>> scores_;
};

// Errors as MakeClickUser().
absl::StatusOr<ClickUser> MakePageUser(absl::string_view name);
double AttractionOf(const ClickUser& user, uint32_t grade);
// Whether users read from the top; otherwise clicks depend on the rank alone.
bool ReadsOn(const ClickUser& user);

// What a policy earns over all pages.
struct PageTruth {
  double clicks = 0;  // Expected number on a page, or what they are worth.
  double standard_error = 0;
  std::vector<double> examinations;  // Mean P(rank is examined).
};
// Exact by marginals where users do not read on. Otherwise by `draws` orders of
// each page, each with its exact probabilities of clicks; the same seed draws
// the same numbers for every policy. A click at rank k is worth worths[k];
// empty: 1. Requires at least 2 draws.
PageTruth TruthOf(const PagePolicy& policy, const ClickUser& user, int draws,
                  uint64_t seed, std::span<const double> worths = {});

}  // namespace sortition
