#include "core/games/f_beta/f_beta_certificate.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace sortition {
namespace {

// Finds the least value over sizes first..last by branch and bound.
// `bound_and_attained(a, b, &value)` returns a lower bound for all sizes within
// [a, b] and writes the value of one of them.
struct Search {
  std::function<double(int, int, double*)> bound_and_attained = nullptr;
  double slack = 0;
  double attained = 0;   // The least value found.
  double certified = 0;  // No size has a value below this.

  void Visit(int first, int last) {
    double here = 0;
    const double bound = bound_and_attained(first, last, &here);
    attained = std::min(attained, here);
    if (first == last || bound >= attained - slack) {
      certified = std::min(certified, bound);
      return;
    }
    const int middle = (first + last) / 2;
    Visit(first, middle);
    Visit(middle + 1, last);
  }
};

double Weight(double beta2, int s, int t) {
  return (1 + beta2) / (s + beta2 * t);
}

double SumOf(const std::vector<double>& values, int begin, int end) {
  return std::accumulate(values.begin() + begin, values.begin() + end, 0.0);
}

}  // namespace

// W_st falls with t, so for t in [first, last] every f_it is at least f_i,last.
// The sum of the t smallest f_i,last is least at the t where they turn
// positive.
double FBetaLowerBound(std::span<const double> potentials, double beta,
                       std::span<const SizedSetMarginals> predictor,
                       double slack) {
  const int n = static_cast<int>(potentials.size());
  const double beta2 = beta * beta;
  std::vector<double> f(n);
  Search search{.slack = slack};
  for (const SizedSetMarginals& sets : predictor) {
    if (sets.size == 0) search.attained = search.certified = sets.probability;
  }
  if (n == 0) return search.certified;
  search.bound_and_attained = [&](int first, int last, double* attained) {
    for (int i = 0; i < n; ++i) f[i] = -potentials[i];
    for (const SizedSetMarginals& sets : predictor) {
      if (sets.size == 0) continue;
      const double factor = sets.probability * Weight(beta2, sets.size, last);
      for (int i = 0; i < n; ++i)
        f[i] += factor * sets.inclusion_probabilities[i];
    }
    std::nth_element(f.begin(), f.begin() + (last - 1), f.end());
    std::nth_element(f.begin(), f.begin() + (first - 1), f.begin() + last);
    double bound = SumOf(f, 0, first);
    *attained = bound + SumOf(f, first, last);
    for (int i = first; i < last; ++i) bound += std::min(f[i], 0.0);
    return bound;
  };
  search.Visit(1, n);
  return search.certified;
}

// W_st falls with s, so for s in [first, last] the best set gets at most the
// sum of the `last` largest of the values at `first`.
double FBetaUpperBound(std::span<const double> potentials, double beta,
                       std::span<const SizedSetMarginals> adversary,
                       double slack) {
  const int n = static_cast<int>(potentials.size());
  const double beta2 = beta * beta;
  std::vector<double> r(n);
  double expected_potential = 0;
  Search search{.slack = slack};
  for (const SizedSetMarginals& sets : adversary) {
    if (sets.size == 0) {
      search.attained = search.certified = -sets.probability;
      continue;
    }
    for (int i = 0; i < n; ++i) {
      expected_potential +=
          sets.probability * sets.inclusion_probabilities[i] * potentials[i];
    }
  }
  if (n == 0) return -search.certified;
  search.bound_and_attained = [&](int first, int last, double* attained) {
    std::fill(r.begin(), r.end(), 0.0);
    for (const SizedSetMarginals& sets : adversary) {
      if (sets.size == 0) continue;
      const double factor = sets.probability * Weight(beta2, first, sets.size);
      for (int i = 0; i < n; ++i)
        r[i] -= factor * sets.inclusion_probabilities[i];
    }
    std::nth_element(r.begin(), r.begin() + (last - 1), r.end());
    std::nth_element(r.begin(), r.begin() + (first - 1), r.begin() + last);
    *attained = SumOf(r, 0, first);
    return *attained + SumOf(r, first, last);
  };
  search.Visit(1, n);
  return -search.certified - expected_potential;
}

}  // namespace sortition
