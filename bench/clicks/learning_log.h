#pragma once
// A log of sessions as learners of rankings take it.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "bench/clicks/page_sessions.h"
#include "bench/clicks/page_world.h"
#include "core/learners/rankings/exposures.h"
#include "core/learners/rankings/ranked_tuple.h"

namespace sortition {

// The features of all pages, which many tuples share.
class PageStore : public FeatureStore {
 public:
  explicit PageStore(std::span<const LabelledItems> pages);

  void Read(uint64_t offset, void* data, size_t size) const override;
  // Where tuples find the features of a page.
  StoredFeatures FeaturesOf(size_t page) const;

 private:
  std::vector<float> values_;
  std::vector<size_t> begins_;  // Of each page, and the end.
};

// Sessions with their clicks by rank as losses, and the same sessions summed up
// by page, as objectives of exposure take them.
struct LearningLog {
  LinearFamily family;
  std::vector<BanditTuple> tuples;  // A session each.
  std::vector<RankedTuple> ranks;
  std::vector<size_t> tuple_pages;  // The page of each among all pages.

  // Pages that were asked for: how often, and by candidate the mean over their
  // sessions of clicks over the exposure e(0) that the log gave.
  std::vector<BanditTuple> pages;
  std::vector<double> page_weights;
  std::vector<std::vector<double>> gains;
  std::vector<std::vector<double>> exposures;  // e(0)

  RankedLog view() const { return {family, tuples, ranks}; }
  // For users who look at rank k with probability discounts[k].
  ExposureProblem problem(std::span<const double> discounts) const;
};

// Draws the log of that seed. Requires a user who does not read on. The result
// views `store`, that of the log's pages. Without `by_session` it has pages
// alone.
LearningLog DrawLearningLog(const PagePolicy& log, const ClickUser& user,
                            const PageStore& store, uint32_t sessions,
                            uint64_t seed, bool by_session);

// How often users look at each rank of a page.
std::vector<double> PageDiscounts(const ClickUser& user);

}  // namespace sortition
