#pragma once
// Worlds with known parameters, whose users click in random rankings.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/clicks/click_fitter.h"
#include "core/clicks/click_sessions.h"
#include "core/clicks/fitted_clicks.h"
#include "gtest/gtest.h"

namespace sortition {

// The items and the clicks of one session.
using Items = std::vector<uint32_t>;
using Clicks = std::vector<uint8_t>;

// Some model of each kind.
inline ClickModel ExampleModel(ClickModelKind kind) {
  ClickModel model;
  model.kind = kind;
  switch (kind) {
    case ClickModelKind::kPositionBased:
      model.examination = {1, .8, .6, .45, .35, .3, .25, .2, .17, .15};
      break;
    case ClickModelKind::kTrustBias:
      // Trust falls with the rank; β / α would else be position bias.
      model.offsets = {.3, .12, .06, .04, .03, .02, .015, .01, .01, .01};
      model.slopes = {.7, .65, .56, .48, .42, .36, .3, .26, .22, .2};
      break;
    case ClickModelKind::kCascade:
      break;
    case ClickModelKind::kDependentClick:
      model.continuations = {.9, .8, .7, .6, .55, .5, .45, .4, .35, .3};
      break;
    case ClickModelKind::kBayesianNetwork:
      model.perseverance = .85;
      break;
  }
  return model;
}

inline ClickFitOptions OptionsFor(ClickModelKind kind) {
  ClickFitOptions options;
  options.kind = kind;
  options.max_iterations = 3000;
  if (kind == ClickModelKind::kTrustBias) options.first_offset = .3;
  return options;
}

inline FittedClicks FitClicks(const ClickSessions& sessions,
                              const ClickFitOptions& options,
                              const ClickFeatures& features = {}) {
  return ClickFitter::Create(&sessions, options, features)
      .value()
      .Fit()
      .value();
}

inline std::string NameOfKind(
    const ::testing::TestParamInfo<ClickModelKind>& test) {
  return std::string(ClickModelName(test.param));
}

struct ClickWorld {
  FittedClicks truth;
  uint32_t items_per_query = 10;
};

// Queries with 10 items each, whose attractions and satisfactions are spread
// over [0.05, 0.7] and [0.1, 0.9].
inline ClickWorld MakeClickWorld(const ClickModel& model, uint32_t queries) {
  ClickWorld world;
  world.truth.model = model;
  const uint32_t items = queries * world.items_per_query;
  for (uint32_t i = 0; i < items; ++i) {
    const double a = std::fmod(.618034 * (i + 1), 1);
    const double s = std::fmod(.414214 * (i + 1), 1);
    world.truth.attractions.push_back(.05 + .65 * a);
    if (model.kind != ClickModelKind::kBayesianNetwork) continue;
    world.truth.satisfactions.push_back(.1 + .8 * s);
  }
  return world;
}

// Draws sessions of `ranks` ranks: a random query, its items in random order.
inline ClickSessions DrawSessions(const ClickWorld& world, size_t num_sessions,
                                  size_t ranks, uint64_t seed) {
  const auto num_items = static_cast<uint32_t>(world.truth.attractions.size());
  ClickSessions sessions = *ClickSessions::Create(num_items);
  RandomSequence random(SeedKey(seed));
  std::vector<uint32_t> items(world.items_per_query);
  std::vector<double> attractions(ranks);
  std::vector<double> satisfactions(ranks);
  std::vector<uint8_t> clicks(ranks);
  for (size_t s = 0; s < num_sessions; ++s) {
    const uint64_t query = random.Below(num_items / world.items_per_query);
    std::iota(items.begin(), items.end(),
              static_cast<uint32_t>(query) * world.items_per_query);
    for (size_t r = 0; r < ranks; ++r) {
      std::swap(items[r], items[r + random.Below(items.size() - r)]);
      attractions[r] = world.truth.attractions[items[r]];
      if (world.truth.satisfactions.empty()) continue;
      satisfactions[r] = world.truth.satisfactions[items[r]];
    }
    SimulateClicks(world.truth.model, {attractions, satisfactions},
                   CounterRandom(SeedKey(seed), static_cast<uint32_t>(s + 1)),
                   clicks);
    CHECK(sessions.Add({items.data(), ranks}, clicks).ok());
  }
  return sessions;
}

}  // namespace sortition
