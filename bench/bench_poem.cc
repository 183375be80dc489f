// Multi-label classification from bandit feedback [SwaminathanJoachims15, sec.
// 6]: tables 3 and 5 for one data set, several runs, beside the paper's
// figures.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/label_conversion.h"
#include "core/learners/labels_policy.h"
#include "core/learners/poem.h"
#include "core/optim/lbfgs.h"
#include "io/multilabel.h"

ABSL_FLAG(std::string, train, "", "multi-label SVMlight file to learn from");
ABSL_FLAG(std::string, test, "", "multi-label SVMlight file to measure on");
ABSL_FLAG(int, runs, 10, "runs, each with its own logging policy and log");
ABSL_FLAG(double, fraction, 0.05, "share of the contexts that h0 is fitted to");
ABSL_FLAG(double, logging_l2, 1e-3, "mu of h0's fit");
ABSL_FLAG(double, temperature, 1, "alpha of h0");
ABSL_FLAG(int, replays, 4, "passes over the contexts");
ABSL_FLAG(double, l2, 0, "mu of every learner");
ABSL_FLAG(bool, logging_only, false, "measure h0 alone: to choose its options");

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kValidationShare = 0.25;

// With a constant feature after the others, the intercept of every label.
LabelledContexts ToContexts(const MultilabelData& data, uint32_t num_features,
                            uint32_t num_labels) {
  LabelledContexts result;
  LabelContexts& contexts = result.contexts;
  contexts.num_features = num_features + 1;
  contexts.num_labels = num_labels;
  for (size_t i = 0; i < data.size(); ++i) {
    const auto begin = static_cast<ptrdiff_t>(data.row_offsets[i]);
    const auto end = static_cast<ptrdiff_t>(data.row_offsets[i + 1]);
    contexts.columns.insert(contexts.columns.end(),
                            data.columns.begin() + begin,
                            data.columns.begin() + end);
    contexts.values.insert(contexts.values.end(), data.values.begin() + begin,
                           data.values.begin() + end);
    contexts.columns.push_back(num_features);
    contexts.values.push_back(1);
    contexts.row_offsets.push_back(contexts.values.size());
  }
  result.labels.assign(data.size() * num_labels, 0);
  for (size_t i = 0; i < data.size(); ++i) {
    for (const uint32_t label : data.labels[i]) {
      result.labels[i * num_labels + label] = 1;
    }
  }
  return result;
}

LabelTuples Part(const LabelTuples& tuples, std::span<const uint32_t> which,
                 uint32_t num_labels) {
  LabelTuples part;
  for (const uint32_t i : which) {
    part.contexts.push_back(tuples.contexts[i]);
    part.losses.push_back(tuples.losses[i]);
    part.log_propensities.push_back(tuples.log_propensities[i]);
    const auto labels =
        tuples.labels.begin() + static_cast<ptrdiff_t>(i) * num_labels;
    part.labels.insert(part.labels.end(), labels, labels + num_labels);
  }
  return part;
}

std::vector<uint32_t> Shuffled(size_t n, const std::string& what, int run) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  RandomSequence random(
      StableHash(HashDomain::kTraining, {what, absl::StrCat(run)}));
  for (size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[random.Below(i)]);
  }
  return order;
}

// Eq. 1: unbiased, not clipped.
absl::StatusOr<double> UnclippedRisk(LabelsPolicy* policy,
                                     const Eigen::VectorXd& parameters) {
  const CrmRisk ips = *CrmRisk::Create(HUGE_VAL, 0);
  ASSIGN_OR_RETURN(const RiskObjective objective,
                   RiskObjective::Create(policy, &ips, 0));
  return objective.Evaluate(parameters, nullptr);
}

// What the learners of one run share.
struct Log {
  LabelsPolicy* train;
  LabelsPolicy* validation;
  double clip;         // M
  double lambda_star;  // λ*: the objective of h0 is 0 there (sec. 4.4).
};

using Fit = std::function<absl::StatusOr<Eigen::VectorXd>(const Log& log,
                                                          double factor)>;

struct Method {
  std::string name;
  std::vector<double> factors;  // c of λ = c λ*; the best on validation counts.
  Fit fit;
  std::vector<double> expected = {};
  std::vector<double> map = {};
  double seconds = 0;
  int fits = 0;
};

absl::StatusOr<Eigen::VectorXd> FitStochastic(const Log& log, double factor) {
  PoemRun run;
  run.crm = {log.clip, factor * log.lambda_star, absl::GetFlag(FLAGS_l2)};
  ASSIGN_OR_RETURN(PoemResult result, TrainPoem(log.train, run));
  return std::move(result.parameters);
}

absl::StatusOr<Eigen::VectorXd> Minimise(const Log& log, const Risk& risk) {
  ASSIGN_OR_RETURN(
      const RiskObjective objective,
      RiskObjective::Create(log.train, &risk, absl::GetFlag(FLAGS_l2)));
  ASSIGN_OR_RETURN(
      LbfgsResult result,
      MinimizeByLbfgs(objective, Eigen::VectorXd::Zero(objective.dimension()),
                      config::v1::LbfgsOptions(), nullptr));
  return std::move(result.point);
}

absl::StatusOr<Eigen::VectorXd> FitBatch(const Log& log, double factor) {
  ASSIGN_OR_RETURN(const CrmRisk risk,
                   CrmRisk::Create(log.clip, factor * log.lambda_star));
  return Minimise(log, risk);
}

absl::StatusOr<Eigen::VectorXd> FitSelfNormalised(const Log& log,
                                                  double factor) {
  ASSIGN_OR_RETURN(const SelfNormalisedRisk risk,
                   SelfNormalisedRisk::Create(factor));
  return Minimise(log, risk);
}

absl::StatusOr<Eigen::VectorXd> FitSmoothed(const Log& log, double factor) {
  ASSIGN_OR_RETURN(const LogSmoothingRisk risk,
                   LogSmoothingRisk::Create(factor));
  return Minimise(log, risk);
}

absl::Status Learn(const Log& log, const LabelledContexts& test,
                   Method* method) {
  double best = HUGE_VAL;
  Eigen::VectorXd parameters;
  for (const double factor : method->factors) {
    const Clock::time_point begin = Clock::now();
    ASSIGN_OR_RETURN(const Eigen::VectorXd point, method->fit(log, factor));
    method->seconds +=
        std::chrono::duration<double>(Clock::now() - begin).count();
    ++method->fits;
    ASSIGN_OR_RETURN(const double risk, UnclippedRisk(log.validation, point));
    if (risk < best) {
      best = risk;
      parameters = point;
    }
  }
  const HammingLosses losses = MeanHammingLosses(test, parameters);
  method->expected.push_back(losses.expected);
  method->map.push_back(losses.map);
  return absl::OkStatus();
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// t of the paired differences a - b: above 1.833 where a is larger at 0.05, one
// tail, 9 degrees of freedom.
double PairedT(const std::vector<double>& a, const std::vector<double>& b) {
  Moments differences;
  for (size_t i = 0; i < a.size(); ++i) differences.Add(a[i] - b[i]);
  return differences.mean() /
         std::sqrt(differences.variance() / static_cast<double>(a.size()));
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const MultilabelData train_data,
                   ReadMultilabel(absl::GetFlag(FLAGS_train)));
  ASSIGN_OR_RETURN(const MultilabelData test_data,
                   ReadMultilabel(absl::GetFlag(FLAGS_test)));
  const uint32_t p = std::max(train_data.num_features, test_data.num_features);
  const uint32_t q = std::max(train_data.num_labels, test_data.num_labels);
  const LabelledContexts train = ToContexts(train_data, p, q);
  const LabelledContexts test = ToContexts(test_data, p, q);
  const std::vector<double> none = {0};
  const std::vector<double> grid = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};
  std::vector<Method> methods = {
      {"IPS(B)", none, FitBatch},
      {"POEM(B)", grid, FitBatch},
      {"IPS(S)", none, FitStochastic},
      {"POEM(S)", grid, FitStochastic},
      {"Norm-POEM", {0, 0.01, 0.1, 1}, FitSelfNormalised},
      {"LS", {1e-3, 1e-2, 0.1, 1}, FitSmoothed},
  };
  std::vector<double> logging, logging_map;
  for (int run = 0; run < absl::GetFlag(FLAGS_runs); ++run) {
    std::vector<uint32_t> rows =
        Shuffled(train.contexts.size(), "logging policy", run);
    rows.resize(std::max<size_t>(
        1, static_cast<size_t>(absl::GetFlag(FLAGS_fraction) *
                               static_cast<double>(rows.size()))));
    ASSIGN_OR_RETURN(Eigen::VectorXd h0,
                     FitLabels(train, rows, absl::GetFlag(FLAGS_logging_l2),
                               config::v1::LbfgsOptions()));
    h0 *= absl::GetFlag(FLAGS_temperature);
    const HammingLosses losses = MeanHammingLosses(test, h0);
    logging.push_back(losses.expected);
    logging_map.push_back(losses.map);
    if (absl::GetFlag(FLAGS_logging_only)) continue;
    const LabelTuples tuples = DrawTuples(
        train, h0,
        {.replays = static_cast<uint32_t>(absl::GetFlag(FLAGS_replays)),
         .seed = static_cast<uint64_t>(run)});
    const std::vector<uint32_t> order = Shuffled(tuples.size(), "split", run);
    const auto size = static_cast<size_t>(kValidationShare *
                                          static_cast<double>(order.size()));
    const LabelTuples validation_part =
        Part(tuples, std::span(order).first(size), q);
    const LabelTuples train_part =
        Part(tuples, std::span(order).subspan(size), q);
    ASSIGN_OR_RETURN(LabelsPolicy train_policy,
                     LabelsPolicy::Create(train.contexts, train_part));
    ASSIGN_OR_RETURN(LabelsPolicy validation_policy,
                     LabelsPolicy::Create(train.contexts, validation_part));
    Moments deltas;
    for (const double loss : train_part.losses) deltas.Add(loss);
    const Log log = {
        &train_policy, &validation_policy, DefaultClip(train_policy),
        -deltas.mean() *
            std::sqrt(static_cast<double>(deltas.count()) / deltas.variance())};
    for (Method& method : methods) {
      RETURN_IF_ERROR(Learn(log, test, &method));
    }
    std::fprintf(stderr, "run %d: h0 %.3f, M %.1f, lambda* %.1f\n", run + 1,
                 losses.expected, log.clip, log.lambda_star);
  }
  std::fputs(absl::StrFormat("%-10s %9s %9s %14s\n%-10s %9.3f %9.3f\n",
                             "Hamming", "expected", "MAP", "seconds a fit",
                             "h0", Mean(logging), Mean(logging_map))
                 .c_str(),
             stdout);
  if (absl::GetFlag(FLAGS_logging_only)) return absl::OkStatus();
  for (const Method& method : methods) {
    std::fputs(absl::StrFormat("%-10s %9.3f %9.3f %14.3f\n", method.name,
                               Mean(method.expected), Mean(method.map),
                               method.seconds / method.fits)
                   .c_str(),
               stdout);
  }
  std::fputs(absl::StrFormat(
                 "paired t of IPS - POEM: B %.2f, S %.2f (0.05 at 10 runs: "
                 "1.833)\n",
                 PairedT(methods[0].expected, methods[1].expected),
                 PairedT(methods[2].expected, methods[3].expected))
                 .c_str(),
             stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Learns sets of labels from bandit feedback, as the paper of POEM does.");
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = sortition::Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
