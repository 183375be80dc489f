#include "bench/ope/tabular_world.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bench/support/shuffle.h"
#include "core/base/hash.h"
#include "core/base/random.h"

namespace sortition {
namespace {

struct Visit {
  uint32_t unit;
  uint64_t liked;
};

// Returns who asks, in the order of time.
std::vector<Visit> DrawVisits(const TabularWorld& world, const LogShape& shape,
                              RandomSequence* random) {
  std::vector<Visit> visits;
  for (uint32_t unit = 0; unit < shape.num_units; ++unit) {
    const size_t kind = random->Below(shape.unit_sizes.size());
    const bool is_largest = kind > 0 && kind + 1 == shape.unit_sizes.size();
    const uint64_t liked = is_largest ? 0 : random->Below(world.front().size());
    visits.insert(visits.end(), shape.unit_sizes[kind], {unit, liked});
  }
  Shuffle<Visit>(visits, random);
  return visits;
}

// What a policy earns with units of one size.
double ValueOf(const TabularWorld& world, const LogShape& shape,
               bool is_largest, double WorldAction::*policy) {
  double sum = 0;
  for (const WorldContext& context : world) {
    for (size_t a = 0; a < context.size(); ++a) {
      const WorldAction& action = context[a];
      const double chance = 1 / static_cast<double>(context.size());
      const double likes = is_largest ? (a == 0 ? 1 : 0) : chance;
      const double mean = (action.reward + action.late_reward) / 2;
      sum += action.*policy * ((1 - shape.taste) * mean + shape.taste * likes);
    }
  }
  return sum / static_cast<double>(world.size());
}

LoggedDecision DrawDecision(const WorldContext& context, double time,
                            double taste, uint64_t liked,
                            RandomSequence* random) {
  double left = random->Uniform();
  size_t a = 0;
  while (a + 1 < context.size() && left >= context[a].logging) {
    left -= context[a++].logging;
  }
  const WorldAction& action = context[a];
  const double mean =
      action.reward + time * (action.late_reward - action.reward);
  const double chance = (1 - taste) * mean + taste * (a == liked ? 1 : 0);
  LoggedDecision decision;
  decision.reward = random->Uniform() < chance ? 1 : 0;
  decision.judged.log_weight = std::log(action.target / action.logging);
  decision.judged.modelled_logged = action.model;
  for (const WorldAction& other : context) {
    decision.judged.modelled_policy += other.target * other.model;
  }
  return decision;
}

}  // namespace

std::vector<LoggedDecision> DrawLog(const TabularWorld& world,
                                    const LogShape& shape, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  const std::vector<Visit> visits = DrawVisits(world, shape, &random);
  std::vector<LoggedDecision> log;
  log.reserve(visits.size());
  for (size_t i = 0; i < visits.size(); ++i) {
    const WorldContext& context = world[random.Below(world.size())];
    const double time =
        (static_cast<double>(i) + 0.5) / static_cast<double>(visits.size());
    LoggedDecision decision =
        DrawDecision(context, time, shape.taste, visits[i].liked, &random);
    if (random.Uniform() < shape.censored) continue;
    decision.unit_number = visits[i].unit;
    decision.unit = UnitKey(absl::StrCat(seed, "/", visits[i].unit), "");
    log.push_back(decision);
  }
  return log;
}

Truth TruthOf(const TabularWorld& world, const LogShape& shape) {
  const double most =
      std::max(1.0, std::sqrt(static_cast<double>(shape.num_units)) / 2);
  Truth truth;
  double count = 0;
  for (size_t kind = 0; kind < shape.unit_sizes.size(); ++kind) {
    const bool is_largest = kind > 0 && kind + 1 == shape.unit_sizes.size();
    const double share =
        std::min(static_cast<double>(shape.unit_sizes[kind]), most);
    truth.value +=
        share * ValueOf(world, shape, is_largest, &WorldAction::target);
    truth.logged +=
        share * ValueOf(world, shape, is_largest, &WorldAction::logging);
    count += share;
  }
  truth.value /= count;
  truth.logged /= count;
  return truth;
}

}  // namespace sortition
