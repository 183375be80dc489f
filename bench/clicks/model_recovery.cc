// Whether click models find the parameters of their own users, and whether
// held-out sessions tell which users there are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
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
#include "core/clicks/click_intervals.h"

namespace sortition {
namespace {

constexpr uint32_t kQueries = 10;
constexpr uint32_t kItemsOfQuery = kPageRanks;
constexpr uint32_t kItems = kQueries * kItemsOfQuery;
constexpr uint32_t kWorldSessions = 5'000;
constexpr uint32_t kHeldOutSessions = 50'000;
constexpr double kPerseverance = 0.9;
// Differences of less than so many standard errors are none: a kind that
// contains the true one predicts as well, but for chance.
constexpr double kDistinct = 2;
// A normal variable is within one standard error with this probability.
constexpr double kOneStandardError = 0.6826894921370859;

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

// What is fitted to users: α_0 and β_0, which clicks do not tell, are given.
ClickFitOptions FitOptionsFor(ClickModelKind kind, const ModelWorld& world) {
  ClickFitOptions options;
  options.kind = kind;
  if (kind == ClickModelKind::kTrustBias &&
      world.model.kind == ClickModelKind::kTrustBias) {
    options.first_offset = world.model.Offset(0);
    options.first_slope = world.model.Slope(0);
  }
  return options;
}

absl::StatusOr<FittedClicks> FitKind(ClickModelKind kind,
                                     const ModelWorld& world,
                                     const ClickSessions& sessions,
                                     uint32_t max_iterations) {
  ClickFitOptions options = FitOptionsFor(kind, world);
  options.max_iterations = max_iterations;
  ASSIGN_OR_RETURN(const ClickFitter fitter,
                   ClickFitter::Create(&sessions, options));
  return fitter.Fit();
}

// Sums of absolute errors and of what is true, of one kind of parameter; and of
// the errors that the information in the sessions lets one expect.
class ParameterError {
 public:
  void Add(double estimate, double truth) {
    error_ += std::abs(estimate - truth);
    truth_ += std::abs(truth);
  }
  // Of a normal estimate with that standard error.
  void Expect(double standard_error) {
    expected_ += std::sqrt(2 / std::numbers::pi) * standard_error;
  }
  bool is_used() const { return truth_ > 0; }
  double relative() const { return error_ / truth_; }
  bool is_expected() const { return expected_ > 0; }
  double expected() const { return expected_ / truth_; }

 private:
  double error_ = 0;
  double truth_ = 0;
  double expected_ = 0;
};

// Adds errors by parameter, in the scale in which clicks tell them: θ_0 = 1.
void AddErrorsOf(const ModelWorld& world, const FittedClicks& fitted,
                 std::map<std::string, ParameterError>* sums) {
  const ClickModel& truth = world.model;
  const ClickModel& found = fitted.model;
  std::map<std::string, ParameterError>& errors = *sums;
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
      for (size_t r = 0; r < kPageRanks; ++r) {
        errors["slope"].Add(found.Slope(r), truth.Slope(r));
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
}

// Adds what errors of the ranks' parameters the sessions let one expect.
absl::Status ExpectErrors(const ModelWorld& world,
                          const ClickSessions& sessions,
                          const FittedClicks& fitted,
                          std::map<std::string, ParameterError>* errors) {
  const ClickModelKind kind = world.model.kind;
  if (kind != ClickModelKind::kPositionBased &&
      kind != ClickModelKind::kTrustBias) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const ClickFitter fitter,
                   ClickFitter::Create(&sessions, FitOptionsFor(kind, world)));
  ASSIGN_OR_RETURN(
      const std::vector<ClickInterval> intervals,
      InformationClickIntervals(fitter, fitted, kOneStandardError));
  for (const ClickInterval& interval : intervals) {
    const std::string name(ClickParameterName(interval.parameter.kind));
    (*errors)[name].Expect((interval.upper - interval.lower) / 2);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, ParameterError>> ErrorsOfWorlds(
    ClickModelKind kind, uint32_t num_sessions) {
  constexpr uint32_t kIterations = 500;
  constexpr uint64_t kWorlds = 5;
  std::map<std::string, ParameterError> errors;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    ASSIGN_OR_RETURN(const ModelWorld world, MakeModelWorld(kind, seed));
    ASSIGN_OR_RETURN(const ClickSessions sessions,
                     DrawSessions(world, num_sessions, seed));
    ASSIGN_OR_RETURN(const FittedClicks fitted,
                     FitKind(kind, world, sessions, kIterations));
    AddErrorsOf(world, fitted, &errors);
    RETURN_IF_ERROR(ExpectErrors(world, sessions, fitted, &errors));
  }
  return errors;
}

absl::StatusOr<std::vector<Target>> MeasureRecovery(
    const ClicksBenchOptions& options) {
  const auto kinds = AllClickModelKinds();
  std::vector<std::map<std::string, ParameterError>> errors(kinds.size());
  RETURN_IF_ERROR(RunInParallel(
      kinds.size(), options.threads, [&](size_t k) -> absl::Status {
        ASSIGN_OR_RETURN(errors[k], ErrorsOfWorlds(kinds[k], options.recovery));
        return absl::OkStatus();
      }));
  absl::PrintF(
      "\nSum of errors over sum of true values, five worlds, from %d sessions "
      "each; and what the information in them lets one expect\n\n| click "
      "model | parameter | error | expected |\n|---|---|---|---|\n",
      options.recovery);
  std::vector<Target> targets;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const std::string name(ClickModelName(kinds[k]));
    double worst = 0;
    for (const auto& [parameter, error] : errors[k]) {
      if (!error.is_used()) continue;
      absl::PrintF("| %s | %s | %.1f %% | %s |\n", name, parameter,
                   100 * error.relative(),
                   error.is_expected()
                       ? absl::StrFormat("%.1f %%", 100 * error.expected())
                       : "");
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
  bool is_best = false;      // The true kind has the largest likelihood,
                             // or less than a nat less, over all sessions.
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
    return FitKind(kind, world, train, kIterations);
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
    contest.is_best = contest.is_best && more.difference * kHeldOutSessions < 1;
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
      "model, to a nat, of %d; and in which no other is more than two standard "
      "errors ahead\n\n| true click model | likeliest | unbeaten "
      "|\n|---|---|---|\n",
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
        {absl::StrCat("click model, share of worlds in which it is likeliest, ",
                      name),
         static_cast<double>(best) / static_cast<double>(worlds), 0.9, true});
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
