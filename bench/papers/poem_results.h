#pragma once
// Tables 3, 4 and 5 of the paper of POEM [SwaminathanJoachims15, sec. 6] for
// one data set, our figures beside its own.
#include <array>
#include <span>
#include <string>
#include <vector>

#include "bench/papers/learning_methods.h"
#include "bench/support/report.h"

namespace sortition {

// By run.
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

double Mean(std::span<const double> values);

// Beside the paper's figures where it has `data`: scene, yeast, tmc, lyrl.
std::string FormatTable(const std::string& data,
                        std::span<const Method> methods,
                        const Results& results);

// Whether POEM is better than IPS; results.methods begins with IPS(B), POEM(B),
// IPS(S), POEM(S).
std::string FormatPairedTests(const Results& results);

// What replication asks for, by the bounded criterion: h0 as good as the
// paper's within 2 %, POEM better than IPS and not worse than the paper's, and
// one of what comes after the first four not worse than the better POEM. Empty
// for data that are not the paper's.
std::vector<Target> ReplicationTargets(const std::string& data,
                                       const Results& results);

}  // namespace sortition
