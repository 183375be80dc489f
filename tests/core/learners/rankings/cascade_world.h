#pragma once
// A small world of users who read a ranking from the top, click the first
// answer that they like, and go on to the next rank with a fixed probability.
// The true value of a policy is a sum over all orders.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "tests/core/learners/rankings/ranked_tuples.h"

namespace sortition {

class CascadeWorld {
 public:
  static constexpr uint32_t kFeatures = 4;
  static constexpr size_t kCandidates = 5;
  static constexpr double kContinue = 0.6;

  explicit CascadeWorld(uint64_t seed) : random_(SeedKey(seed, "world")) {
    taste_ = Eigen::VectorXd(kFeatures);
    for (double& entry : taste_) entry = random_.Normal();
    taste_ *= 2 / taste_.norm();
    logging_ = Eigen::VectorXd(kFeatures);
    for (double& entry : logging_) entry = 0.5 * random_.Normal();
    for (int query = 0; query < 30; ++query) {
      held_out_.push_back(RandomDecision(kFeatures, kCandidates, &random_));
    }
  }

  LinearFamily family() const { return RankFamily(kFeatures, 0.05); }
  const Eigen::VectorXd& taste() const { return taste_; }

  // Adds a session: a decision, an order drawn by the policy that logs, and
  // what its user did. All ranks are shown.
  void AddSession() {
    BanditTuple tuple = RandomDecision(kFeatures, kCandidates, &random_);
    const std::vector<double> scores = ScoresOf(tuple, logging_);
    const RankingDistribution distribution(1, family().uniform_mixture);
    ScoredCandidates candidates;
    candidates.scores = scores;
    candidates.top_k = kCandidates;
    Draw draw;
    distribution.Sample(candidates, CounterRandom(SeedKey(random_())), &draw);
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    RankedTuple ranks;
    ranks.log_conditionals = draw.conditional_log_propensities;
    ranks.losses.assign(kCandidates, 0);
    const std::vector<double> likes = Likes(tuple);
    for (size_t k = 0; k < kCandidates; ++k) {
      if (random_.Uniform() < likes[draw.action[k]]) {
        ranks.losses[k] = -1;
        break;
      }
      if (random_.Uniform() >= kContinue) break;
    }
    for (const double loss : ranks.losses) tuple.loss += loss;
    tuple.unit = UnitKey("", std::to_string(tuples_.size()));
    tuples_.push_back(std::move(tuple));
    ranks_.push_back(std::move(ranks));
  }

  RankedLog Log() const { return {family(), tuples_, ranks_}; }

  // Returns the probability of a click, over held-out decisions.
  double TrueValue(const Eigen::VectorXd& w) const {
    double sum = 0;
    for (const BanditTuple& decision : held_out_) {
      const std::vector<double> likes = Likes(decision);
      const std::vector<double> scores = ScoresOf(decision, w);
      for (const Action& order : AllOrders(kCandidates, kCandidates)) {
        double reached = 1, clicked = 0;
        for (const int32_t d : order) {
          clicked += reached * likes[d];
          reached *= kContinue * (1 - likes[d]);
        }
        sum += ServedProbability(family(), scores, order) * clicked;
      }
    }
    return sum / static_cast<double>(held_out_.size());
  }

 private:
  std::vector<double> Likes(const BanditTuple& decision) const {
    std::vector<double> likes;
    for (const double score : ScoresOf(decision, taste_)) {
      likes.push_back(1 / (1 + std::exp(1 - score)));
    }
    return likes;
  }

  RandomSequence random_;
  Eigen::VectorXd taste_;
  Eigen::VectorXd logging_;
  std::vector<BanditTuple> held_out_;
  std::vector<BanditTuple> tuples_;
  std::vector<RankedTuple> ranks_;
};

}  // namespace sortition
