#include "bench/clicks/learning_log.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace sortition {
namespace {

// Marginals need not be better than this to learn from.
constexpr double kTolerance = 1e-6;

BanditTuple TupleOf(const PageStore& store, uint32_t num_features,
                    size_t page) {
  BanditTuple tuple;
  tuple.stored = store.FeaturesOf(page);
  tuple.num_features = num_features;
  return tuple;
}

// Sums by page while a log is drawn.
struct PageClicks {
  std::vector<double> gains;
  uint32_t sessions = 0;
};

void AddPages(const PageStore& store, uint32_t num_features,
              std::vector<PageClicks> clicks,
              std::vector<std::vector<double>> exposures, LearningLog* log) {
  for (size_t p = 0; p < clicks.size(); ++p) {
    if (clicks[p].sessions == 0) continue;
    const double sessions = clicks[p].sessions;
    BanditTuple& tuple =
        log->pages.emplace_back(TupleOf(store, num_features, p));
    tuple.action.resize(kPageRanks);
    std::iota(tuple.action.begin(), tuple.action.end(), 0);
    log->page_weights.push_back(sessions);
    log->gains.push_back(Times(1 / sessions, std::move(clicks[p].gains)));
    log->exposures.push_back(std::move(exposures[p]));
  }
}

}  // namespace

PageStore::PageStore(std::span<const LabelledItems> pages) {
  for (const LabelledItems& page : pages) {
    begins_.push_back(values_.size());
    const std::span<const float> values = page.items.values();
    values_.insert(values_.end(), values.begin(), values.end());
  }
  begins_.push_back(values_.size());
}

void PageStore::Read(uint64_t offset, void* data, size_t size) const {
  std::memcpy(data, values_.data() + offset / sizeof(float), size);
}

StoredFeatures PageStore::FeaturesOf(size_t page) const {
  StoredFeatures stored;
  stored.store = this;
  stored.offset = begins_[page] * sizeof(float);
  stored.num_values = static_cast<uint32_t>(begins_[page + 1] - begins_[page]);
  return stored;
}

ExposureProblem LearningLog::problem(std::span<const double> discounts) const {
  return {.family = family,
          .tuples = pages,
          .discounts = {discounts.begin(), discounts.end()},
          .weights = page_weights,
          .tolerance = kTolerance};
}

std::vector<double> PageDiscounts(const ClickUser& user) {
  std::vector<double> discounts;
  for (size_t k = 0; k < kPageRanks; ++k) {
    discounts.push_back(user.model.Examination(k));
  }
  return discounts;
}

LearningLog DrawLearningLog(const PagePolicy& log, const ClickUser& user,
                            const PageStore& store, uint32_t sessions,
                            uint64_t seed, bool by_session) {
  const uint32_t num_features = log.pages()[0].items.num_features();
  const std::vector<double> discounts = PageDiscounts(user);
  const std::vector<std::vector<double>> marginals = log.Marginals();
  LearningLog drawn;
  drawn.family = {.action_kind = ActionKind::kRank,
                  .num_features = num_features,
                  .uniform_mixture = kPageMixture};
  std::vector<PageClicks> clicks(log.size());
  std::vector<std::vector<double>> exposures(log.size());
  for (size_t p = 0; p < log.size(); ++p) {
    const size_t n = log.num_candidates(p);
    clicks[p].gains.assign(n, 0);
    exposures[p].assign(n, 0);
    for (size_t k = 0; k < kPageRanks; ++k) {
      for (size_t d = 0; d < n; ++d) {
        exposures[p][d] += discounts[k] * marginals[p][k * n + d];
      }
    }
  }
  SessionSource source(&log, &user, seed);
  PageSession session;
  for (uint32_t i = 0; i < sessions; ++i) {
    source.Next(i, &session);
    const size_t p = session.page;
    const size_t n = log.num_candidates(p);
    ++clicks[p].sessions;
    RankedTuple ranks;
    for (size_t k = 0; k < kPageRanks; ++k) {
      const auto d = static_cast<size_t>(session.draw.action[k]);
      if (session.clicks[k] != 0) clicks[p].gains[d] += 1 / exposures[p][d];
      if (!by_session) continue;
      ranks.losses.push_back(session.clicks[k] != 0 ? -1 : 0);
      ranks.log_conditionals.push_back(
          std::min(session.draw.conditional_log_propensities[k], 0.0));
      ranks.log_marginals.push_back(std::log(marginals[p][k * n + d]));
    }
    if (!by_session) continue;
    BanditTuple& tuple =
        drawn.tuples.emplace_back(TupleOf(store, num_features, p));
    tuple.action = session.draw.action;
    tuple.log_propensity = session.draw.log_propensity;
    tuple.unit = SessionUnit(i);
    drawn.ranks.push_back(std::move(ranks));
    drawn.tuple_pages.push_back(p);
  }
  AddPages(store, num_features, std::move(clicks), std::move(exposures),
           &drawn);
  return drawn;
}

}  // namespace sortition
