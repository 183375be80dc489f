#pragma once
// A report as a run over 14 days with three policies gives it.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "google/protobuf/text_format.h"
#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline constexpr char kSampleReport[] = R"(
  model: "shop" against: "log" read_tuples: 41873 decisions: 40000 units: 6120
  units_named: true
  question: "The intervals hold for other users like these: users are drawn, each with all of their decisions."
  excluded { key: "censored" value: 1790 }
  excluded { key: "drawn with a seed" value: 83 }
  logging_versions { key: 1 value: 12000 }
  logging_versions { key: 2 value: 28000 } first_time: "2026-11-08T00:00:04Z"
  last_time: "2026-11-21T23:59:41Z" confidence: 0.95 reward_min: 0 reward_max: 1
  logged { value: 0.2012 lower: 0.1969 upper: 0.2055 confidence: 0.95 }
  assumptions: "The logged propensities are those that the server drew with."
  assumptions: "Users are independent of each other."
  assumptions: "Whatever overrides answers stays as it is."
  verdict: "version 3 is better than what served: 0.0331 more per decision, at least 0.0223 with 95 % confidence."
  group_size: 10
  command: "sortition-trainer ope --tuples=/var/lib/sortition/tuples --model_store=/var/lib/sortition/models --model=shop --policies=newest,uniform,constant --page=judged.html"
  program: "sortition-trainer 0.17.0" seconds: 3.81
  policies {
    name: "newest" description: "version 3, softmax selection, \316\265 = 0.02"
    verdict: "Better than the log: its gain is above 0."
    effective_sample_size: 21480
    overlap {
      tuples: 40000 mean_weight: 0.9983 mean_weight_error: 0.0062
      largest_share: 0.0005 half_weight_tuples: 8112 clip: 10
      clipped_fraction: 0.0021 clipped_mass: 0.014 median_weight: 0.84
      weight_p90: 2.2 weight_p99: 5.6 largest_weight: 19.3
      smallest_propensity: 0.0104 deterministic_fraction: 0.013
    }
    guardrails {
      reward: "complaints"
      change { value: 0.0004 lower: -0.0011 upper: 0.0019 confidence: 0.95 }
      allowed: 0.002 holds: true
    }
    guardrails {
      reward: "margin"
      change { value: -0.021 lower: -0.048 upper: 0.006 confidence: 0.95 }
      allowed: 0.02 holds: false
    }
    more_rewards {
      estimator: "complaints"
      value { value: -0.0102 lower: -0.0117 upper: -0.0087 confidence: 0.95 }
      gain { value: 0.0004 lower: -0.0011 upper: 0.0019 confidence: 0.95 }
    }
    grouped {
      gain { value: 0.0331 lower: 0.0188 upper: 0.0474 confidence: 0.95 }
    }
  }
  policies {
    name: "uniform"
    description: "each eligible candidate with the same probability"
    verdict: "Worse than the log: its gain is below 0."
    effective_sample_size: 912
    findings {
      gravity: UNSUPPORTED kind: "small_sample"
      sentence: "The effective sample size is 912 of 40000 decisions: the interval rests on few of them."
    }
    overlap {
      tuples: 40000 mean_weight: 0.981 mean_weight_error: 0.033
      largest_share: 0.008 half_weight_tuples: 1203 median_weight: 0.35
      weight_p90: 1.9 weight_p99: 11.2 largest_weight: 309
      smallest_propensity: 0.0104 without_full_support_fraction: 0.3
    }
  }
  policies {
    name: "candidates.csv" description: "probabilities from candidates.csv"
    verdict: "No difference from the log is shown." without_probabilities: 212
    effective_sample_size: 33010
    overlap {
      tuples: 39788 mean_weight: 1.002 mean_weight_error: 0.004
      largest_share: 0.0001 half_weight_tuples: 15020 median_weight: 0.97
      weight_p90: 1.4 weight_p99: 2.1 largest_weight: 4.4
      smallest_propensity: 0.0104
    }
  }
  findings {
    gravity: CAUTION kind: "versions"
    sentence: "Two versions chose in this log: balanced weights use both."
  }
)";

struct SamplePolicy {
  double value;
  double half_width;
};
inline constexpr SamplePolicy kSamplePolicies[] = {
    {0.2343, 0.0108}, {0.1391, 0.041}, {0.2031, 0.0089}};
inline constexpr double kSampleLogged = 0.2012;

// `shift` moves value and gain, `stretch` widens their intervals.
inline config::v1::OpeEstimate SampleEstimate(int policy, double shift,
                                              double stretch) {
  const auto [value, half_width] = kSamplePolicies[policy];
  const auto set = [&](double at, model::v1::Estimate* estimate) {
    estimate->set_value(at);
    estimate->set_lower(at - stretch * half_width);
    estimate->set_upper(at + stretch * half_width);
    estimate->set_confidence(0.95);
  };
  config::v1::OpeEstimate estimate;
  estimate.set_estimator("dr");
  set(value + shift, estimate.mutable_value());
  set(value - kSampleLogged + shift, estimate.mutable_gain());
  estimate.set_value_interval("student");
  estimate.set_gain_interval("student");
  return estimate;
}

inline void AddSampleEstimates(int index, config::v1::OpePolicy* policy) {
  struct Kind {
    const char* name;
    double parameter;  // 0: none.
    double shift;
    double stretch;
    const char* assumes;
  };
  constexpr Kind kKinds[] = {
      {"ips", 0, 0.006, 1.9, "Correct propensities."},
      {"controlled_ips", 0, 0.004, 1.5, "Correct propensities, full support."},
      {"snips", 0, 0.003, 1.3, "Correct propensities; biased in small logs."},
      {"clipped", 10, -0.004, 1.2, "As ips; clipping only lowers it."},
      {"log_smoothed", 0.013, -0.003, 1.2, "As ips."},
      {"direct", 0, 0.012, 0.5, "The reward model is right."},
      {"dr", 0, 0, 1, "Correct propensities or a right reward model."},
      {"optimistic_dr", 18.2, 0.001, 1, "As dr."},
      {"switch_dr", 6.1, 0.002, 0.9, "As dr."},
      {"more_robust_dr", 0, -0.001, 1.05, "As dr."},
      {"balanced", 0, 0.002, 1.2, "The versions of the log are in the store."},
      {"marginalised", 0, 0.015, 14, "Only the category counts."}};
  for (const Kind& kind : kKinds) {
    config::v1::OpeEstimate* const estimate = policy->add_estimates();
    *estimate = SampleEstimate(index, kind.shift, kind.stretch);
    estimate->set_estimator(kind.name);
    estimate->set_assumes(kind.assumes);
    if (kind.parameter > 0) estimate->set_parameter(kind.parameter);
    if (kind.name == std::string("dr")) {
      estimate->set_chosen(true);
      *policy->mutable_answer() = *estimate;
    }
  }
  for (const auto& [name, stretch] :
       std::vector<std::pair<const char*, double>>{
           {"student", 1},
           {"bootstrap", 1.02},
           {"empirical_likelihood", 1.01},
           {"bernstein", 2.3},
           {"betting", 1.2}}) {
    config::v1::OpeEstimate* const interval = policy->add_intervals();
    *interval = SampleEstimate(index, 0, stretch);
    interval->set_value_interval(name);
    interval->set_gain_interval(name);
    interval->set_assumes(stretch > 1.1 ? "Bounded rewards; any log size."
                                        : "Enough units.");
  }
}

// Weights around 10^0, wider for policies that differ more.
inline void AddSampleWeights(int index, config::v1::OpePolicy* policy) {
  auto* const weights = policy->mutable_weights();
  constexpr double kSpread[] = {0.3, 0.6, 0.12};
  double mass = 0;
  for (double edge = -2; edge < 2.01; edge += 0.2) {
    weights->add_log10_edges(edge);
  }
  for (int i = 0; i + 1 < weights->log10_edges_size(); ++i) {
    const double middle = weights->log10_edges(i) + 0.1;
    const double share =
        std::exp(-0.5 * std::pow((middle + 0.1) / kSpread[index], 2));
    weights->add_decisions(static_cast<uint64_t>(8000 * share));
    weights->add_weight(share * std::pow(10, middle));
    mass += share * std::pow(10, middle);
  }
  for (double& weight : *weights->mutable_weight()) weight /= mass;
  weights->set_zero(index == 1 ? 0 : 1200);
}

inline config::v1::OpeSlice SampleSlice(const std::string& name, int number,
                                        uint64_t decisions, double stretch) {
  config::v1::OpeSlice slice;
  slice.set_name(name);
  slice.set_decisions(decisions);
  slice.set_units(decisions / 6);
  const double wave = 0.012 * std::sin(0.9 * number);
  slice.mutable_logged()->set_value(kSampleLogged + wave);
  slice.mutable_logged()->set_lower(kSampleLogged + wave - 0.01);
  slice.mutable_logged()->set_upper(kSampleLogged + wave + 0.01);
  for (int policy = 0; policy < 3; ++policy) {
    *slice.add_policies() = SampleEstimate(
        policy, wave + 0.006 * std::sin(2.1 * number + policy), stretch);
  }
  return slice;
}

inline config::v1::OpeReport SampleReport() {
  config::v1::OpeReport report;
  google::protobuf::TextFormat::ParseFromString(kSampleReport, &report);
  for (int policy = 0; policy < 3; ++policy) {
    AddSampleEstimates(policy, report.mutable_policies(policy));
    AddSampleWeights(policy, report.mutable_policies(policy));
    for (const double improvement : {0.002, 0.004, 0.01, 0.02, 0.04}) {
      config::v1::OpePlan* const plan = report.add_plans();
      plan->set_policy(report.policies(policy).name());
      plan->set_improvement(improvement);
      const double decisions =
          40000 * std::pow(kSamplePolicies[policy].half_width / improvement, 2);
      plan->set_decisions(static_cast<uint64_t>(decisions));
      plan->set_seen(40000);
      plan->set_days(14 * decisions / 40000);
    }
  }
  for (int day = 0; day < 14; ++day) {
    *report.add_days() = SampleSlice(absl::StrFormat("2026-11-%02d", 8 + day),
                                     day, 2700 + 40 * (day % 7), 3.2);
  }
  int number = 3;
  for (const char* name : {"device = phone", "device = desktop", "country = CH",
                           "country = DE", "country = FR", "country = other"}) {
    *report.add_segments() = SampleSlice(name, number, 26000 / (number - 1), 2);
    ++number;
  }
  for (const char* name : {"below 0.02", "0.02 to 0.05", "0.05 to 0.2",
                           "0.2 to 0.5", "0.5 and more"}) {
    *report.add_propensities() = SampleSlice(name, number, 8000, 2.2);
    ++number;
  }
  for (auto* const slices : {report.mutable_days(), report.mutable_segments(),
                             report.mutable_propensities()}) {
    for (config::v1::OpeSlice& slice : *slices) {
      for (config::v1::OpeEstimate& estimate : *slice.mutable_policies()) {
        const double confidence = 1 - 0.05 / slices->size();
        estimate.mutable_value()->set_confidence(confidence);
        estimate.mutable_gain()->set_confidence(confidence);
      }
    }
  }
  for (const double mixture : {0.0, 0.01, 0.02, 0.05, 0.1, 0.2}) {
    config::v1::OpeExploration* const each = report.add_exploration();
    each->set_mixture(mixture);
    *each->mutable_value() = SampleEstimate(0, -0.095 * mixture, 1);
    each->set_cost(0.095 * mixture);
    if (mixture > 0) {
      each->set_decisions(static_cast<uint64_t>(9000 / mixture));
    }
  }
  return report;
}

}  // namespace sortition
