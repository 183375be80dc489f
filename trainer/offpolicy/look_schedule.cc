#include "trainer/offpolicy/look_schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "io/models/look_ledger.h"

namespace sortition {
namespace {

// Share of the distance between estimate and bound that luck may make up for.
constexpr double kTolerance = 0.2;
// Effective tuples of the test part, at least, for a look that is likely to
// pass.
constexpr double kMinEffective = 100;

// Returns the number of test tuples that the last look did not have.
uint64_t NumNew(const model::v1::Look& last, const TupleCounts& counts,
                uint64_t num_test) {
  const uint64_t growth =
      num_test > last.test_tuples() ? num_test - last.test_tuples() : 0;
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, last.time(), &time, &error)) {
    return growth;
  }
  const int64_t last_us = absl::ToUnixMicros(time);
  const auto newer =
      std::count_if(counts.test_times_us.begin(), counts.test_times_us.end(),
                    [&](int64_t time_us) { return time_us > last_us; });
  return std::max(growth, static_cast<uint64_t>(newer));
}

// Returns with how many test tuples look `number` would probably pass, if the
// validation part is right; 0: none would do. A bound is about √(2 ln(1/α) / n)
// standard deviations below the estimate, α the failure probability.
uint64_t LikelyTuples(const config::v1::TrainOptions& options, uint64_t number,
                      const LookSizes& sizes,
                      const model::v1::Estimate& improvement) {
  if (!(improvement.value() > 0)) return 0;
  const double failure = (1 - options.confidence()) / 2;
  const double distance =
      (1 - kTolerance) * (improvement.value() - improvement.lower());
  const double factor = std::pow(distance / improvement.value(), 2) *
                        std::log(failure * ShareOfLook(number)) /
                        std::log(failure);
  const double effective = kMinEffective / sizes.effective_validation;
  constexpr double kMaxTuples = 1e18;
  return static_cast<uint64_t>(
      std::fmin(kMaxTuples, std::ceil(std::fmax(factor, effective) *
                                      static_cast<double>(sizes.validation))));
}

}  // namespace

std::optional<config::v1::TrainReport::DeferredLook> DeferLook(
    const config::v1::TrainOptions& options, const TupleCounts& counts,
    const LookSizes& sizes, const model::v1::Estimate& validation_improvement) {
  std::optional<config::v1::TrainReport::DeferredLook> deferred;
  if (options.look_now()) return deferred;
  // Who notes the look reports a ledger that cannot be read.
  const std::optional<model::v1::Look> last =
      LookLedger(options.model_store(), options.model())
          .Last(counts.baseline_version)
          .value_or(std::nullopt);
  config::v1::TrainReport::DeferredLook look;
  look.set_look(last.has_value() ? last->number() : 0);
  look.set_new_tuples(sizes.test);
  look.set_needed_tuples(0);
  if (last.has_value()) {
    look.set_new_tuples(NumNew(*last, counts, sizes.test));
    look.set_needed_tuples(static_cast<uint64_t>(
        std::fmax(1, std::ceil((options.look_growth() - 1) *
                               static_cast<double>(last->test_tuples())))));
    if (look.new_tuples() < look.needed_tuples()) return look;
  }
  if (!options.look_when_likely()) return deferred;
  const uint64_t likely =
      LikelyTuples(options, look.look() + 1, sizes, validation_improvement);
  if (likely > 0 && sizes.test >= likely) return deferred;
  look.set_likely_tuples(likely);
  return look;
}

}  // namespace sortition
