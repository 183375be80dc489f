#pragma once
// Orders of three of four candidates that two Plackett-Luce versions draw, and
// users whose clicks are known functions of an order.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

inline constexpr size_t kRanks = 3;
// The probability that a user clicks on a candidate that is looked at, whose
// feature it is.
inline const std::vector<float> kClicks = {0.1f, 0.7f, 0.3f, 0.5f};
// How probably users of kExamine look at each rank.
inline const std::vector<double> kExamined = {0.9, 0.6, 0.3};

enum class User {
  kCascade,  // Goes down to the first click.
  kExamine,  // Judges each rank by itself.
  kBelow,    // Is put off by what stands below.
};

inline model::v1::Model RankModel(double weight) {
  model::v1::Model model;
  model.set_name("default");
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(0.1);
  model.set_num_features(1);
  model.add_weights(weight);
  return model;
}

inline double ClickOf(int32_t candidate) {
  return kClicks[static_cast<size_t>(candidate)];
}

// Returns the mean clicks at each rank.
inline std::vector<double> MeanClicks(User user, const Action& order) {
  std::vector<double> clicks;
  double goes_on = 1;
  for (size_t k = 0; k < order.size(); ++k) {
    double click = ClickOf(order[k]);
    if (user == User::kCascade) {
      click *= goes_on;
      goes_on *= 1 - ClickOf(order[k]);
    } else if (user == User::kExamine) {
      click *= kExamined[k];
    } else if (k + 1 < order.size()) {
      click *= 1 - 0.8 * ClickOf(order[k + 1]);
    }
    clicks.push_back(click);
  }
  return clicks;
}

// Returns decision i of version 1, of which all is set but what was drawn.
inline log::v1::BanditTuple RankedTuple(const model::v1::Model& model, int i) {
  log::v1::BanditTuple tuple;
  log::v1::Decision& decision = *tuple.mutable_decision();
  decision.set_decision_id(absl::StrCat("d", i));
  decision.set_unit_id(absl::StrCat("u", i / 2));
  decision.set_model("default");
  decision.set_version(1);
  *decision.mutable_policy() = model.policy();
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(4);
  decision.set_num_features(1);
  decision.mutable_dense_values()->Assign(kClicks.begin(), kClicks.end());
  decision.set_top_k(kRanks);
  return tuple;
}

inline void SetDraw(const Draw& draw, log::v1::Decision* decision) {
  decision->mutable_action()->Assign(draw.action.begin(), draw.action.end());
  decision->set_log_propensity(draw.log_propensity);
  decision->mutable_conditional_log_propensities()->Assign(
      draw.conditional_log_propensities.begin(),
      draw.conditional_log_propensities.end());
}

inline void AddClick(uint32_t rank, log::v1::BanditTuple* tuple) {
  log::v1::RankReward& reward = *tuple->add_rank_rewards();
  reward.set_rank(rank);
  reward.set_reward(1);
  reward.set_count(1);
  tuple->set_reward(tuple->reward() + 1);
  tuple->set_has_feedback(true);
}

class RankVersion {
 public:
  explicit RankVersion(double weight)
      : model_(RankModel(weight)),
        linear_(*LinearPolicy::Create(model_.policy(), {weight})) {
    query_.candidates = Candidates::DenseUnchecked(kClicks, 1);
    query_.top_k = kRanks;
  }
  RankVersion(const RankVersion&) = delete;

  const model::v1::Model& model() const { return model_; }
  const LinearPolicy& linear() const { return linear_; }

  double Probability(const Action& order) {
    return std::exp(linear_.LogPropensity(query_, order, &workspace_));
  }

  // Σ over all orders of P(order) f(order).
  double Mean(const std::function<double(const Action&)>& f) {
    double sum = 0;
    std::vector<int32_t> documents = {0, 1, 2, 3};
    do {  // Each order of three comes once, with what is left behind it.
      const Action order(documents.begin(), documents.begin() + kRanks);
      sum += Probability(order) * f(order);
    } while (std::next_permutation(documents.begin(), documents.end()));
    return sum;
  }

  double Value(User user) {
    return Mean([&](const Action& order) {
      double sum = 0;
      for (const double click : MeanClicks(user, order)) sum += click;
      return sum;
    });
  }

  double Marginal(int32_t candidate, size_t rank) {
    return Mean([&](const Action& order) {
      return order[rank] == candidate ? 1.0 : 0.0;
    });
  }

  // Draws decision i of version 1 and what the user does.
  log::v1::BanditTuple Decide(int i, User user) {
    log::v1::BanditTuple tuple = RankedTuple(model_, i);
    log::v1::Decision& decision = *tuple.mutable_decision();
    Draw draw;
    linear_.Decide(query_, DecisionKey("default", 1, decision.decision_id()),
                   &workspace_, &draw);
    SetDraw(draw, &decision);
    AddClicks(user, draw.action, &tuple);
    return tuple;
  }

 private:
  static void AddClicks(User user, const Action& order,
                        log::v1::BanditTuple* tuple) {
    const CounterRandom random(
        StableHash(HashDomain::kSimulation, {tuple->decision().decision_id()}));
    const std::vector<double> means = MeanClicks(user, order);
    for (uint32_t rank = 0; rank < order.size(); ++rank) {
      const double probability =
          user == User::kCascade ? ClickOf(order[rank]) : means[rank];
      if (random.Uniform(rank) >= probability) continue;
      AddClick(rank, tuple);
      if (user == User::kCascade) return;
    }
  }

  const model::v1::Model model_;
  const LinearPolicy linear_;
  PolicyQuery query_;
  PolicyWorkspace workspace_;
};

}  // namespace sortition
