// How many sessions the gate needs to pass a policy that is 5 % better, with
// weights of whole orders and of the ranks that users read.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/clicks/page_sessions.h"
#include "bench/clicks/page_world.h"
#include "bench/clicks/parts.h"
#include "bench/support/parallel_runs.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "core/learners/rankings/prefix_law.h"

namespace sortition {
namespace {

constexpr double kImprovement = 0.05;
constexpr double kConfidence = 0.95;
constexpr double kPower = 0.8;
constexpr double kFewest = 200;
constexpr double kGrowth = 1.15;
constexpr uint32_t kCoverageSessions = 2000;
constexpr uint64_t kTruthSeed = 11;

// What a click at each rank is worth: its reciprocal.
std::vector<double> Worths() {
  std::vector<double> worths;
  for (size_t k = 0; k < kPageRanks; ++k) {
    worths.push_back(1 / static_cast<double>(k + 1));
  }
  return worths;
}

// The two weights of a log.
enum class GateWeight { kWholeOrder, kReadPrefix };

struct GateLog {
  std::vector<float> rewards;  // In [0, 1].
  std::vector<float> whole;    // log ρ of ten ranks,
  std::vector<float> read;     // and of those that were read.
};

Interval JudgeGate(const GateLog& log, GateWeight weight, size_t size) {
  const std::vector<float>& weights =
      weight == GateWeight::kWholeOrder ? log.whole : log.read;
  const std::vector<double> rewards(
      log.rewards.begin(), log.rewards.begin() + static_cast<ptrdiff_t>(size));
  const std::vector<double> log_weights(
      weights.begin(), weights.begin() + static_cast<ptrdiff_t>(size));
  std::vector<uint64_t> units;
  for (size_t i = 0; i < size; ++i) {
    units.push_back(SessionUnit(static_cast<uint32_t>(i)));
  }
  return EstimateImprovement(
      {.rewards = rewards, .log_weights = log_weights, .units = units},
      kConfidence);
}

GateLog DrawGateLog(const PagePolicy& log, const PagePolicy& target,
                    const ClickUser& user, uint32_t size, uint64_t seed) {
  SessionSource source(&log, &user, seed);
  PageSession session;
  PrefixLaw law(kPageMixture);
  const std::vector<double> worths = Worths();
  GateLog drawn;
  for (uint32_t i = 0; i < size; ++i) {
    source.Next(i, &session);
    law.Evaluate(target.scores(session.page), session.draw.action);
    double logged = 0;
    double read = 0;
    double reward = 0;
    for (size_t k = 0; k < kPageRanks; ++k) {
      logged += session.draw.conditional_log_propensities[k];
      // A cascade user clicks once.
      if (session.clicks[k] != 0) reward = worths[k];
      if (k + 1 == session.num_read) {
        read = law.log_prefix(session.num_read) - logged;
      }
    }
    drawn.rewards.push_back(static_cast<float>(reward));
    drawn.whole.push_back(
        static_cast<float>(law.log_prefix(kPageRanks) - logged));
    drawn.read.push_back(static_cast<float>(read));
  }
  return drawn;
}

// Returns the policy on the way from the scores of one to those of another, and
// as far beyond it, at which it earns so much more. FailedPrecondition if there
// is none.
absl::StatusOr<PagePolicy> WithGain(const PagePolicy& log,
                                    const std::vector<double>& target,
                                    const ClickUser& user) {
  constexpr int kDraws = 300;
  const auto at = [&](double step) {
    std::vector<double> weights = log.weights();
    for (size_t j = 0; j < weights.size(); ++j) {
      weights[j] += step * (target[j] - weights[j]);
    }
    return PagePolicy(log.pages(), std::move(weights));
  };
  const auto clicks_at = [&](double step) {
    return TruthOf(at(step), user, kDraws, kTruthSeed, Worths()).clicks;
  };
  const double wanted = (1 + kImprovement) * clicks_at(0);
  double low = 0;
  double high = 0.5;
  while (clicks_at(high) < wanted) {
    low = high;
    high *= 2;
    if (high > 8) {
      return absl::FailedPreconditionError(
          "no policy on the way is 5 % better than the one that logs");
    }
  }
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    (clicks_at(middle) < wanted ? low : high) = middle;
  }
  return at(high);
}

size_t SizeAt(int step) {
  return static_cast<size_t>(kFewest * std::pow(kGrowth, step));
}

// The fewest sessions with which four fifths of the logs pass, within 15 %, and
// whether that many were there.
struct Needed {
  size_t sessions = 0;
  bool is_reached = false;
};

absl::StatusOr<Needed> SessionsNeeded(const std::vector<GateLog>& logs,
                                      GateWeight weight, int threads) {
  const size_t most = logs.front().rewards.size();
  std::vector<uint8_t> passes(logs.size());
  const auto has_power = [&](size_t size) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(RunInParallel(logs.size(), threads, [&](size_t log) {
      passes[log] = JudgeGate(logs[log], weight, size).lower > 0 ? 1 : 0;
      return absl::OkStatus();
    }));
    const auto passed = std::count(passes.begin(), passes.end(), 1);
    return static_cast<double>(passed) >=
           kPower * static_cast<double>(logs.size());
  };
  ASSIGN_OR_RETURN(const bool is_reached, has_power(most));
  if (!is_reached) return Needed{most, false};
  int low = -1;
  int high = 0;
  while (SizeAt(high) < most) ++high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    ASSIGN_OR_RETURN(const bool passed, has_power(SizeAt(middle)));
    (passed ? high : low) = middle;
  }
  return Needed{std::min(SizeAt(high), most), true};
}

// The shares of short logs whose interval holds the truth, by weight.
absl::StatusOr<std::vector<double>> CoverageOf(
    const PagePolicy& log, const PagePolicy& target, const ClickUser& user,
    double gain, const ClicksBenchOptions& options) {
  const auto runs = static_cast<size_t>(options.coverage_runs);
  std::vector<uint8_t> whole(runs);
  std::vector<uint8_t> read(runs);
  RETURN_IF_ERROR(RunInParallel(runs, options.threads, [&](size_t run) {
    constexpr uint64_t kFirstSeed = 1'000'000;
    const GateLog drawn =
        DrawGateLog(log, target, user, kCoverageSessions, kFirstSeed + run);
    const auto holds = [&](GateWeight weight) -> uint8_t {
      const Interval interval = JudgeGate(drawn, weight, kCoverageSessions);
      return interval.lower <= gain && gain <= interval.upper ? 1 : 0;
    };
    whole[run] = holds(GateWeight::kWholeOrder);
    read[run] = holds(GateWeight::kReadPrefix);
    return absl::OkStatus();
  }));
  std::vector<double> shares;
  for (const auto* held : {&whole, &read}) {
    shares.push_back(
        static_cast<double>(std::count(held->begin(), held->end(), 1)) /
        static_cast<double>(runs));
  }
  return shares;
}

std::string SessionsText(const Needed& needed) {
  return absl::StrCat(needed.is_reached ? "" : "> ", needed.sessions);
}

absl::StatusOr<std::vector<Target>> MeasureLogger(
    const std::string& name, const PagePolicy& log,
    const std::vector<double>& skyline, const ClickUser& user,
    const ClicksBenchOptions& options) {
  ASSIGN_OR_RETURN(const PagePolicy target, WithGain(log, skyline, user));
  const PageTruth logged =
      TruthOf(log, user, options.truth_draws, kTruthSeed, Worths());
  const PageTruth judged =
      TruthOf(target, user, options.truth_draws, kTruthSeed, Worths());
  const double gain = judged.clicks - logged.clicks;
  std::vector<GateLog> logs(static_cast<size_t>(options.gate_runs));
  RETURN_IF_ERROR(RunInParallel(logs.size(), options.threads, [&](size_t run) {
    logs[run] = DrawGateLog(log, target, user, options.gate_sessions, run);
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(
      const Needed whole,
      SessionsNeeded(logs, GateWeight::kWholeOrder, options.threads));
  ASSIGN_OR_RETURN(
      const Needed read,
      SessionsNeeded(logs, GateWeight::kReadPrefix, options.threads));
  ASSIGN_OR_RETURN(const std::vector<double> coverage,
                   CoverageOf(log, target, user, gain, options));
  // If the whole order did not pass, the ratio is at most this.
  const double ratio = read.is_reached ? static_cast<double>(read.sessions) /
                                             static_cast<double>(whole.sessions)
                                       : HUGE_VAL;
  absl::PrintF(
      "| %s | %.4f ± %.4f | +%.1f %% | %s | %s | %s%.3f | %.3f | %.3f |\n",
      name, logged.clicks, logged.standard_error, 100 * gain / logged.clicks,
      SessionsText(whole), SessionsText(read), whole.is_reached ? "" : "< ",
      ratio, coverage[0], coverage[1]);
  std::fflush(stdout);
  return std::vector<Target>{
      {absl::StrCat(
           "gate, sessions with weights of read ranks / whole orders, ", name),
       ratio, 0.25},
      {absl::StrCat("gate, coverage with weights of whole orders, ", name),
       coverage[0], 0.94, true},
      {absl::StrCat("gate, coverage with weights of read ranks, ", name),
       coverage[1], 0.94, true}};
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureGate(
    const LetorFold& fold, const ClicksBenchOptions& options) {
  // Nearly every page has a click, whoever orders it: what a policy can improve
  // is the rank of the click.
  ASSIGN_OR_RETURN(const ClickUser user, MakePageUser("ultra_cascade"));
  absl::PrintF(
      "\nSessions until the gate passes a policy that earns 5 %% more, in four "
      "fifths of %d logs; cascade user, reciprocal rank of the click; coverage "
      "of %d intervals of %d sessions\n\n"
      "| logging | earns | policy | whole order | read ranks | ratio | "
      "coverage, whole | coverage, read |\n|---|---|---|---|---|---|---|---|\n",
      options.gate_runs, options.coverage_runs, kCoverageSessions);
  ASSIGN_OR_RETURN(const std::vector<double> skyline,
                   TrainRanker(fold.train, 1, 1));
  std::vector<Target> targets;
  for (const auto& [name, share] :
       {std::pair{"weak", 0.01}, std::pair{"decent", 0.2}}) {
    ASSIGN_OR_RETURN(std::vector<double> weights,
                     TrainRanker(fold.train, share, 1));
    const PagePolicy log(fold.train,
                         Times(kLoggingSharpness, std::move(weights)));
    ASSIGN_OR_RETURN(std::vector<Target> more,
                     MeasureLogger(name, log, Times(kTargetSharpness, skyline),
                                   user, options));
    AppendTargets(std::move(more), &targets);
  }
  return targets;
}

}  // namespace sortition
