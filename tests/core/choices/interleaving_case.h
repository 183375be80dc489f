#pragma once
// Two versions that make orders together, over few enough candidates to
// enumerate all orders and all coins.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/choices/interleaving.h"
#include "tests/core/choices/choice_case.h"

namespace sortition {

struct InterleavingCase {
  std::string name = {};
  std::array<double, 2> mixtures = {0, 0};
  std::array<double, 2> weights = {1.3, -0.7};
  std::vector<bool> eligible = {};  // Empty: all.
  uint32_t top_k = 0;
  std::vector<float> features = {0.5f, -1.25f, 1, 0, 2};
};

inline std::vector<InterleavingCase> InterleavingCases() {
  return {
      {.name = "All"},
      {.name = "Mixed", .mixtures = {0.1, 0.4}},
      {.name = "OneMixed", .mixtures = {0.3, 0}, .top_k = 4},
      {.name = "UniformBesideSharp",
       .mixtures = {1, 0.01},
       .weights = {1, 9},
       .eligible = {true, true, false, true, true}},
      {.name = "Top1", .mixtures = {0.2, 0}, .top_k = 1},
      {.name = "Top2", .top_k = 2},
      {.name = "Top3", .mixtures = {0, 0.2}, .top_k = 3},
      {.name = "MaskedTop3",
       .mixtures = {0.1, 0.1},
       .eligible = {true, false, true, true, true},
       .top_k = 3},
      {.name = "Lone",
       .mixtures = {0.1, 0},
       .eligible = {false, false, true, false, false}},
      {.name = "Ties", .weights = {0, 2}, .features = {1, 1, 1, 3}},
  };
}

// Two versions, and what a server does with them.
class InterleavedPair {
 public:
  InterleavedPair(const InterleavingCase& c, Interleaver::Method method)
      : features_(c.features), method_(method) {
    for (size_t s = 0; s < 2; ++s) {
      policies_[s] = RankPolicy(c.mixtures[s]);
      auto linear = LinearPolicy::Create(policies_[s], {c.weights[s]});
      CHECK(linear.ok());
      linear_.push_back(*std::move(linear));
    }
    auto made = Interleaver::Create(method, {&linear_[0], &policies_[0]},
                                    {&linear_[1], &policies_[1]});
    CHECK(made.ok());
    interleaver_.emplace(*std::move(made));
    query_.candidates = Candidates::DenseUnchecked(features_, 1);
    std::copy(c.eligible.begin(), c.eligible.end(), eligible_.begin());
    query_.eligible = {eligible_.data(), c.eligible.size()};
    query_.top_k = c.top_k;
  }
  InterleavedPair(const InterleavedPair&) = delete;

  // Every order of so many ranks that there can be.
  std::vector<Action> Orders() const {
    std::vector<int32_t> documents;
    for (size_t i = 0; i < features_.size(); ++i) {
      if (query_.eligible.empty() || eligible_[i]) {
        documents.push_back(static_cast<int32_t>(i));
      }
    }
    const size_t ranks = query_.top_k == 0 ? documents.size() : query_.top_k;
    std::vector<Action> orders;
    Action order;
    Append(documents, ranks, &order, &orders);
    return orders;
  }

  // P(first r ranks of `order`) under a version, by adding up the orders that
  // begin so.
  long double OfPrefix(size_t side, const Action& order, size_t ranks) {
    const Action prefix(order.begin(),
                        order.begin() + static_cast<ptrdiff_t>(ranks));
    const auto [known, is_new] = prefixes_[side].try_emplace(prefix, 0);
    if (!is_new) return known->second;
    long double sum = 0;
    for (const Action& each : Orders()) {
      if (!std::equal(prefix.begin(), prefix.end(), each.begin())) continue;
      sum += std::exp(static_cast<long double>(
          linear_[side].LogPropensity(query_, each, &workspaces_[side])));
    }
    return known->second = sum;
  }

  // For each way that coins can fall: its probability together with the order,
  // and who filled each rank.
  struct Way {
    long double probability;
    std::vector<size_t> teams;
  };
  std::vector<Way> Ways(const Action& order) {
    const bool is_draft = method_ == model::v1::Interleave::TEAM_DRAFT;
    const size_t coins = is_draft ? (order.size() + 1) / 2 : order.size();
    std::vector<Way> ways;
    for (size_t fallen = 0; fallen < size_t{1} << coins; ++fallen) {
      Way way = {std::pow(0.5L, static_cast<int>(coins)), {}};
      for (size_t r = 0; r < order.size(); ++r) {
        const size_t coin = fallen >> (is_draft ? r / 2 : r) & 1;
        const size_t team = is_draft && r % 2 == 1 ? 1 - coin : coin;
        way.teams.push_back(team);
        way.probability *=
            OfPrefix(team, order, r + 1) / OfPrefix(team, order, r);
      }
      ways.push_back(way);
    }
    return ways;
  }

  double LogPropensity(const Action& order) {
    return interleaver_->LogPropensity(query_, order, Workspaces(), &scratch_);
  }
  void Decide(const std::string& id, Draw* draw) {
    interleaver_->Decide(
        query_,
        InterleavingKey(DecisionKey("m", 1, id), DecisionKey("m", 2, id)),
        Workspaces(), &scratch_, draw);
  }
  double OfVersion(size_t side, const Action& order) {
    return linear_[side].LogPropensity(query_, order, &workspaces_[side]);
  }

  Interleaver::Workspaces Workspaces() {
    return {&workspaces_[0], &workspaces_[1]};
  }
  const PolicyWorkspace& workspace(size_t side) const {
    return workspaces_[side];
  }
  const InterleavingScratch& scratch() const { return scratch_; }
  PolicyQuery& query() { return query_; }

 private:
  static void Append(const std::vector<int32_t>& documents, size_t ranks,
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
      Append(documents, ranks, order, orders);
      order->pop_back();
    }
  }

  const std::vector<float> features_;
  const Interleaver::Method method_;
  std::array<model::v1::Policy, 2> policies_;
  std::vector<LinearPolicy> linear_;
  std::optional<Interleaver> interleaver_;
  std::array<bool, 8> eligible_ = {};
  PolicyQuery query_;
  std::array<PolicyWorkspace, 2> workspaces_;
  InterleavingScratch scratch_;
  std::array<std::map<Action, long double>, 2> prefixes_;
};

}  // namespace sortition
