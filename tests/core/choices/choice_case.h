#pragma once
// Versions among which traffic is split, with the caller's baseline, over few
// enough candidates to enumerate all actions.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/choices/baseline_choice.h"
#include "core/choices/traffic_split.h"
#include "core/policies/linear_policy.h"

namespace sortition {

inline constexpr char kSalt[] = "0123456789abcdef0123456789abcdef";

struct ChoiceCase {
  std::string name;
  ActionKind kind = ActionKind::kSelect;
  std::vector<model::v1::Policy> policies;         // Of versions 1, 2, ...
  std::vector<uint32_t> places;                    // Of each; 10,000 together.
  std::vector<double> weights = {1.3, -0.7, 0.4};  // One for each version.
  std::vector<float> features = {0.5f, -1.25f, 1, 0, 2};
  std::vector<bool> eligible = {};  // Empty: all.
  uint32_t top_k = 0;
  // EXPLORE_ABOVE_BASELINE with this w; 0: ONLINE.
  double model_probability = 0;
  Action baseline = {};
};

inline model::v1::Policy SoftmaxPolicy(double mixture, bool abstains = false) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(mixture);
  policy.mutable_softmax_selection();
  if (abstains) policy.mutable_softmax_selection()->set_abstain_score(0.3);
  return policy;
}

inline model::v1::Policy RankPolicy(double mixture) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(mixture);
  policy.mutable_plackett_luce();
  return policy;
}

// Most orders are impossible under it.
inline model::v1::Policy HeadPolicy() {
  model::v1::Policy policy;
  policy.set_inverse_temperature(2);
  policy.mutable_boltzmann_ranking()->set_rank_weights(
      model::v1::BoltzmannRanking::DCG);
  policy.mutable_boltzmann_ranking()->set_head(2);
  return policy;
}

inline model::v1::Policy SubsetPolicy(double mixture, uint32_t k) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(mixture);
  policy.mutable_independent_subset()->set_k(k);
  return policy;
}

// Selections, orders and subsets, with and without a mask, a prefix, a size and
// impossible actions, each without and with a baseline.
inline std::vector<ChoiceCase> ChoiceCases() {
  std::vector<ChoiceCase> cases = {
      {.name = "Select",
       .policies = {SoftmaxPolicy(0.1), SoftmaxPolicy(0), SoftmaxPolicy(1)},
       .places = {6000, 3000, 1000}},
      {.name = "SelectMasked",
       .policies = {SoftmaxPolicy(0), SoftmaxPolicy(0.5)},
       .places = {9900, 100},
       .eligible = {true, false, true, true, false}},
      // The second cannot abstain.
      {.name = "SelectAbstain",
       .policies = {SoftmaxPolicy(0.2, true), SoftmaxPolicy(0.2, false)},
       .places = {4000, 6000}},
      {.name = "Rank",
       .kind = ActionKind::kRank,
       .policies = {RankPolicy(0.1), RankPolicy(0)},
       .places = {7000, 3000},
       .eligible = {true, true, false, true, true}},
      {.name = "RankTop2",
       .kind = ActionKind::kRank,
       .policies = {RankPolicy(0), RankPolicy(0.3)},
       .places = {5000, 5000},
       .top_k = 2},
      // The first leaves most orders no chance.
      {.name = "RankHead",
       .kind = ActionKind::kRank,
       .policies = {HeadPolicy(), RankPolicy(0)},
       .places = {8000, 2000},
       .eligible = {true, true, true, true, false}},
      {.name = "LabelAny",
       .kind = ActionKind::kSubset,
       .policies = {SubsetPolicy(0.1, 0), SubsetPolicy(0, 0)},
       .places = {2500, 7500}},
      {.name = "LabelTwo",
       .kind = ActionKind::kSubset,
       .policies = {SubsetPolicy(0.1, 0), SubsetPolicy(0, 3)},
       .places = {5000, 5000},
       .top_k = 2},
  };
  const size_t plain = cases.size();
  for (size_t i = 0; i < plain; ++i) {
    for (const double w : {0.3, 1.0, 1e-4}) {
      ChoiceCase c = cases[i];
      absl::StrAppend(&c.name, w == 0.3 ? "Explored" : w == 1 ? "All" : "Tiny");
      c.model_probability = w;
      c.baseline = {3};
      if (c.kind == ActionKind::kRank) c.baseline = {3, 0};
      if (c.kind == ActionKind::kRank && c.top_k == 0) {
        c.baseline = {3, 0, 1, c.name[4] == 'H' ? 2 : 4};
      }
      if (c.kind == ActionKind::kSubset) c.baseline = {0, 3};
      cases.push_back(c);
    }
  }
  return cases;
}

// Appends all orders of `ranks` of the documents that begin with `order`.
inline void AppendOrders(const std::vector<int32_t>& documents, size_t ranks,
                         Action* order, std::vector<Action>* orders) {
  if (order->size() == ranks) {
    orders->push_back(*order);
    return;
  }
  for (const int32_t document : documents) {
    if (std::find(order->begin(), order->end(), document) != order->end()) {
      continue;
    }
    order->push_back(document);
    AppendOrders(documents, ranks, order, orders);
    order->pop_back();
  }
}

// The policies and the query of a case. Views the case.
class Choice {
 public:
  explicit Choice(const ChoiceCase& c) : case_(c) {
    for (size_t a = 0; a < c.policies.size(); ++a) {
      auto policy = LinearPolicy::Create(c.policies[a], {c.weights[a]});
      CHECK(policy.ok());
      policies_.push_back(*std::move(policy));
      places_[a + 1] = c.places[a];
    }
    for (size_t a = 0; a < policies_.size(); ++a) {
      arms_.push_back({&policies_[a], c.places[a] / 10000.0});
    }
    CHECK(AssignPlaces(places_, &split_).ok());
    split_.set_salt("0123456789abcdef0123456789abcdef");
    query_.candidates = Candidates::DenseUnchecked(c.features, 1);
    std::copy(c.eligible.begin(), c.eligible.end(), eligible_.begin());
    query_.eligible = {eligible_.data(), c.eligible.size()};
    query_.top_k = c.top_k;
    plan_.mode = model::v1::EXPLORE_ABOVE_BASELINE;
    plan_.model_probability = c.model_probability;
    plan_.action = c.baseline;
  }
  Choice(const Choice&) = delete;

  const std::vector<MixedArm>& arms() const { return arms_; }
  const model::v1::Split& split() const { return split_; }
  const PolicyQuery& query() const { return query_; }
  const BaselinePlan* plan() const {
    return case_.model_probability > 0 ? &plan_ : nullptr;
  }

  // Every action that one of the policies could take.
  std::vector<Action> Actions() const {
    std::vector<int32_t> documents;
    for (int32_t i = 0; i < static_cast<int32_t>(case_.features.size()); ++i) {
      if (case_.eligible.empty() || case_.eligible[i]) {
        documents.push_back(i);
      }
    }
    std::vector<Action> actions;
    if (case_.kind == ActionKind::kSelect) {
      for (const int32_t document : documents) actions.push_back({document});
      actions.push_back({kAbstain});
    } else if (case_.kind == ActionKind::kRank) {
      const size_t ranks = case_.top_k == 0 ? documents.size() : case_.top_k;
      Action order;
      AppendOrders(documents, ranks, &order, &actions);
    } else {
      for (uint32_t set = 0; set < 1u << documents.size(); ++set) {
        Action subset;
        for (size_t i = 0; i < documents.size(); ++i) {
          if ((set >> i & 1) != 0) subset.push_back(documents[i]);
        }
        if (case_.top_k == 0 || subset.size() == case_.top_k) {
          actions.push_back(subset);
        }
      }
    }
    return actions;
  }

  // Of the whole choice of an arm.
  double OfArm(size_t a, const Action& action) {
    const double model =
        policies_[a].LogPropensity(query_, action, &workspace_);
    return plan() == nullptr ? model
                             : LogAboveBaseline(plan_.model_probability, model,
                                                action == case_.baseline);
  }

  // Decides as servers do. Returns the arm.
  size_t Decide(const std::string& unit, const std::string& id, Draw* draw) {
    const auto arm = static_cast<size_t>(
        ArmAt(split_, SplitPlace("m", split_.salt(), unit, id)));
    const Hash128 key = DecisionKey("m", arm + 1, id, kSalt);
    if (plan() == nullptr) {
      policies_[arm].Decide(query_, key, &workspace_, draw);
    } else {
      DecideWithBaseline(plan_, policies_[arm], query_, key,
                         BaselineNumber("m", kSalt, id), &workspace_, draw);
    }
    return arm;
  }

  double Mixture(size_t own, const Draw& draw) {
    return *MixtureLogPropensity(arms_, own, plan(), query_, draw, &workspace_);
  }

 private:
  const ChoiceCase& case_;
  std::vector<LinearPolicy> policies_;
  std::map<uint64_t, uint32_t> places_;
  std::vector<MixedArm> arms_;
  model::v1::Split split_;
  std::array<bool, 8> eligible_ = {};
  PolicyQuery query_;
  BaselinePlan plan_;
  PolicyWorkspace workspace_;
};

}  // namespace sortition
