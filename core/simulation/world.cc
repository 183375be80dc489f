#include "core/simulation/world.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxGoodAnswers = 2;
constexpr double kGoodQualitySpread = 0.45;
// Multiples of it are exact in binary and short in LETOR text.
constexpr double kFeatureStep = 1.0 / 64;

Hash128 WorldKey(const config::v1::WorldOptions& options,
                 const std::string& part) {
  return StableHash(HashDomain::kSimulation,
                    {"world", absl::StrCat(options.seed()), part});
}

// Draws a standard normal number conditional on being at most kPoorQuality.
double PoorQuality(RandomSequence* random) {
  while (true) {
    const double quality = random->Normal();
    if (quality <= internal::kPoorQuality) return quality;
  }
}

double GoodQuality(RandomSequence* random) {
  return internal::kGoodQuality +
         kGoodQualitySpread * std::fabs(random->Normal());
}

uint32_t Relevance(double quality) {
  if (quality >= internal::kGreatQuality) return 2;
  return quality >= internal::kGoodQuality ? 1 : 0;
}

// Appends one row x with w·x = `target` that is standard normal orthogonally to
// w.
void AppendFeatures(const std::vector<double>& weights, double target,
                    RandomSequence* random, std::vector<float>* features) {
  std::vector<double> row(weights.size());
  double projection = 0;
  for (size_t j = 0; j < row.size(); ++j) {
    row[j] = random->Normal();
    projection += weights[j] * row[j];
  }
  for (size_t j = 0; j < row.size(); ++j) {
    row[j] += (target - projection) * weights[j];
    features->push_back(
        static_cast<float>(std::round(row[j] / kFeatureStep) * kFeatureStep));
  }
}

// Returns the query with the number `index`.
LabelledQuery MakeQuery(const config::v1::WorldOptions& options,
                        const std::vector<double>& weights, uint32_t index) {
  RandomSequence random(WorldKey(options, absl::StrCat("query ", index)));
  const uint32_t spread =
      options.max_candidates() - options.min_candidates() + 1;
  const uint32_t num_candidates =
      options.min_candidates() + static_cast<uint32_t>(random.Below(spread));
  const bool answerable = random.Uniform() >= options.unanswerable();
  const uint32_t num_good =
      answerable ? 1 + static_cast<uint32_t>(random.Below(
                           std::min(kMaxGoodAnswers, num_candidates - 1)))
                 : 0;
  std::vector<bool> good(num_candidates, false);
  for (uint32_t placed = 0; placed < num_good;) {
    const uint64_t document_index = random.Below(num_candidates);
    if (good[document_index]) continue;
    good[document_index] = true;
    ++placed;
  }
  LabelledQuery query;
  query.id = absl::StrCat(index + 1);
  query.features.reserve(num_candidates * weights.size());
  for (uint32_t i = 0; i < num_candidates; ++i) {
    const double quality =
        good[i] ? GoodQuality(&random) : PoorQuality(&random);
    query.relevances.push_back(Relevance(quality));
    AppendFeatures(weights, quality + internal::kQualityNoise * random.Normal(),
                   &random, &query.features);
  }
  return query;
}

}  // namespace

namespace internal {

std::vector<double> HiddenWeights(const config::v1::WorldOptions& options) {
  const uint32_t d = options.features();
  const uint32_t informative = std::max(1u, d - (2 * d) / 5);
  RandomSequence random(WorldKey(options, "weights"));
  std::vector<double> weights(d, 0.0);
  double squares = 0;
  for (uint32_t j = 0; j < informative; ++j) {
    // The weights have either sign and are not close to 0, so that each
    // informative feature matters.
    const double size = 0.4 + random.Uniform();
    weights[j] = random.Uniform() < 0.5 ? -size : size;
    squares += size * size;
  }
  for (double& weight : weights) weight /= std::sqrt(squares);
  return weights;
}

}  // namespace internal

absl::StatusOr<LabelledQueries> MakeWorld(
    const config::v1::WorldOptions& options) {
  if (options.min_candidates() > options.max_candidates()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_candidates is ", options.min_candidates(),
        ", must be in [2, max_candidates = ", options.max_candidates(), "]"));
  }
  const std::vector<double> weights = internal::HiddenWeights(options);
  LabelledQueries world;
  world.num_features = options.features();
  world.queries.reserve(options.queries());
  for (uint32_t i = 0; i < options.queries(); ++i) {
    world.queries.push_back(MakeQuery(options, weights, i));
  }
  return world;
}

}  // namespace sortition
