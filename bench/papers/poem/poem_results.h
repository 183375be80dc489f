#pragma once
// One table of what the POEM paper has, what we find by the paper's text, by
// its authors' protocol and at best, and what counts as met.
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
  std::string name;
  std::string published = {};  // Method.published
  Protocol protocol = Protocol::kText;
  Losses losses = {};
  std::vector<double> mean_weights = {};
  std::vector<double> lowest = {};  // Learnt.lowest
  std::vector<double> seconds = {};
};

struct Results {
  int runs = 0;
  std::array<Losses, kNumProtocols> logging = {};
  Losses skyline = {};
  std::vector<MethodLosses> methods = {};
};

// "1.234 ± 0.012": the mean and its standard error.
std::string MeanAndError(std::span<const double> values);

// Formats the table, with the paper's figures if it has `data`.
std::string FormatTable(const std::string& data, const Results& results);

// Tests whether POEM is better than IPS, for each pair of the same name and
// protocol.
std::string FormatPairedTests(const Results& results);

// Returns the targets of the replication. By the authors' protocol each loss is
// at most the paper's plus a standard error of the difference; the paper's ten
// runs, whose errors it does not give, are taken to vary as ours do.
// POEM(S) is better than IPS(S) with the paper's step and with a grid of steps
// for both; ours at best is not worse than by the authors' protocol by more
// than a standard error of the difference in the same runs. Empty for data that
// the paper does not have.
std::vector<Target> ReplicationTargets(const std::string& data,
                                       const Results& results);

}  // namespace sortition
