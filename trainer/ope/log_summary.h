#pragma once
// What the first pass over a log finds out.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/counterfactual/evaluation/unit_sizes.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Constant memory, whatever the log holds.
class LogSummary {
 public:
  // More names of attributes, values of one, or document indexes than these are
  // not told apart.
  static constexpr size_t kMostAttributes = 100;
  static constexpr size_t kMostValues = 50;
  static constexpr size_t kMostDocuments = 65536;

  struct Attribute {
    std::map<std::string, uint64_t> values;  // From value to decisions.
    bool has_more = false;                   // Than kMostValues.
    uint64_t decisions = 0;                  // That have it.
  };

  void Add(const LoggedDecision& decision);

  uint64_t decisions = 0;
  uint64_t named = 0;  // Decisions that name their unit.
  uint64_t without_full_support = 0;
  uint64_t shown_otherwise = 0;
  // Numbers of decisions of traffic splits: weighed against the mixture of all
  // arms (arms_balanced), and of these the decisions that name their units;
  // weighed by the propensity of their own arm on request (arms_apart), because
  // there is no mixture, and because their unit keeps its arm.
  uint64_t arms_balanced = 0;
  uint64_t arms_balanced_by_unit = 0;
  uint64_t arms_apart = 0;
  uint64_t arms_without_mixture = 0;
  uint64_t arms_kept_by_unit = 0;
  // Decisions that the caller's baseline had a part in, and those in which it
  // did what it always does.
  uint64_t with_baseline = 0;
  uint64_t certain_baseline = 0;
  uint64_t interleaved = 0;  // Decisions whose order two versions made.
  // Decisions with a reward of a rank, and ranks of the longest order.
  uint64_t with_rank_rewards = 0;
  size_t most_ranks = 0;
  double reward_sum = 0;
  // Sum of the rewards as joined, and decisions whose reward was clamped.
  double joined_sum = 0;
  uint64_t clamped = 0;
  int64_t first_time_us = 0;  // Of decisions that have a time.
  int64_t last_time_us = 0;
  UnitSizes units;
  UnitSizes ids;                          // By decision id.
  UnitSizes contexts;                     // Of equal features.
  std::map<uint64_t, uint64_t> versions;  // From logging version to decisions.
  std::map<std::string, Attribute> attributes;

  // Returns the document_index with the largest IPS estimate on the units of a
  // half; the smallest of several, 0 if there is none.
  int32_t BestDocument(size_t half) const;

  // Returns log10 of propensities that split the decisions into `parts` of
  // about equal sizes, ascending; fewer where many are equal.
  std::vector<double> PropensityQuantiles(size_t parts) const;

 private:
  // Propensities by log10, in steps of 1/50 down to 1e-20.
  static constexpr int kStepsPerDecade = 50;
  static constexpr size_t kSteps = 20 * kStepsPerDecade;

  void AddChoice(const LoggedDecision& decision);
  void AddAttributes(const log::v1::Decision& decision);

  std::array<std::vector<double>, 2> document_rewards_;  // Σ r / p
  std::vector<uint64_t> propensities_ = std::vector<uint64_t>(kSteps + 1);
};

// Counts different units in constant memory, within some 1 % up to a few
// hundred thousand of them [WhangEtAl90].
class UnitCount {
 public:
  void Add(uint64_t unit_hash) { used_[unit_hash >> 32 & (kBits - 1)] = true; }
  uint64_t Estimate() const;

 private:
  static constexpr size_t kBits = size_t{1} << 16;
  std::vector<bool> used_ = std::vector<bool>(kBits);
};

}  // namespace sortition
