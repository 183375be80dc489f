#pragma once
// What each estimator of rankings says of a policy, from one log of sessions.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/clicks/page_model.h"
#include "bench/clicks/page_sessions.h"
#include "bench/clicks/page_world.h"
#include "core/counterfactual/rankings/click_relevance.h"

namespace sortition {

// Formulas: core/counterfactual/rankings/ranking_estimator.h.
enum class PageEstimator {
  kWholeOrder,          // The standard one: weights of all ten ranks.
  kNormalisedOrder,     // The same, self-normalised.
  kReadPrefix,          // Weights of the ranks that the user read.
  kPrefixes,            // Each rank's clicks by the ranks down to it.
  kNormalisedPrefixes,  // The same, self-normalised rank by rank.
  kCascadeDr,           // Prefixes with a model of clicks.
  kItemPosition,        // Each rank's clicks by its candidate there.
  kAdaptive,       // Shown prefix, prefixes or item-position, as seems best.
  kBiasCorrected,  // Clicks over how often a candidate is looked at; no
                   // weights.
};
inline constexpr size_t kNumPageEstimators = 9;
std::span<const PageEstimator> AllPageEstimators();
std::string PageEstimatorName(PageEstimator estimator);

using PageEstimates = std::array<double, kNumPageEstimators>;

// Knows the policies by page, and a model of clicks. Immutable after Create();
// thread-safe.
class PageJudge {
 public:
  // All must outlive it and be of the same pages. `examinations` is how often
  // the log's users look at each rank. The model of clicks is fitted to other
  // sessions. Errors as FitPageModel().
  static absl::StatusOr<PageJudge> Create(
      const PagePolicy* log, const PagePolicy* target, const ClickUser* user,
      const std::vector<double>& examinations);

  // Draws the log of that number and returns the estimates from its first
  // sizes[0], sizes[1] .. sessions. Requires ascending sizes.
  absl::StatusOr<std::vector<PageEstimates>> EstimatesOf(
      std::span<const uint32_t> sizes, uint64_t run) const;

 private:
  // Of one page.
  struct Page {
    std::vector<double> log_marginals;  // log m₀, as PagePolicy::Marginals().
    std::vector<double> target_marginals;  // log m
    std::vector<double> target_exposures;  // ω by candidate.
    std::vector<double> log_exposures;     // ᾱ by candidate.
  };
  // What one session is to the estimators; in a thread of its own.
  class Sums;

  PageJudge(const PagePolicy* log, const PagePolicy* target,
            const ClickUser* user)
      : log_(log), target_(target), user_(user) {}
  void DescribePages();

  const PagePolicy* log_;
  const PagePolicy* target_;
  const ClickUser* user_;
  Examination examination_;
  PageModel model_;
  std::vector<Page> pages_;
};

}  // namespace sortition
