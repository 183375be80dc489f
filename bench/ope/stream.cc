// Time and memory of the sums of ten policies over a stream of decisions.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/ope/parts.h"
#include "bench/support/clocks.h"
#include "core/base/random.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "core/counterfactual/evaluation/unit_sizes.h"

namespace sortition {
namespace {

constexpr size_t kPolicies = 10;
constexpr size_t kParts = 8;
// Decisions that are made ahead and added again and again, as other units.
constexpr size_t kMade = 4096;

double ResidentMebibytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct MadeDecision {
  double reward;
  std::vector<JudgedDecision> judged;
};

std::vector<MadeDecision> MakeDecisions() {
  RandomSequence random(SeedKey(1));
  std::vector<MadeDecision> decisions;
  for (size_t i = 0; i < kMade; ++i) {
    MadeDecision& decision = decisions.emplace_back();
    decision.reward = random.Uniform() < 0.3 ? 1 : 0;
    for (size_t k = 0; k < kPolicies; ++k) {
      decision.judged.push_back({.log_weight = random.Normal() - 0.5,
                                 .modelled_logged = random.Uniform(),
                                 .modelled_policy = random.Uniform()});
    }
  }
  return decisions;
}

uint64_t UnitOf(uint64_t decision) {
  // The finaliser of MurmurHash3: mixed bits, and next to no time.
  uint64_t bits = decision / 10 + 1;
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccdULL;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return bits ^ bits >> 33;
}

// Returns the largest difference of any estimate between `a` and `b`, relative
// to the estimate.
double LargestDifference(const PolicySums& a, const PolicySums& b) {
  double largest = 0;
  const auto compare = [&](const Estimator& estimator, size_t policy) {
    const auto x = EstimateRatios(a.sums(), a.RatiosOf(policy, estimator));
    const auto y = EstimateRatios(b.sums(), b.RatiosOf(policy, estimator));
    for (const auto& [one, other] :
         {std::pair{x.value, y.value},
          std::pair{x.standard_error, y.standard_error}}) {
      largest = std::max(largest, std::fabs(one - other) / std::fabs(other));
    }
  };
  for (size_t policy = 0; policy < kPolicies; ++policy) {
    for (const EstimatorKind kind : AllEstimatorKinds()) {
      const std::vector<double> parameters = ParametersOf(kind);
      if (parameters.empty()) compare({kind}, policy);
      for (const double parameter : parameters) {
        compare({kind, parameter}, policy);
      }
    }
  }
  return largest;
}

// Adds the decisions [begin, end).
void AddDecisions(const std::vector<MadeDecision>& made, uint64_t begin,
                  uint64_t end, const UnitSizes& sizes, PolicySums* sums) {
  for (uint64_t i = begin; i < end; ++i) {
    const MadeDecision& decision = made[i % kMade];
    const uint64_t unit = UnitOf(i);
    sums->Add(unit, sizes.ShareOf(unit), decision.reward, decision.judged);
  }
}

double MeasureMerge(const std::vector<MadeDecision>& made) {
  constexpr uint64_t kDecisions = 200'000;
  UnitSizes sizes;
  for (uint64_t i = 0; i < kDecisions; ++i) sizes.Add(UnitOf(i));
  PolicySums whole(kPolicies, GroupSums::kDefaultGroups);
  PolicySums merged(kPolicies, GroupSums::kDefaultGroups);
  AddDecisions(made, 0, kDecisions, sizes, &whole);
  for (uint64_t part = 0; part < kParts; ++part) {
    PolicySums sums(kPolicies, GroupSums::kDefaultGroups);
    AddDecisions(made, kDecisions * part / kParts,
                 kDecisions * (part + 1) / kParts, sizes, &sums);
    merged.Merge(sums);
  }
  return LargestDifference(merged, whole);
}

}  // namespace

std::vector<Target> MeasureStream(const OpeBenchOptions& options) {
  const std::vector<MadeDecision> made = MakeDecisions();
  UnitSizes sizes;
  PolicySums sums(kPolicies, GroupSums::kDefaultGroups);
  const uint64_t n = options.decisions;
  const double count_seconds = ThreadCpuSecondsOf([&] {
    for (uint64_t i = 0; i < n; ++i) sizes.Add(UnitOf(i));
  });
  // Everything has been touched once by then.
  const uint64_t first = n / 100;
  AddDecisions(made, 0, first, sizes, &sums);
  const double before = ResidentMebibytes();
  const double seconds =
      ThreadCpuSecondsOf([&] { AddDecisions(made, first, n, sizes, &sums); });
  const double after = ResidentMebibytes();
  const double each = 1e9 / static_cast<double>(n - first);
  const double difference = MeasureMerge(made);
  absl::PrintF(
      "\nStream of %d decisions, %d policies: %.0f ns of CPU a decision, %.0f "
      "each policy; counting units %.0f ns\nresident memory after %d "
      "decisions %.1f MiB, after all %.1f MiB\n%d parts merged against the "
      "whole: largest relative difference %.1e\n",
      n, kPolicies, each * seconds,
      each * seconds / static_cast<double>(kPolicies),
      1e9 / static_cast<double>(n) * count_seconds, first, before, after,
      kParts, difference);
  return {{"memory that 99 % of the decisions took, MiB", after - before, 1},
          {"merge of 8 parts against the whole, relative", difference, 1e-12}};
}

}  // namespace sortition
