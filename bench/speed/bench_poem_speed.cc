// Speed of learning sets of labels by POEM against NumPy and SciPy.
//
// Both train on the same tuples in alternating pairs. Also compares with the
// rates of the machine, and times training against the numbers of tuples and
// features.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/speed/poem_problem.h"
#include "bench/support/clocks.h"
#include "bench/support/machine_rates.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/multilabel/labels_policy.h"
#include "core/optim/lbfgs.h"
#include "process/threads.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/testing/temp_dir.h"

ABSL_FLAG(std::vector<std::string>, data, {},
          "multi-label SVMlight files to learn from");
ABSL_FLAG(int, pairs, 5, "alternating pairs of runs");
ABSL_FLAG(bool, sparse, true,
          "also train on generated sparse rows of 47,000 features");
ABSL_FLAG(bool, scaling, true,
          "also time training against the numbers of tuples and features");
ABSL_FLAG(double, most_tuples, 1e6,
          "time training up to this many tuples; 1e7 take 9 GiB");
ABSL_FLAG(std::string, python, "/usr/bin/python3",
          "Python interpreter with NumPy and SciPy");
ABSL_FLAG(std::string, reference, "bench/reference/poem_reference.py",
          "implementation to compare with");

namespace sortition {
namespace {

struct Trained {
  double seconds = 0;  // CPU time: others may share the machine.
  double wall_seconds = 0;
  double objective = 0;
  double evaluations = 0;  // POEM(B)
  Eigen::VectorXd parameters;
};

enum class Method { kStochastic, kBatch };

absl::StatusOr<Trained> TrainOnce(const PoemProblem& problem, Method method,
                                  const PoemSchedule& schedule,
                                  TuplePolicy* policy) {
  Trained trained;
  const double wall_begin = WallSeconds();
  const double begin = ProcessCpuSeconds();
  if (method == Method::kStochastic) {
    PoemRun run;
    run.crm = problem.crm;
    run.seed = schedule.seed;
    run.adagrad.set_batch_size(schedule.batch_size);
    run.adagrad.set_step_size(schedule.step_size);
    run.adagrad.set_max_epochs(schedule.epochs);
    run.adagrad.set_patience(schedule.epochs);
    run.adagrad.set_gradient_tolerance(0);
    ASSIGN_OR_RETURN(PoemResult result, TrainPoem(policy, run));
    trained.objective = result.objective;
    trained.parameters = std::move(result.parameters);
  } else {
    ASSIGN_OR_RETURN(const CrmRisk risk,
                     CrmRisk::Create(problem.crm.clip, problem.crm.lambda));
    ASSIGN_OR_RETURN(const RiskObjective objective,
                     RiskObjective::Create(policy, &risk, problem.crm.l2));
    config::v1::LbfgsOptions options;
    options.set_max_iterations(schedule.iterations);
    options.set_history(schedule.history);
    options.set_gradient_tolerance(0);
    options.set_decrease_tolerance(0);
    ASSIGN_OR_RETURN(
        LbfgsResult result,
        MinimizeByLbfgs(objective, Eigen::VectorXd::Zero(policy->dimension()),
                        options, nullptr));
    if (result.iterations != schedule.iterations) {
      return absl::InternalError(absl::StrCat(
          "L-BFGS ended after ", result.iterations, " iterations"));
    }
    trained.objective = result.value;
    trained.evaluations = result.evaluations;
    trained.parameters = std::move(result.point);
  }
  trained.seconds = ProcessCpuSeconds() - begin;
  trained.wall_seconds = WallSeconds() - wall_begin;
  return trained;
}

absl::StatusOr<Trained> Train(const PoemProblem& problem, Method method,
                              const PoemSchedule& schedule,
                              const ParallelFor& parallel_for = SerialFor) {
  ASSIGN_OR_RETURN(
      LabelsPolicy policy,
      LabelsPolicy::Create(problem.contexts, problem.tuples, parallel_for));
  Trained best;
  for (uint32_t i = 0; i < schedule.repetitions; ++i) {
    ASSIGN_OR_RETURN(const Trained trained,
                     TrainOnce(problem, method, schedule, &policy));
    if (i == 0 || trained.seconds < best.seconds) best = trained;
  }
  return best;
}

// The same policy, but it does not say which parameters a batch needs, so that
// every step moves all of them.
class EveryEntry : public TuplePolicy {
 public:
  explicit EveryEntry(LabelsPolicy* policy) : policy_(policy) {}
  size_t num_tuples() const override { return policy_->num_tuples(); }
  Eigen::Index dimension() const override { return policy_->dimension(); }
  double loss(size_t i) const override { return policy_->loss(i); }
  double log_propensity(size_t i) const override {
    return policy_->log_propensity(i);
  }
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override {
    policy_->LogProbabilities(parameters, tuples, log_probabilities);
  }
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override {
    policy_->AddGradient(factors, gradient);
  }
  void Prefetch(std::span<const uint32_t> tuples) const override {
    policy_->Prefetch(tuples);
  }
  size_t block_size() const override { return policy_->block_size(); }

 private:
  LabelsPolicy* policy_;
};

// Compares the penalty paid at access with the penalty paid in each step, in
// alternating trainings.
absl::Status ComparePenalties(const PoemProblem& problem,
                              const PoemSchedule& schedule,
                              std::vector<Target>* targets) {
  ASSIGN_OR_RETURN(LabelsPolicy policy,
                   LabelsPolicy::Create(problem.contexts, problem.tuples));
  EveryEntry every_entry(&policy);
  std::vector<double> ratios, lazy_seconds;
  double difference = 0;
  for (uint32_t i = 0; i < 3 * schedule.repetitions; ++i) {
    ASSIGN_OR_RETURN(const Trained lazy, TrainOnce(problem, Method::kStochastic,
                                                   schedule, &policy));
    ASSIGN_OR_RETURN(
        const Trained eager,
        TrainOnce(problem, Method::kStochastic, schedule, &every_entry));
    lazy_seconds.push_back(lazy.seconds);
    ratios.push_back(lazy.seconds / eager.seconds);
    difference = std::max(
        difference, (lazy.parameters - eager.parameters).cwiseAbs().maxCoeff());
  }
  absl::PrintF(
      "%-26s l2 %g: %.4f s with the penalty at access, %.2f times as fast as "
      "in each step; parameters differ by %.1e\n",
      problem.name, problem.crm.l2, MedianOf(lazy_seconds),
      1 / MedianOf(ratios), difference);
  std::fflush(stdout);
  targets->push_back({absl::StrFormat("%s %g, penalty at access, share of time",
                                      problem.name, problem.crm.l2),
                      MedianOf(ratios), 1});
  targets->push_back({absl::StrFormat("%s %g, 1e9 x difference of parameters",
                                      problem.name, problem.crm.l2),
                      1e9 * difference, 1});
  return absl::OkStatus();
}

// Runs the reference implementation and returns its figures by name.
absl::StatusOr<std::map<std::string, double>> RunReference(
    const std::string& directory, Method method) {
  const std::string output = directory + "/results";
  const std::string command = absl::StrCat(
      "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 ", absl::GetFlag(FLAGS_python),
      " ", absl::GetFlag(FLAGS_reference), " ", directory,
      method == Method::kStochastic ? " stochastic" : " batch", " > ", output);
  if (std::system(command.c_str()) != 0) {
    return absl::InternalError(absl::StrCat("this failed: ", command));
  }
  std::map<std::string, double> results;
  std::ifstream file(output);
  std::string name;
  double value = 0;
  while (file >> name >> value) results[name] = value;
  return results;
}

// Returns the number of multiplications and additions in the matrix products of
// one pass over the tuples (S) or of one evaluation with gradient (B).
double ProductFlops(const PoemProblem& problem, Method method) {
  const double entries = static_cast<double>(problem.contexts.values.size()) *
                         problem.contexts.num_labels;
  const double replays = static_cast<double>(problem.tuples.size()) /
                         static_cast<double>(problem.contexts.size());
  // S needs scores for the majoriser by context, and scores and gradient by
  // tuple.
  return 2 * entries * (method == Method::kStochastic ? 1 + 2 * replays : 2);
}

absl::Status Compare(const PoemProblem& problem, Method method,
                     const PoemSchedule& schedule, double least_ratio,
                     double peak, std::vector<Target>* targets) {
  const TempDir folder;
  std::vector<double> ours, theirs, shares;
  Trained trained;
  std::map<std::string, double> reference;
  for (int pair = 0; pair < absl::GetFlag(FLAGS_pairs); ++pair) {
    ASSIGN_OR_RETURN(trained, Train(problem, method, schedule));
    if (pair == 0) {
      RETURN_IF_ERROR(WritePoemProblem(folder.path(), problem, schedule,
                                       trained.parameters));
    }
    ASSIGN_OR_RETURN(reference, RunReference(folder.path(), method));
    ours.push_back(trained.seconds);
    theirs.push_back(reference["seconds"]);
    shares.push_back(ours.back() / theirs.back());
  }
  const double passes =
      method == Method::kStochastic ? schedule.epochs : trained.evaluations;
  const double share = MedianOf(shares);
  const std::string name = absl::StrCat(
      problem.name, method == Method::kStochastic ? " POEM(S)" : " POEM(B)");
  absl::PrintF(
      "%-26s %9.4f %9.4f %7.1f %13.9f %13.9f %9.1e %7.0f %%\n", name,
      MedianOf(ours), MedianOf(theirs), 1 / share, trained.objective,
      reference["objective"],
      std::abs(trained.objective - reference["objective_at_given"]),
      100e-9 * passes * ProductFlops(problem, method) / MedianOf(ours) / peak);
  std::fflush(stdout);
  targets->push_back(
      {absl::StrCat(name, ", share of NumPy's time"), share, 1 / least_ratio});
  targets->push_back(
      {absl::StrCat(name, ", 1e9 x difference of objectives"),
       1e9 * std::abs(trained.objective - reference["objective_at_given"]) /
           std::max(1.0, std::abs(trained.objective)),
       1});
  return absl::OkStatus();
}

// Times an epoch of POEM(S) at each size; returns the exponent of its growth.
absl::StatusOr<double> Scale(
    const std::string& what,
    const std::vector<std::pair<double, GeneratedShape>>& sizes) {
  std::vector<std::pair<double, double>> points;
  for (const auto& [size, shape] : sizes) {
    const PoemProblem problem = GeneratePoemProblem(what, shape);
    PoemSchedule schedule;
    schedule.epochs = 3;
    schedule.repetitions = 3;
    ASSIGN_OR_RETURN(const Trained trained,
                     Train(problem, Method::kStochastic, schedule));
    points.emplace_back(size, trained.seconds / schedule.epochs);
    absl::PrintF("%-30s %9.0f %12.5f s an epoch %9.0f MiB RSS\n", what, size,
                 points.back().second, PeakMebibytes());
    std::fflush(stdout);
  }
  return GrowthExponent(points);
}

absl::Status ScaleAll(std::vector<Target>* targets) {
  std::vector<std::pair<double, GeneratedShape>> by_n, by_p;
  for (const double p : {50, 100, 200, 400, 800, 1600}) {
    const auto features = static_cast<uint32_t>(p);
    by_p.emplace_back(p, GeneratedShape{10000, features, 6, features, 1});
  }
  const double most = absl::GetFlag(FLAGS_most_tuples);
  for (const double n : {1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7}) {
    if (n > most) break;
    by_n.emplace_back(n,
                      GeneratedShape{static_cast<uint32_t>(n), 50, 6, 50, 1});
  }
  ASSIGN_OR_RETURN(const double p, Scale("features (1e4 tuples)", by_p));
  ASSIGN_OR_RETURN(const double n, Scale("tuples (50 features)", by_n));
  targets->push_back({"exponent of an epoch by features", p, 1.05});
  targets->push_back({"exponent of an epoch by tuples", n, 1.05});
  targets->push_back(
      {"peak memory, GiB", PeakMebibytes() / 1024, std::max(2.0, most / 1e6)});
  return absl::OkStatus();
}

// Trains POEM(B) with 1 and 2 threads; the parameters must have the same bits.
absl::Status CompareThreads(std::vector<Target>* targets) {
  const PoemProblem problem =
      GeneratePoemProblem("threads", {100000, 100, 6, 100, 1});
  PoemSchedule schedule;
  schedule.iterations = 10;
  ASSIGN_OR_RETURN(const Trained one, Train(problem, Method::kBatch, schedule));
  ASSIGN_OR_RETURN(const Trained two,
                   Train(problem, Method::kBatch, schedule, OnThreads(2)));
  absl::PrintF(
      "POEM(B), 1e5 x 100: 1 thread %.3f s, 2 threads "
      "%.3f s\n",
      one.wall_seconds, two.wall_seconds);
  targets->push_back(
      {"parameters that differ with 2 threads",
       static_cast<double>(
           (one.parameters.array() != two.parameters.array()).count()),
       0});
  return absl::OkStatus();
}

// Times a run with default options, followed by an evaluation of the risk of
// what it learned.
absl::Status TimeValidationRun(const PoemProblem& problem,
                               std::vector<Target>* targets) {
  ASSIGN_OR_RETURN(LabelsPolicy policy,
                   LabelsPolicy::Create(problem.contexts, problem.tuples));
  PoemRun run;
  run.crm = problem.crm;
  const double begin = ProcessCpuSeconds();
  ASSIGN_OR_RETURN(const PoemResult result, TrainPoem(&policy, run));
  ASSIGN_OR_RETURN(const CrmRisk risk, CrmRisk::Create(HUGE_VAL, 0));
  ASSIGN_OR_RETURN(const RiskObjective objective,
                   RiskObjective::Create(&policy, &risk, 0));
  objective.Evaluate(result.parameters, nullptr);
  targets->push_back(
      {absl::StrCat(problem.name, ", seconds of a validation run of ",
                    result.epochs, " epochs"),
       ProcessCpuSeconds() - begin, 0.2});
  return absl::OkStatus();
}

absl::Status CompareSparse(double peak, std::vector<Target>* targets) {
  const PoemSchedule schedule = {.epochs = 2, .iterations = 10};
  PoemProblem problem =
      GeneratePoemProblem("sparse, l2", {5000, 47000, 4, 75, 4});
  RETURN_IF_ERROR(
      Compare(problem, Method::kStochastic, schedule, 8, peak, targets));
  RETURN_IF_ERROR(Compare(problem, Method::kBatch, schedule, 4, peak, targets));
  for (const double l2 : {1e-6, 2e-6}) {
    problem.crm.l2 = l2;
    RETURN_IF_ERROR(ComparePenalties(problem, schedule, targets));
  }
  problem.name = "sparse";
  problem.crm.l2 = 0;
  RETURN_IF_ERROR(
      Compare(problem, Method::kStochastic, schedule, 8, peak, targets));
  problem = GeneratePoemProblem("sparse, 32 labels", {5000, 47000, 32, 75, 1});
  problem.crm.l2 = 0;
  return Compare(problem, Method::kStochastic, schedule, 8, peak, targets);
}

absl::StatusOr<std::vector<Target>> Run() {
  std::vector<Target> targets;
  const double peak = PeakGigaflops();
  absl::PrintF("one core: %.1f Gflop/s, reads %.1f GB/s\n", peak,
               MemoryGigabytesPerSecond());
  absl::PrintF("%-26s %9s %9s %7s %13s %13s %9s %9s\n", "", "CPU s", "NumPy",
               "ratio", "objective", "NumPy's", "at equal w", "of peak");
  for (const std::string& path : absl::GetFlag(FLAGS_data)) {
    ASSIGN_OR_RETURN(const PoemProblem problem, ReadPoemProblem(path));
    RETURN_IF_ERROR(
        Compare(problem, Method::kStochastic, {}, 8, peak, &targets));
    RETURN_IF_ERROR(Compare(problem, Method::kBatch, {}, 4, peak, &targets));
    RETURN_IF_ERROR(TimeValidationRun(problem, &targets));
  }
  if (absl::GetFlag(FLAGS_sparse)) {
    RETURN_IF_ERROR(CompareSparse(peak, &targets));
  }
  RETURN_IF_ERROR(CompareThreads(&targets));
  if (absl::GetFlag(FLAGS_scaling)) RETURN_IF_ERROR(ScaleAll(&targets));
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Times POEM against NumPy, the machine, and the size of the data.",
      sortition::Run);
}
