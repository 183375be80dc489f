// Part `selection`: the policies that `train` chooses from logs of policies
// that mostly take one action, with known expected rewards.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_grid_data.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 8;
constexpr int32_t kRows = 10;

struct SharpCase {
  std::string name;
  double sharpness = 3;   // Scale of the scores of the logging policy.
  double mixture = 0.05;  // The share that it draws uniformly.
  double known = 0.5;     // Correlation of its scores with the users' interest.
  double base = -1;       // Log-odds of a reward without an interest.
  size_t train = 1000;
};

using Rows = Eigen::Matrix<float, kRows, kFeatures, Eigen::RowMajor>;
using Shares = Eigen::Matrix<double, kRows, 1>;

class SharpWorld {
 public:
  SharpWorld(const SharpCase& sharp_case, uint64_t seed)
      : case_(sharp_case), random_(SeedKey(seed)) {
    interest_.resize(kFeatures);
    logging_.resize(kFeatures);
    const double other = std::sqrt(1 - case_.known * case_.known);
    for (Eigen::Index j = 0; j < kFeatures; ++j) {
      interest_[j] = random_.Normal();
      logging_[j] = case_.sharpness *
                    (case_.known * interest_[j] + other * random_.Normal());
    }
  }

  LinearFamily family() const {
    return {.num_features = kFeatures, .uniform_mixture = case_.mixture};
  }
  const Eigen::VectorXd& logging() const { return logging_; }

  std::vector<BanditTuple> Draw(size_t n) {
    std::vector<BanditTuple> tuples(n);
    for (BanditTuple& tuple : tuples) {
      tuple.num_features = kFeatures;
      tuple.values.resize(Rows::SizeAtCompileTime);
      for (float& value : tuple.values) {
        value = static_cast<float>(random_.Normal());
      }
      const Shares p = Probabilities(tuple, logging_);
      double left = random_.Uniform();
      int32_t row = 0;
      while (row + 1 < kRows && left >= p[row]) left -= p[row++];
      tuple.action = {row};
      tuple.log_propensity = std::log(p[row]);
      tuple.loss = random_.Uniform() < Rewards(tuple)[row] ? -1 : 0;
      tuple.unit = next_unit_++;
    }
    return tuples;
  }

  // Returns the expected loss of a policy, 1 - reward, in the contexts of these
  // tuples.
  double LossOf(const Eigen::VectorXd& parameters,
                const std::vector<BanditTuple>& contexts) const {
    double sum = 0;
    for (const BanditTuple& tuple : contexts) {
      sum += Probabilities(tuple, parameters).dot(Rewards(tuple));
    }
    return 1 - sum / static_cast<double>(contexts.size());
  }

 private:
  static Shares ScoresOf(const BanditTuple& tuple,
                         const Eigen::VectorXd& parameters) {
    return Eigen::Map<const Rows>(tuple.values.data()).cast<double>() *
           parameters;
  }
  Shares Probabilities(const BanditTuple& tuple,
                       const Eigen::VectorXd& parameters) const {
    Shares scores = ScoresOf(tuple, parameters);
    scores = (scores.array() - scores.maxCoeff()).exp();
    return ((1 - case_.mixture) * scores / scores.sum()).array() +
           case_.mixture / kRows;
  }
  Shares Rewards(const BanditTuple& tuple) const {
    const Shares scores = ScoresOf(tuple, interest_);
    return 1 / (1 + (-0.7 * scores.array() - case_.base).exp());
  }

  const SharpCase case_;
  RandomSequence random_;
  uint64_t next_unit_ = 1;
  Eigen::VectorXd interest_;
  Eigen::VectorXd logging_;
};

struct Selected {
  double parent = 0;  // Expected losses.
  double best = 1;
  double chosen = 0;
};

absl::StatusOr<Selected> Select(const SharpCase& sharp_case, uint64_t seed) {
  SharpWorld world(sharp_case, seed);
  const std::vector<BanditTuple> train = world.Draw(sharp_case.train);
  const std::vector<BanditTuple> validation = world.Draw(sharp_case.train / 2);
  const std::vector<BanditTuple> fresh = world.Draw(1000);
  const LinearGridData data(world.family(), train, validation,
                            config::v1::PoemOptions::CRM);
  Selected selected;
  GridTask task{.data = &data, .parent_start = world.logging()};
  for (const double c : {0.0, 1e-3, 0.1, 1.0}) {
    task.options.add_lambda_factor(c);
  }
  task.on_point = [&](const auto& /*point*/, const Eigen::VectorXd& w) {
    selected.best = std::min(selected.best, world.LossOf(w, fresh));
  };
  ASSIGN_OR_RETURN(const GridOutcome outcome, TrainGrid(task));
  selected.parent = world.LossOf(world.logging(), fresh);
  selected.chosen = world.LossOf(outcome.parameters, fresh);
  return selected;
}

// Prints a row; returns the share of logs whose chosen policy is within 5 % of
// the best, and raises `worst` to the largest loss over the parent's.
double Print(const std::string& name, const std::vector<Selected>& all,
             double* worst) {
  int near_best = 0;
  double above = 0;
  double ratio = 0;
  for (const Selected& each : all) {
    near_best += each.chosen <= 1.05 * each.best ? 1 : 0;
    above += each.chosen / each.best - 1;
    ratio = std::max(ratio, each.chosen / each.parent);
  }
  *worst = std::max(*worst, ratio);
  const auto runs = static_cast<double>(all.size());
  absl::PrintF("%-14s   %10.2f   %15.3f   %14.3f\n", name, near_best / runs,
               above / runs, ratio);
  return near_best / runs;
}

}  // namespace

std::vector<Target> MeasureSelection(const VerdictOptions& options) {
  const std::vector<SharpCase> cases = {
      {.name = "sharp"},
      {.name = "flat", .sharpness = 1},
      {.name = "very sharp", .sharpness = 6, .mixture = 0.02, .train = 2000},
      {.name = "rare rewards", .base = -4, .train = 2000},
      {.name = "nearly best", .mixture = 0.02, .known = 0.97, .train = 2000},
      {.name = "few decisions", .sharpness = 6, .base = -2, .train = 300}};
  // Training takes a second; the other parts are much faster.
  const auto runs = static_cast<size_t>(std::max(10, options.runs / 20));
  double near_best = 0;
  double worst = 0;
  std::puts("\nTrue loss of what is chosen from a sharp log");
  std::puts("log             within 5 %   mean above best   worst / parent");
  for (const SharpCase& sharp_case : cases) {
    std::vector<Selected> all(runs);
    const absl::Status status =
        RunInParallel(runs, options.threads, [&](size_t run) -> absl::Status {
          ASSIGN_OR_RETURN(all[run], Select(sharp_case, run + 1));
          return absl::OkStatus();
        });
    near_best += Print(sharp_case.name, all, &worst);
    if (!status.ok()) worst = NAN;
  }
  return {{"share of sharp logs whose chosen policy is within 5 % of the best",
           near_best / static_cast<double>(cases.size()), 0.8, true},
          {"largest true loss of a chosen policy over the parent's", worst,
           1.05, false}};
}

}  // namespace sortition
