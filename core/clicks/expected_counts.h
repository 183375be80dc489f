#pragma once
// The E-steps of click models: what users are expected to have done, given what
// they clicked.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/clicks/click_model.h"
#include "core/clicks/click_sessions.h"

namespace sortition {

// Parameters while they are learned. All but the weights are probabilities.
struct ClickUnknowns {
  // By rank: θ_r (position-based), α_r + β_r (trust bias) or λ_r (dependent
  // click); else empty.
  std::vector<double> ranks;
  std::vector<double> offsets;  // β_r, by rank: trust bias.
  double perseverance = 1;
  std::vector<double> attractions;    // By item.
  std::vector<double> satisfactions;  // By item: Bayesian network.
  // Empty where attractions and satisfactions are free.
  Eigen::VectorXd attraction_weights;
  Eigen::VectorXd satisfaction_weights;
};

// Expected weight of one outcome and of the other, by item or rank.
struct ExpectedOutcomes {
  std::vector<double> hits;
  std::vector<double> misses;

  void Clear(size_t size) {
    hits.assign(size, 0);
    misses.assign(size, 0);
  }
};

struct ExpectedCounts {
  ExpectedOutcomes attracted;     // By item.
  ExpectedOutcomes satisfied;     // By item.
  ExpectedOutcomes ranks;         // Behind ClickUnknowns::ranks.
  ExpectedOutcomes offsets;       // Behind ClickUnknowns::offsets.
  ExpectedOutcomes perseverance;  // One element.
  double log_likelihood = 0;      // At the parameters used.
};

// Immutable and thread-safe.
class ClickExpectation {
 public:
  virtual ~ClickExpectation() = default;
  // Overwrites `counts`.
  virtual void Compute(const ClickUnknowns& unknowns,
                       ExpectedCounts* counts) const = 0;
};

// Which sessions are learned from, and how much each counts.
struct WeightedSessions {
  const ClickSessions* sessions = nullptr;
  // Each multiplies the weight of a session; empty: all 1. A session with 0 is
  // left out.
  std::span<const double> multipliers = {};

  double weight(size_t session) const {
    const double weight = (*sessions)[session].weight();
    return multipliers.empty() ? weight : weight * multipliers[session];
  }
};

// Impressions of one item at one rank count together where clicks are
// independent: they are one cell. Built once for all weights.
class ClickCells {
 public:
  explicit ClickCells(const ClickSessions& sessions);

  struct Weights {
    std::vector<double> shown;    // By cell.
    std::vector<double> clicked;  // By cell.
  };
  Weights WeightsOf(const WeightedSessions& sessions) const;

  uint32_t num_items() const {
    return static_cast<uint32_t>(begins_.size() - 1);
  }
  size_t num_ranks() const { return num_ranks_; }
  size_t size() const { return ranks_.size(); }
  // The cells of an item are those from begin(item) to begin(item + 1).
  size_t begin(size_t item) const { return begins_[item]; }
  uint16_t rank(size_t cell) const { return ranks_[cell]; }

 private:
  size_t num_ranks_;
  std::vector<uint32_t> cell_of_impression_;
  std::vector<uint16_t> ranks_;
  std::vector<uint64_t> begins_;
};

// For position-based users and trust bias; `cells` must outlive the result.
std::unique_ptr<ClickExpectation> IndependentExpectation(
    ClickModelKind kind, const ClickCells* cells,
    const WeightedSessions& sessions);

// For users who read from the top; the sessions must outlive the result.
// `skips_are_followed` says that γ is 1 and stays so.
std::unique_ptr<ClickExpectation> ReadingExpectation(
    ClickModelKind kind, bool skips_are_followed,
    const WeightedSessions& sessions);

}  // namespace sortition
