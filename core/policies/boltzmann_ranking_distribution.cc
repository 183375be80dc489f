#include "core/policies/boltzmann_ranking_distribution.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;

constexpr uint32_t kDefaultHead = 12;

// The random numbers of a draw, as in RankingDistribution: number 0 chooses the
// part of the mixture, those from 2 on are for HeadTailOrders.
constexpr uint32_t kPart = 0;
constexpr uint32_t kFirstBlock = 1;

// Returns the scale of logits that a field stands for: 0 stands for 1.
double OneIfZero(double scale) { return scale == 0 ? 1 : scale; }

}  // namespace

uint32_t HeadOf(const BoltzmannRanking& boltzmann) {
  return boltzmann.head() == 0 ? kDefaultHead : boltzmann.head();
}

std::vector<double> RankWeightsOf(const BoltzmannRanking& boltzmann) {
  std::vector<double> weights(HeadOf(boltzmann));
  for (uint32_t r = 0; r < weights.size(); ++r) {
    const bool beyond = boltzmann.cutoff() > 0 && r >= boltzmann.cutoff();
    const uint32_t counted = beyond ? boltzmann.cutoff() : r;
    switch (boltzmann.rank_weights()) {
      case BoltzmannRanking::DCG:
        weights[r] =
            beyond ? 0
                   : stable::Log(2) / stable::Log(static_cast<double>(r) + 2);
        break;
      case BoltzmannRanking::CUSTOM:
        weights[r] = boltzmann.weights(
            std::min(static_cast<int>(counted), boltzmann.weights_size() - 1));
        break;
      default:
        weights[r] = 0 - static_cast<double>(counted);
    }
  }
  return weights;
}

BoltzmannRankingDistribution::BoltzmannRankingDistribution(
    double inverse_temperature, double uniform_mixture,
    const BoltzmannRanking& boltzmann)
    : alpha_(inverse_temperature),
      mixture_(uniform_mixture),
      plackett_luce_mixture_(boltzmann.plackett_luce_mixture()),
      plackett_luce_alpha_(inverse_temperature *
                           OneIfZero(boltzmann.plackett_luce_scale())),
      tail_alpha_(inverse_temperature * OneIfZero(boltzmann.tail_scale())),
      rank_weights_(RankWeightsOf(boltzmann)),
      plackett_luce_(plackett_luce_alpha_, 0),
      uniform_(1, 1) {}

bool BoltzmannRankingDistribution::CanDraw(
    const ScoredCandidates& candidates) const {
  double alpha = 0;
  if (plackett_luce_mixture_.has_policy()) {
    const bool has_tail = candidates.scores.size() > rank_weights_.size();
    alpha = has_tail ? std::max(alpha_, tail_alpha_) : alpha_;
  }
  if (plackett_luce_mixture_.has_uniform()) {
    alpha = std::max(alpha, plackett_luce_alpha_);
  }
  size_t outside = 0;
  for (const double score : candidates.scores) {
    outside += std::abs(alpha * score) <= kMaxRankingLogit ? 0 : 1;
  }
  return outside == 0;
}

bool BoltzmannRankingDistribution::Prepare(const ScoredCandidates& candidates,
                                           DistributionScratch* scratch) const {
  if (!mixture_.has_policy()) return true;
  if (!CanDraw(candidates)) return false;
  if (!plackett_luce_mixture_.has_policy()) return true;
  return scratch->head_tail.Build({.rank_weights = rank_weights_,
                                   .alpha = alpha_,
                                   .tail_alpha = tail_alpha_},
                                  candidates.scores, candidates.top_k);
}

void BoltzmannRankingDistribution::MixWithPlackettLuce(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    DistributionScratch* scratch, std::vector<double>* conditionals,
    Shares* shares) const {
  const LogMixture& mixture = plackett_luce_mixture_;
  if (mixture.has_policy()) {
    scratch->head_tail.ConditionalLogPropensities(action, scratch,
                                                  conditionals);
  } else {
    conditionals->assign(action.size(), 0);
    *shares = {.boltzmann = 0, .plackett_luce = 1};
  }
  if (!mixture.has_uniform()) return;
  ScoredCandidates same = candidates;
  same.scratch = scratch;
  plackett_luce_.ConditionalLogPropensities(same, action, &scratch->others);
  if (mixture.has_policy()) {
    double log_odds = mixture.PriorLogOdds();
    for (size_t r = 0; r < action.size(); ++r) {
      log_odds += (*conditionals)[r] - scratch->others[r];
    }
    *shares = {stable::Exp(LogMixture::LogPolicyPosterior(log_odds)),
               stable::Exp(LogMixture::LogPolicyPosterior(-log_odds))};
  }
  MixOrders(mixture, scratch->others, *conditionals);
}

double BoltzmannRankingDistribution::Propensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    bool prepared, DistributionScratch* scratch,
    std::vector<double>* conditionals, Shares* shares) const {
  if (!prepared) {
    conditionals->assign(action.size(), -HUGE_VAL);
    return -HUGE_VAL;
  }
  Shares parts;
  if (mixture_.has_policy()) {
    MixWithPlackettLuce(candidates, action, scratch, conditionals, &parts);
  } else {
    conditionals->assign(action.size(), 0);
  }
  double log_odds = 0;
  const double log_h = MixWithUniformOrders(mixture_, candidates.scores.size(),
                                            *conditionals, &log_odds);
  if (shares == nullptr) return log_h;
  double policy = mixture_.has_policy() ? 1 : 0;
  if (mixture_.has_policy() && mixture_.has_uniform()) {
    policy = stable::Exp(LogMixture::LogPolicyPosterior(log_odds));
  }
  *shares = {policy * parts.boltzmann, policy * parts.plackett_luce};
  return log_h;
}

void BoltzmannRankingDistribution::Sample(const ScoredCandidates& candidates,
                                          const CounterRandom& random,
                                          Draw* draw) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  DCHECK(candidates.top_k >= 1 && candidates.top_k <= candidates.scores.size());
  const bool prepared = Prepare(candidates, &scratch);
  const double epsilon = mixture_.epsilon();
  const double part = random.Uniform(kPart);
  if (!prepared || part < epsilon) {
    uniform_.Sample(candidates, random, draw);
  } else if (!plackett_luce_mixture_.has_policy() ||
             part <
                 epsilon + (1 - epsilon) * plackett_luce_mixture_.epsilon()) {
    plackett_luce_.Sample(candidates, random, draw);
  } else {
    scratch.head_tail.Draw(random, kFirstBlock, &draw->action);
  }
  draw->log_propensity =
      Propensity(candidates, draw->action, prepared, &scratch,
                 &draw->conditional_log_propensities);
}

double BoltzmannRankingDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  return Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
                    &scratch.conditionals);
}

void BoltzmannRankingDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  CHECK(MarkTaken(candidates, action, &scratch.taken));
  Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
             conditionals);
}

// ∂ log h is the sum of the gradients of the parts, each weighted by the
// posterior probability that the part drew the action.
double BoltzmannRankingDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  DCHECK(score_gradient.size() == candidates.scores.size());
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  *abstain_gradient = 0;
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  Shares shares;
  const double log_h =
      Propensity(candidates, action, Prepare(candidates, &scratch), &scratch,
                 &scratch.conditionals, &shares);
  if (log_h == -HUGE_VAL) return log_h;
  if (shares.plackett_luce > 0) {
    ScoredCandidates same = candidates;
    same.scratch = &scratch;
    plackett_luce_.LogPropensityGradient(same, action, score_gradient,
                                         abstain_gradient);
    for (double& derivative : score_gradient) {
      derivative *= shares.plackett_luce;
    }
  }
  if (shares.boltzmann > 0) {
    scratch.head_tail.AddGradient(shares.boltzmann, &scratch, score_gradient);
  }
  return log_h;
}

Action BoltzmannRankingDistribution::Mode(
    const ScoredCandidates& candidates) const {
  return RankingDistribution(alpha_, mixture_.epsilon()).Mode(candidates);
}

double BoltzmannRankingDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const double uniform =
      mixture_.epsilon() / static_cast<double>(probabilities.size());
  if (!mixture_.has_policy() || !Prepare(candidates, &scratch)) {
    std::fill(probabilities.begin(), probabilities.end(), uniform);
    return 0;
  }
  const double eta = plackett_luce_mixture_.epsilon();
  if (eta > 0) {
    plackett_luce_.FirstProbabilities(candidates, probabilities);
    for (double& p : probabilities) p *= eta;
  } else {
    std::fill(probabilities.begin(), probabilities.end(), 0);
  }
  if (eta < 1) {
    scratch.head_tail.AddFirstProbabilities(1 - eta, probabilities);
  }
  for (double& p : probabilities) p = (1 - mixture_.epsilon()) * p + uniform;
  return 0;
}

}  // namespace sortition
