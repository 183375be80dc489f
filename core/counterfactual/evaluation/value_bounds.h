#pragma once
// Bounds of values of policies, and of differences, that hold for every number
// of units, whatever weights there are and whether or not the log could choose
// everything. Each side fails with at most (1 - confidence) / 2.
//
// With weights ρ (perhaps cut) and rewards r in [0, 1], the value v of a policy
// and v₀ of the log:
//   E[ρ r] <= v             <= 1 - E[ρ (1 - r)]
//   E[(ρ - 1) r] <= v - v₀  <= -E[(ρ - 1) (1 - r)]
// since actions that the log cannot choose, or whose weights are cut, count
// with the smallest reward on the left, and with the largest on the right. For
// two policies A and B, the left side of A and the right side of B add up to
//   E[ρ_A r + ρ_B (1 - r) - 1] <= v_A - v_B,
// one mean of one variable, at least -1: no failure probability is split, and
// what is common to the policies and the log cancels. The right side is that of
// B and A with the opposite sign.
#include <optional>

#include "core/counterfactual/evaluation/intervals.h"

namespace sortition {

struct Bounds {
  double lower;
  double upper;
};

// The variables on both sides, as sums over decisions: the mean of `above` is
// at most what the task is about, and this at most `top` less the mean of
// `below`. Each decision's term is at least -`least`.
struct OneSidedSums {
  SumFunction above;
  SumFunction below;
  double least = 0;
  double top = 0;
};
OneSidedSums OneSidedSumsOf(const IntervalTask& task);

// By bets on sums over groups of units (BettingLowerBound). Where weights have
// a known limit, half of the wealth goes into bets with a control variate
// (ControlledBets), which need full support.
Bounds BettingBounds(const IntervalTask& task);

// By empirical-Bernstein bounds over decisions [MaurerPontil09], of weights cut
// at the best M of kClips, which share the failure probability. Those of two
// policies are the difference of the bounds of their gains over the log, which
// share it, too. nullopt unless each decision is a unit of its own.
std::optional<Bounds> BernsteinBounds(const IntervalTask& task);

// From exact intervals of probabilities [ClopperPearson34], for rewards 0 and
// 1: of the log; and of a policy whose weights are 0 or one W, where Σ r 1{ρ =
// W} is binomial with a mean of at most n v / W, and Σ (1 - r) 1{ρ = W} with
// one of at most n (1 - v) / W. So actions that the log cannot choose, or did
// not, count with the smallest reward below and with the largest above. If
// HasKnownWeight(), the first mean is n v / W, and both sides are exact.
// nullopt unless each decision is a unit of its own.
std::optional<Bounds> ClopperPearsonBounds(const IntervalTask& task);

// Returns true if the policy has only one weight other than 0, and it is
// PolicySums::LargestWeight(): the log then has full support.
bool HasKnownWeight(const IntervalTask& task);

}  // namespace sortition
