// Whether click models find the parameters of their own users, and whether
// held-out sessions tell which users there are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/clicks/page_world.h"
#include "bench/clicks/parts.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/shuffle.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_evaluation.h"
#include "core/clicks/click_fitter.h"

namespace sortition {
namespace {

constexpr uint32_t kQueries = 10;
constexpr uint32_t kItemsOfQuery = kPageRanks;
constexpr uint32_t kItems = kQueries * kItemsOfQuery;
constexpr uint32_t kWorldSessions = 20'000;
constexpr uint32_t kHeldOutSessions = 10'000;
constexpr double kPerseverance = 0.9;
// Differences of less than so many standard errors are none: a kind that
// contains the true one predicts as well, but for chance.
constexpr double kDistinct = 2;

// Users of one kind, and what attracts and satisfies them.
struct ModelWorld {
  ClickModel model;
  std::vector<double> attractions;
  std::vector<double> satisfactions;
};

absl::StatusOr<ModelWorld> MakeModelWorld(ClickModelKind kind, uint64_t seed) {
  static const auto& kUsers = *new std::map<ClickModelKind, std::string>{
      {ClickModelKind::kPositionBased, "ultra_pbm"},
      {ClickModelKind::kTrustBias, "ultra_trust"},
      {ClickModelKind::kCascade, "ultra_cascade"},
      {ClickModelKind::kDependentClick, "ultra_dependent_click"},
      {ClickModelKind::kBayesianNetwork, "informational"}};
  ASSIGN_OR_RETURN(const ClickUser user, MakePageUser(kUsers.at(kind)));
  ModelWorld world{.model = user.model, .attractions = {}, .satisfactions = {}};
  if (kind == ClickModelKind::kBayesianNetwork) {
    world.model.perseverance = kPerseverance;
  }
  RandomSequence random(SeedKey(seed, "click models"));
  for (uint32_t i = 0; i < kItems; ++i) {
    world.attractions.push_back(0.1 + 0.6 * random.Uniform());
    world.satisfactions.push_back(0.2 + 0.6 * random.Uniform());
  }
  return world;
}

absl::StatusOr<ClickSessions> DrawSessions(const ModelWorld& world,
                                           uint32_t count, uint64_t seed) {
  ASSIGN_OR_RETURN(ClickSessions sessions, ClickSessions::Create(kItems));
  sessions.Reserve(count, size_t{count} * kPageRanks);
  RandomSequence random(SeedKey(seed, "orders"));
  const Hash128 key = SeedKey(seed, "clicks");
  std::vector<double> attractions(kPageRanks);
  std::vector<double> satisfactions(kPageRanks);
  std::vector<uint8_t> clicks(kPageRanks);
  for (uint32_t i = 0; i < count; ++i) {
    const auto query = static_cast<uint32_t>(random.Below(kQueries));
    std::vector<uint32_t> items = IndexesUpTo<uint32_t>(kItemsOfQuery);
    Shuffle<uint32_t>(items, &random);
    for (size_t r = 0; r < kPageRanks; ++r) {
      items[r] += query * kItemsOfQuery;
      attractions[r] = world.attractions[items[r]];
      satisfactions[r] = world.satisfactions[items[r]];
    }
    SimulateClicks(world.model, {attractions, satisfactions},
                   CounterRandom(key, i), clicks);
    RETURN_IF_ERROR(sessions.Add(items, clicks));
  }
  return sessions;
}

// β_0, which clicks do not tell.
double FirstOffset(const ModelWorld& world) {
  return world.model.kind == ClickModelKind::kTrustBias ? world.model.Offset(0)
                                                        : 0;
}

absl::StatusOr<FittedClicks> FitKind(ClickModelKind kind,
                                     const ClickSessions& sessions,
                                     double first_offset,
                                     uint32_t max_iterations) {
  ClickFitOptions options;
  options.kind = kind;
  options.max_iterations = max_iterations;
  options.first_offset = kind == ClickModelKind::kTrustBias ? first_offset : 0;
  ASSIGN_OR_RETURN(const ClickFitter fitter,
                   ClickFitter::Create(&sessions, options));
  return fitter.Fit();
}

// Sums of absolute errors and of what is true, of one kind of parameter.
class ParameterError {
 public:
  void Add(double estimate, double truth) {
    error_ += std::abs(estimate - truth);
    truth_ += std::abs(truth);
  }
  bool is_used() const { return truth_ > 0; }
  double relative() const { return error_ / truth_; }

 private:
  double error_ = 0;
  double truth_ = 0;
};

// Errors by parameter, in the scale in which clicks tell them: θ_0 = 1, or α_0
// = 1 - β_0.
std::map<std::string, ParameterError> ErrorsOf(const ModelWorld& world,
                                               const FittedClicks& fitted) {
  const ClickModel& truth = world.model;
  const ClickModel& found = fitted.model;
  std::map<std::string, ParameterError> errors;
  double scale = 1;  // Of attractions.
  switch (truth.kind) {
    case ClickModelKind::kPositionBased:
      scale = truth.Examination(0);
      for (size_t r = 0; r < kPageRanks; ++r) {
        errors["examination"].Add(found.Examination(r),
                                  truth.Examination(r) / scale);
      }
      break;
    case ClickModelKind::kTrustBias:
      scale = truth.Slope(0) / (1 - truth.Offset(0));
      for (size_t r = 0; r < kPageRanks; ++r) {
        errors["slope"].Add(found.Slope(r), truth.Slope(r) / scale);
        errors["offset"].Add(found.Offset(r), truth.Offset(r));
      }
      break;
    case ClickModelKind::kDependentClick:
      // Nothing lies below the last rank.
      for (size_t r = 0; r + 1 < kPageRanks; ++r) {
        errors["continuation"].Add(found.Continuation(r),
                                   truth.Continuation(r));
      }
      break;
    case ClickModelKind::kBayesianNetwork:
      errors["perseverance"].Add(found.perseverance, truth.perseverance);
      for (uint32_t i = 0; i < kItems; ++i) {
        errors["satisfaction"].Add(fitted.satisfactions[i],
                                   world.satisfactions[i]);
      }
      break;
    case ClickModelKind::kCascade:
      break;
  }
  for (uint32_t i = 0; i < kItems; ++i) {
    errors["attraction"].Add(fitted.attractions[i],
                             scale * world.attractions[i]);
  }
  return errors;
}

absl::StatusOr<std::vector<Target>> MeasureRecovery(
    const ClicksBenchOptions& options) {
  constexpr uint32_t kIterations = 500;
  const auto kinds = AllClickModelKinds();
  std::vector<std::map<std::string, ParameterError>> errors(kinds.size());
  RETURN_IF_ERROR(RunInParallel(
      kinds.size(), options.threads, [&](size_t k) -> absl::Status {
        ASSIGN_OR_RETURN(const ModelWorld world, MakeModelWorld(kinds[k], 1));
        ASSIGN_OR_RETURN(const ClickSessions sessions,
                         DrawSessions(world, options.recovery, 1));
        ASSIGN_OR_RETURN(
            const FittedClicks fitted,
            FitKind(kinds[k], sessions, FirstOffset(world), kIterations));
        errors[k] = ErrorsOf(world, fitted);
        return absl::OkStatus();
      }));
  absl::PrintF(
      "\nSum of errors over sum of true values, from %d sessions\n\n"
      "| click model | parameter | error |\n|---|---|---|\n",
      options.recovery);
  std::vector<Target> targets;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const std::string name(ClickModelName(kinds[k]));
    double worst = 0;
    for (const auto& [parameter, error] : errors[k]) {
      if (!error.is_used()) continue;
      absl::PrintF("| %s | %s | %.1f %% |\n", name, parameter,
                   100 * error.relative());
      worst = std::max(worst, error.relative());
    }
    targets.push_back(
        {absl::StrCat("click model, largest error of a parameter, ", name),
         worst, 0.05});
  }
  std::fflush(stdout);
  return targets;
}

// Whether a model sees no click that it holds for impossible.
bool IsPossible(const FittedClicks& fitted, const ClickSessions& sessions) {
  return std::isfinite(EvaluateClicks(fitted, sessions).log_likelihood);
}

struct Contest {
  bool is_best = false;      // The true kind has the largest likelihood.
  bool is_unbeaten = false;  // None has a distinctly larger one.
};

absl::StatusOr<Contest> HoldContest(ClickModelKind true_kind, uint64_t seed) {
  constexpr uint32_t kIterations = 200;
  ASSIGN_OR_RETURN(const ModelWorld world, MakeModelWorld(true_kind, seed));
  ASSIGN_OR_RETURN(const ClickSessions train,
                   DrawSessions(world, kWorldSessions, 2 * seed));
  ASSIGN_OR_RETURN(const ClickSessions held_out,
                   DrawSessions(world, kHeldOutSessions, 2 * seed + 1));
  const auto fit = [&](ClickModelKind kind) {
    return FitKind(kind, train, FirstOffset(world), kIterations);
  };
  ASSIGN_OR_RETURN(const FittedClicks right, fit(true_kind));
  if (!IsPossible(right, held_out)) return Contest();
  Contest contest{true, true};
  for (const ClickModelKind kind : AllClickModelKinds()) {
    if (kind == true_kind) continue;
    // A cascade cannot explain sessions with several clicks.
    if (kind == ClickModelKind::kCascade) continue;
    ASSIGN_OR_RETURN(const FittedClicks other, fit(kind));
    if (!IsPossible(other, held_out)) continue;
    const ClickComparison more = CompareClicks(other, right, held_out);
    contest.is_best = contest.is_best && more.difference <= 0;
    contest.is_unbeaten = contest.is_unbeaten &&
                          more.difference <= kDistinct * more.standard_error;
  }
  return contest;
}

absl::StatusOr<std::vector<Target>> MeasureContests(
    const ClicksBenchOptions& options) {
  const auto kinds = AllClickModelKinds();
  const auto worlds = static_cast<size_t>(options.worlds);
  std::vector<Contest> contests(kinds.size() * worlds);
  RETURN_IF_ERROR(RunInParallel(
      contests.size(), options.threads, [&](size_t i) -> absl::Status {
        constexpr uint64_t kFirstSeed = 100;
        ASSIGN_OR_RETURN(contests[i], HoldContest(kinds[i / worlds],
                                                  kFirstSeed + i % worlds));
        return absl::OkStatus();
      }));
  absl::PrintF(
      "\nWorlds in which held-out sessions are likeliest under the true click "
      "model, of %d; and in which no other is more than two standard errors "
      "ahead\n\n| true click model | likeliest | unbeaten |\n|---|---|---|\n",
      options.worlds);
  std::vector<Target> targets;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const auto own = std::span(contests).subspan(k * worlds, worlds);
    const auto best =
        std::ranges::count_if(own, [](const Contest& c) { return c.is_best; });
    const auto unbeaten = std::ranges::count_if(
        own, [](const Contest& c) { return c.is_unbeaten; });
    const std::string name(ClickModelName(kinds[k]));
    absl::PrintF("| %s | %d | %d |\n", name, best, unbeaten);
    targets.push_back(
        {absl::StrCat("click model, share of worlds in which it is unbeaten, ",
                      name),
         static_cast<double>(unbeaten) / static_cast<double>(worlds), 0.9,
         true});
  }
  std::fflush(stdout);
  return targets;
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureClickModels(
    const ClicksBenchOptions& options) {
  ASSIGN_OR_RETURN(std::vector<Target> targets, MeasureRecovery(options));
  ASSIGN_OR_RETURN(std::vector<Target> more, MeasureContests(options));
  AppendTargets(std::move(more), &targets);
  return targets;
}

}  // namespace sortition
