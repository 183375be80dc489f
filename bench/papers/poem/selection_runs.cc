#include "bench/papers/poem/selection_runs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/policy_choice.h"
#include "core/learners/counterfactual/weighted_tuples.h"

namespace sortition {
namespace {

constexpr std::array<double, 5> kCautions = {0, 0.5, 1, 1.5, 2};

// The log as the trainer's grid reads it.
class LabelLogData : public GridData {
 public:
  explicit LabelLogData(const LabelLog* log) : log_(log) {}
  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override {
    return PolicyOf(log_->train_tuples());
  }
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override {
    return PolicyOf(log_->validation_tuples());
  }
  absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& /*fit*/) const override {
    return absl::UnimplementedError("no loss model of labels");
  }

 private:
  absl::StatusOr<std::unique_ptr<TuplePolicy>> PolicyOf(
      const LabelTuples& tuples) const {
    ASSIGN_OR_RETURN(LabelsPolicy policy,
                     LabelsPolicy::Create(log_->contexts(), tuples));
    return std::make_unique<LabelsPolicy>(std::move(policy));
  }

  const LabelLog* log_;
};

// Keeps the best point for each c of kCautions.
class Choices {
 public:
  Choices(LabelLog* log, SelectionRun* run)
      : log_(*log),
        run_(*run),
        rewards_(Rewards(*log->validation())),
        parent_(LogWeights(log->logging_parameters(), log->validation())) {
    criteria_.fill(0);  // That of the parent.
    run_.parent = log_.logging().expected;
    run_.best = run_.parent;
    run_.by_caution.assign(kCautions.size(), run_.parent);
  }

  void Add(const Eigen::VectorXd& parameters) {
    const double loss = MeanHammingLosses(log_.test(), parameters).expected;
    run_.best = std::min(run_.best, loss);
    const std::vector<double> log_weights =
        LogWeights(parameters, log_.validation());
    const Gain gain = SelfNormalisedGain({.rewards = rewards_,
                                          .log_weights = log_weights,
                                          .other_log_weights = parent_});
    if (!gain.has_standard_error()) return;
    for (size_t z = 0; z < kCautions.size(); ++z) {
      const double criterion = gain.value - kCautions[z] * gain.standard_error;
      if (!(criterion > criteria_[z])) continue;
      criteria_[z] = criterion;
      run_.by_caution[z] = loss;
    }
  }

 private:
  LabelLog& log_;
  SelectionRun& run_;
  const std::vector<double> rewards_;
  const std::vector<double> parent_;
  std::array<double, kCautions.size()> criteria_;
};

absl::StatusOr<SelectionRun> RunOnce(const LabelData& data,
                                     const LogOptions& options, int number) {
  ASSIGN_OR_RETURN(const std::unique_ptr<LabelLog> log,
                   LabelLog::Draw(data, options, number));
  const LabelLogData grid_data(log.get());
  SelectionRun run;
  Choices choices(log.get(), &run);
  GridTask task{.data = &grid_data, .parent_start = log->logging_parameters()};
  for (const double beta : {0.7, 1.0}) task.options.add_smoothing(beta);
  task.on_point = [&](const auto& /*point*/, const Eigen::VectorXd& w) {
    choices.Add(w);
  };
  ASSIGN_OR_RETURN(const GridOutcome outcome, TrainGrid(task));
  run.chosen = MeanHammingLosses(log->test(), outcome.parameters).expected;
  return run;
}

struct Summary {
  double near = 0;   // Share of runs within 5 % of the best.
  double above = 0;  // Mean excess over the best, relative to it.
  double worst = 0;  // The largest ratio to the parent.
};

Summary SummaryOf(const std::vector<SelectionRun>& runs,
                  const std::function<double(const SelectionRun&)>& chosen) {
  Summary summary;
  for (const SelectionRun& run : runs) {
    const double loss = chosen(run);
    summary.near += loss <= 1.05 * run.best ? 1 : 0;
    summary.above += loss / run.best - 1;
    summary.worst = std::max(summary.worst, loss / run.parent);
  }
  summary.near /= static_cast<double>(runs.size());
  summary.above /= static_cast<double>(runs.size());
  return summary;
}

double ChosenOf(const SelectionRun& run) { return run.chosen; }

double AboveBest(const SelectionOfSet& set, size_t z) {
  return SummaryOf(set.runs,
                   [z](const SelectionRun& run) { return run.by_caution[z]; })
      .above;
}

// Returns the index in kCautions that the sets other than `left_out` choose.
size_t ChosenElsewhere(const std::vector<SelectionOfSet>& sets,
                       const SelectionOfSet& left_out) {
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (size_t z = 0; z < kCautions.size(); ++z) {
    double sum = 0;
    for (const SelectionOfSet& set : sets) {
      if (&set != &left_out) sum += AboveBest(set, z);
    }
    if (sum < least) {
      least = sum;
      best = z;
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<SelectionOfSet> RunSelection(const std::string& name,
                                            const LabelData& data,
                                            const Repetition& repetition) {
  SelectionOfSet set{.set = name, .runs = {}};
  set.runs.resize(static_cast<size_t>(repetition.runs));
  RETURN_IF_ERROR(RunInParallel(
      set.runs.size(), repetition.threads, [&](size_t r) -> absl::Status {
        ASSIGN_OR_RETURN(
            set.runs[r],
            RunOnce(data, LogOptionsOf(Protocol::kBest, repetition),
                    static_cast<int>(r)));
        return absl::OkStatus();
      }));
  return set;
}

std::string FormatSelections(const std::vector<SelectionOfSet>& sets) {
  std::string text =
      "\nThe point of the grid that the trainer chooses, by true loss\n"
      "set         runs  within 5 %  mean above best  worst / parent   left "
      "out: standard errors, above best\n";
  for (const SelectionOfSet& set : sets) {
    const Summary summary = SummaryOf(set.runs, ChosenOf);
    const size_t z = ChosenElsewhere(sets, set);
    absl::StrAppendFormat(&text,
                          "%-10s  %4d  %10.2f  %15.3f  %14.3f   %30.1f  %.3f\n",
                          set.set, set.runs.size(), summary.near, summary.above,
                          summary.worst, kCautions[z], AboveBest(set, z));
  }
  return text;
}

std::vector<Target> SelectionTargets(const std::vector<SelectionOfSet>& sets) {
  std::vector<SelectionRun> all;
  for (const SelectionOfSet& set : sets) {
    all.insert(all.end(), set.runs.begin(), set.runs.end());
  }
  const Summary summary = SummaryOf(all, ChosenOf);
  return {{"share of runs whose chosen point is within 5 % of the best",
           summary.near, 0.8, true},
          {"largest true loss of a chosen point over the parent's",
           summary.worst, 1.05, false}};
}

}  // namespace sortition
