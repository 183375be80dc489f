#pragma once
// Tables 3, 4 and 5 of the POEM paper [SwaminathanJoachims15, sec. 6] for one
// data set, our figures beside the published ones.
#include <array>
#include <span>
#include <string>
#include <vector>

#include "bench/papers/poem/learning_methods.h"
#include "bench/support/report.h"

namespace sortition {

// Mean Hamming losses on the test set, by run.
struct Losses {
  std::vector<double> expected;
  std::vector<double> map;
};

struct MethodLosses {
  std::array<Losses, kNumCriteria> by_criterion;
  std::vector<double> seconds;
};

struct Results {
  Losses logging;
  std::vector<MethodLosses> methods;
};

// Formats the table of losses and times, with the paper's figures if it has
// `data`: scene, yeast, tmc, lyrl.
std::string FormatTable(const std::string& data,
                        std::span<const Method> methods,
                        const Results& results);

// Tests whether POEM is better than IPS. Requires results.methods to begin with
// IPS(B), POEM(B), IPS(S), POEM(S).
std::string FormatPairedTests(const Results& results);

// Returns the targets of the replication, by the bounded criterion: h0's loss
// is within 2 % of the paper's, POEM is better than IPS and not worse than in
// the paper, and one of the newer methods (after the first four) is not worse
// than the better POEM. Empty for data sets that the paper does not have.
std::vector<Target> ReplicationTargets(const std::string& data,
                                       const Results& results);

}  // namespace sortition
