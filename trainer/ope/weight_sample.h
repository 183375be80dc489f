#pragma once
// How the weights of policies spread over a log: a sample of them, and a
// histogram of all.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/counterfactual/diagnostics.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class WeightSample {
 public:
  // Keeps some `most` of `decisions` decisions, by hash of their ids.
  WeightSample(size_t num_policies, uint64_t decisions, uint64_t most);

  // What is to be known of a decision besides its weights.
  struct Logged {
    absl::string_view decision_id;
    double log_propensity = 0;
    double log_uniform = 0;  // Of the uniform policy.
    // The overlap counts it as weight 0: it says nothing of what policies earn.
    bool shown_otherwise = false;
    bool full_support = true;
  };
  void Add(const Logged& logged, std::span<const double> log_weights);

  // (Σ ρ)² / Σ ρ² of all decisions.
  double EffectiveSampleSize(size_t policy) const;
  // Returns what MeasureOverlap() says of a policy's weights in the sample.
  Overlap OverlapOf(size_t policy) const;
  config::v1::OpeWeightHistogram HistogramOf(size_t policy) const;
  // Whether every weight was 1: the policy is the one that logged.
  bool is_log(size_t policy) const { return policies_[policy].all_are_one; }

 private:
  // Weights by log10, four bins a decade from 1e-3 to 1e4.
  static constexpr int kBinsPerDecade = 4;
  static constexpr int kFirstDecade = -3;
  static constexpr size_t kBins = 28;

  struct Weights {
    std::vector<double> log_weights;  // In the sample.
    uint64_t zero = 0;
    double sum = 0;
    double squares = 0;
    bool all_are_one = true;
    std::vector<uint64_t> decisions = std::vector<uint64_t>(kBins);
    std::vector<double> sums = std::vector<double>(kBins);
  };

  const double share_;
  std::vector<Weights> policies_;
  std::vector<double> log_propensities_;
  std::vector<double> log_uniform_;
  uint64_t shown_otherwise_ = 0;
  uint64_t without_full_support_ = 0;
};

}  // namespace sortition
