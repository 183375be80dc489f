#include "tests/integration/modes/random_log.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/hash.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {
namespace {

// What a rank adds where the order has one reward.
constexpr double kRankShares[] = {0.5, 0.3, 0.2};
constexpr int64_t kStartUs = 1767225600000000;  // 2026-01-01
constexpr int64_t kDayUs = int64_t{86400} * 1000000;

}  // namespace

RandomLog::RandomLog(uint64_t seed)
    : random_(StableHash(HashDomain::kSimulation,
                         {"random log", absl::StrCat(seed)})) {
  DrawKind();
  DrawRewards();
  DrawUsers();
  ListActions();
  policies_.push_back(LinearPolicy::Uniform(kind_, can_abstain_));
}

void RandomLog::DrawKind() {
  kind_ = OneOf({ActionKind::kSelect, ActionKind::kRank, ActionKind::kSubset});
  num_queries_ = static_cast<uint32_t>(2 + random_.Below(5));
  switch (kind_) {
    case ActionKind::kSelect:
      num_candidates_ = static_cast<uint32_t>(2 + random_.Below(4));
      can_abstain_ = Happens(0.4);
      mode_ = OneOf(
          {Mode::kOnline, Mode::kSplit, Mode::kApprentice, Mode::kExplore});
      break;
    case ActionKind::kRank:
      num_candidates_ = static_cast<uint32_t>(3 + random_.Below(2));
      size_ = num_candidates_ == 4 ? 2 : 3;
      has_rank_rewards_ = Happens(0.5);
      is_seen_known_ = Happens(0.5);
      mode_ = OneOf({Mode::kOnline, Mode::kSplit, Mode::kApprentice,
                     Mode::kExplore, Mode::kInterleaved});
      method_ = OneOf({model::v1::Interleave::TEAM_DRAFT,
                       model::v1::Interleave::PROBABILISTIC});
      break;
    case ActionKind::kSubset:
      num_candidates_ = static_cast<uint32_t>(3 + random_.Below(2));
      size_ = OneOf({0u, 2u});
      mode_ = OneOf(
          {Mode::kOnline, Mode::kSplit, Mode::kApprentice, Mode::kExplore});
      break;
  }
  for (uint32_t i = 0; i < num_queries_ * num_candidates_ * kFeatures; ++i) {
    features_.push_back(static_cast<float>(random_.Normal()));
  }
}

void RandomLog::DrawRewards() {
  const double largest = OneOf({0.7, 0.7, 0.1, 0.02});
  for (uint32_t i = 0; i < num_queries_ * (num_candidates_ + 1); ++i) {
    chances_.push_back(largest * (0.05 + 0.95 * random_.Uniform()));
    complaints_.push_back(0.1 * random_.Uniform());
  }
  if (!has_rank_rewards_) {
    is_certain_ = Happens(0.1);
    span_ = OneOf({1.0, 1.0, 1.0, 100.0});
    least_ = OneOf({0.0, 0.0, -span_});
    overridden_ = OneOf({0.0, 0.0, 0.1});
  }
  options_.set_reward_min(least_);
  options_.set_reward_max(reward_max());
  if (overridden_ > 0 && Happens(0.5)) options_.set_overrides("as_shown");
}

void RandomLog::DrawUsers() {
  shadow_every_ = OneOf({0u, 0u, 1u, 2u});
  censored_ = OneOf({0.0, 0.0, 0.15});
  if (Happens(0.3)) kept_[0] = OneOf({0.5, 0.8});
  if (Happens(0.3)) kept_[1] = OneOf({0.5, 0.8});
  has_copies_ = Happens(0.2);
  has_complaints_ = Happens(0.6);
  has_units_ = Happens(0.7);
  num_users_ = static_cast<uint32_t>(
      30 * std::pow(OneOf({10.0, 10.0, 10.0, 100.0}), random_.Uniform()));
  most_decisions_ = static_cast<uint32_t>(1 + random_.Below(4));
  if (mode_ == Mode::kSplit && has_units_ && Happens(0.5)) {
    returns_[0] = OneOf({0.3, 0.8});
  }
}

model::v1::Policy RandomLog::DrawPolicy() {
  model::v1::Policy policy;
  policy.set_inverse_temperature(OneOf({0.5, 1.0, 3.0}));
  policy.set_uniform_mixture(OneOf({0.003, 0.03, 0.1, 0.5}));
  switch (kind_) {
    case ActionKind::kSelect:
      policy.mutable_softmax_selection();
      if (can_abstain_) {
        policy.mutable_softmax_selection()->set_abstain_score(random_.Normal());
      }
      break;
    case ActionKind::kRank:
      if (mode_ != Mode::kInterleaved && Happens(0.3)) {
        policy.mutable_boltzmann_ranking()->set_rank_weights(
            model::v1::BoltzmannRanking::DCG);
        policy.mutable_boltzmann_ranking()->set_head(size_);
      } else {
        policy.mutable_plackett_luce();
      }
      break;
    case ActionKind::kSubset:
      policy.mutable_independent_subset()->set_k(size_);
      break;
  }
  return policy;
}

std::vector<model::v1::Model> RandomLog::DrawVersions() {
  std::vector<model::v1::Model> versions;
  for (int i = 0; i < 3; ++i) {
    std::vector<double> weights(kFeatures);
    for (double& weight : weights) weight = random_.Normal();
    versions.push_back(MakeModel("m", weights));
    *versions.back().mutable_policy() = DrawPolicy();
    policies_.push_back(*LinearPolicy::Create(versions.back()));
  }
  return versions;
}

void RandomLog::ListActions() {
  Documents documents(num_candidates_);
  std::iota(documents.begin(), documents.end(), 0);
  switch (kind_) {
    case ActionKind::kSelect:
      for (const int32_t document : documents) actions_.push_back({document});
      if (can_abstain_) actions_.push_back({kAbstain});
      break;
    case ActionKind::kRank:
      do {
        Documents order(documents.begin(), documents.begin() + size_);
        if (actions_.empty() || actions_.back() != order) {
          actions_.push_back(std::move(order));
        }
      } while (std::next_permutation(documents.begin(), documents.end()));
      break;
    case ActionKind::kSubset:
      for (uint32_t bits = 0; bits < 1u << num_candidates_; ++bits) {
        Documents subset;
        for (const int32_t document : documents) {
          if ((bits >> document & 1) != 0) subset.push_back(document);
        }
        if (size_ == 0 || subset.size() == size_) {
          actions_.push_back(std::move(subset));
        }
      }
      break;
  }
  while (overriding_.size() < num_queries_) {
    const size_t place = random_.Below(actions_.size());
    const Documents& action = actions_[place];
    if (!action.empty() && action[0] != kAbstain) overriding_.push_back(place);
  }
}

PolicyQuery RandomLog::Query(uint32_t query) const {
  const size_t size = size_t{num_candidates_} * kFeatures;
  PolicyQuery view;
  view.candidates = Candidates::DenseUnchecked(
      std::span<const float>(features_).subspan(query * size, size), kFeatures);
  view.top_k = kind_ == ActionKind::kSelect ? 0 : size_;
  return view;
}

RandomLog::Probabilities RandomLog::BaselineOf(uint32_t query) const {
  // The caller's own choice, which nothing else does.
  Probabilities p(actions_.size(), 0);
  const bool draws = mode_ == Mode::kApprentice;
  double left = 1;
  for (size_t i = 0; i < actions_.size() && draws; ++i) {
    if (actions_[i].empty() || actions_[i][0] == kAbstain) continue;
    p[i] = 0.6 / static_cast<double>(actions_.size());
    left -= p[i];
  }
  p[overriding_[query]] += left;
  return p;
}

double RandomLog::Expected(uint32_t query, const Documents& shown,
                           uint32_t seen, Outcome outcome) const {
  const std::vector<double>& table =
      outcome == Outcome::kComplaint ? complaints_ : chances_;
  const auto at = [&](int32_t document) {
    const auto place = document == kAbstain ? num_candidates_
                                            : static_cast<uint32_t>(document);
    return table[query * (num_candidates_ + 1) + place];
  };
  double sum = 0;
  if (outcome == Outcome::kComplaint || kind_ != ActionKind::kRank) {
    for (const int32_t document : shown) {
      sum += at(document) / static_cast<double>(shown.size());
    }
    return outcome == Outcome::kComplaint ? -sum : least_ + span_ * sum;
  }
  for (uint32_t k = 0; k < seen; ++k) {
    sum += (has_rank_rewards_ ? 1 : kRankShares[k]) * at(shown[k]);
  }
  return least_ + span_ * sum;
}

double RandomLog::Earned(uint32_t query, const Documents& action,
                         Outcome outcome) const {
  const Documents& other = actions_[overriding_[query]];
  const bool is_as_shown = options_.overrides() == "as_shown";
  const uint32_t ranks = is_seen_known_ ? size_ : 1;
  double sum = 0;
  for (uint32_t i = 0; i < ranks; ++i) {
    const uint32_t seen = is_seen_known_ ? i + 1 : size_;
    // Of an order only the ranks that the user saw can have been changed,
    // unless the outcome is not of ranks.
    const size_t compared =
        kind_ == ActionKind::kRank && outcome != Outcome::kComplaint
            ? seen
            : action.size();
    const bool is_same =
        kind_ == ActionKind::kRank
            ? std::equal(action.begin(),
                         action.begin() + static_cast<ptrdiff_t>(compared),
                         other.begin())
            : action == other;
    double overridden = Expected(query, other, seen, outcome);
    if (is_as_shown && !is_same) {
      overridden = outcome == Outcome::kComplaint ? 0 : least_;
    }
    sum += (1 - overridden_) * Expected(query, action, seen, outcome) +
           overridden_ * overridden;
  }
  return sum / ranks;
}

double RandomLog::Mean(
    const std::function<Probabilities(uint32_t query)>& policy,
    Outcome outcome) const {
  double sum = 0;
  for (uint32_t query = 0; query < num_queries_; ++query) {
    const Probabilities p = policy(query);
    for (size_t i = 0; i < actions_.size(); ++i) {
      sum += p[i] * Earned(query, actions_[i], outcome);
    }
  }
  return sum / num_queries_;
}

double RandomLog::ValueOf(const LinearPolicy& policy, Outcome outcome) const {
  PolicyWorkspace workspace;
  return Mean(
      [&](uint32_t query) {
        Probabilities p;
        for (const Documents& action : actions_) {
          p.push_back(
              std::exp(policy.LogPropensity(Query(query), action, &workspace)));
        }
        EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-9);
        return p;
      },
      outcome);
}

std::optional<double> RandomLog::ValueOfLog(Outcome outcome) const {
  const auto baseline = [&] {
    return Mean([&](uint32_t query) { return BaselineOf(query); }, outcome);
  };
  switch (mode_) {
    case Mode::kOnline:
      return ValueOf(2, outcome);
    case Mode::kSplit: {
      const double later = (most_decisions_ - 1) / 2.0;
      const double first = kFirstArm * (1 + returns_[0] * later);
      const double second = (1 - kFirstArm) * (1 + returns_[1] * later);
      return (first * ValueOf(1, outcome) + second * ValueOf(2, outcome)) /
             (first + second);
    }
    case Mode::kApprentice:
      return baseline();
    case Mode::kExplore:
      return kExplored * ValueOf(2, outcome) + (1 - kExplored) * baseline();
    case Mode::kInterleaved:
      break;
  }
  return std::nullopt;
}

void RandomLog::Serve(model::v1::Serving* serving) const {
  serving->set_pinned_version(2);
  serving->set_mode(mode_ == Mode::kApprentice ? model::v1::APPRENTICE
                    : mode_ == Mode::kExplore
                        ? model::v1::EXPLORE_ABOVE_BASELINE
                        : model::v1::ONLINE);
  if (mode_ == Mode::kExplore) {
    serving->set_explore_parts(static_cast<uint32_t>(10000 * kExplored));
  }
  if (mode_ == Mode::kSplit) {
    auto* arm = serving->mutable_split()->add_arms();
    arm->set_version(1);
    arm->add_ranges()->set_end(static_cast<uint32_t>(10000 * kFirstArm));
  }
  if (mode_ == Mode::kInterleaved) {
    auto* interleave = serving->mutable_interleave();
    interleave->set_version(1);
    interleave->set_method(method_);
    interleave->set_parts(6000);
    interleave->set_salt(serving->split().salt());
    serving->clear_split();
  }
  if (shadow_every_ > 0) {
    auto* shadow = serving->add_shadows();
    shadow->set_version(3);
    shadow->set_every(shadow_every_);
  }
}

v1::DecisionContext RandomLog::Request(const std::string& unit,
                                       const std::string& id, uint32_t query) {
  v1::DecisionContext context;
  context.set_decision_id(id);
  if (has_units_) context.set_unit_id(unit);
  (*context.mutable_attributes())["device"] = OneOf({"phone", "desk"});
  const auto values = Query(query).candidates.values();
  SetDense(kFeatures, {values.begin(), values.end()}, &context);
  if (mode_ != Mode::kApprentice && mode_ != Mode::kExplore) return context;
  const Probabilities p = BaselineOf(query);
  double left = random_.Uniform();
  size_t taken = 0;
  while (taken + 1 < p.size() && left >= p[taken]) left -= p[taken++];
  // Rounding may have come to one that cannot be.
  if (p[taken] == 0) taken = overriding_[query];
  for (const int32_t document : actions_[taken]) {
    context.mutable_baseline()->add_action(static_cast<uint32_t>(document));
  }
  if (mode_ == Mode::kApprentice) {
    context.mutable_baseline()->set_log_propensity(std::log(p[taken]));
  }
  return context;
}

absl::Status RandomLog::Decide(const v1::DecisionContext& context) {
  switch (kind_) {
    case ActionKind::kSelect:
      return server_.Select(context);
    case ActionKind::kRank:
      return server_.Rank(context, size_);
    case ActionKind::kSubset:
      break;
  }
  return server_.Label(context, 0);
}

void RandomLog::AddReward(uint32_t query, const Documents& shown, uint32_t seen,
                          double content, log::v1::BanditTuple* tuple) {
  tuple->set_has_feedback(true);
  if (!has_rank_rewards_) {
    const double mean = Expected(query, shown, seen, Outcome::kReward);
    const double chance = content * (mean - least_) / span_;
    tuple->set_reward(is_certain_ ? mean
                                  : least_ + (Happens(chance) ? span_ : 0));
    return;
  }
  for (uint32_t k = 0; k < seen; ++k) {
    const double chance = chances_[query * (num_candidates_ + 1) +
                                   static_cast<uint32_t>(shown[k])];
    if (!Happens(content * chance)) continue;
    tuple->set_reward(tuple->reward() + 1);
    log::v1::RankReward* click = tuple->add_rank_rewards();
    click->set_rank(k);
    click->set_reward(1);
    click->set_count(1);
  }
}

bool RandomLog::Finish(uint32_t query, const std::string& unit, bool is_first,
                       log::v1::BanditTuple* tuple) {
  log::v1::Decision& decision = *tuple->mutable_decision();
  decision.set_time_us(kStartUs +
                       static_cast<int64_t>(random_.Below(3 * kDayUs)));
  if (!is_first && !Happens(returns_[decision.version() == 1 ? 0 : 1])) {
    return false;
  }
  // Some users earn twice as much as others.
  RandomSequence user(StableHash(HashDomain::kSimulation, {"user", unit}));
  const double content = user.Uniform() < 0.5 ? 4.0 / 3 : 2.0 / 3;
  const size_t spool = user.Below(2);
  const double kept = kept_[spool];
  if (KeepNumber(decision.unit_id(), decision.decision_id()) >= kept) {
    return false;
  }
  tuple->set_keep_probability(kept);
  tuple->set_spool_writer(absl::StrCat("s", spool));
  if (Happens(censored_)) tuple->add_censored(log::v1::LOST);
  Documents shown(decision.action().begin(), decision.action().end());
  if (Happens(overridden_)) {
    shown = actions_[overriding_[query]];
    for (const int32_t document : shown) {
      tuple->mutable_shown()->add_shown(static_cast<uint32_t>(document));
    }
  }
  uint32_t seen = size_;
  if (is_seen_known_) {
    seen = static_cast<uint32_t>(1 + random_.Below(size_));
    tuple->mutable_shown()->set_seen_ranks(seen);
  }
  AddReward(query, shown, seen, content, tuple);
  return true;
}

void RandomLog::Write() {
  server_.Start(DrawVersions());
  ASSERT_OK(
      server_.Serve([&](model::v1::Serving* serving) { Serve(serving); }));
  server_.OpenSpool();
  struct Asked {
    uint32_t query;
    std::string user;
    bool is_first;
  };
  std::map<std::string, Asked> asked;
  for (uint32_t u = 0; u < num_users_; ++u) {
    const std::string user = absl::StrCat("u", u);
    const uint64_t decisions = 1 + random_.Below(most_decisions_);
    for (uint64_t d = 0; d < decisions; ++d) {
      const std::string id = absl::StrCat(user, "-", d);
      const auto query = static_cast<uint32_t>(random_.Below(num_queries_));
      asked[id] = {query, user, d == 0};
      ASSERT_OK(Decide(Request(user, id, query)));
    }
  }
  server_.CloseSpool();
  std::map<std::string, std::vector<log::v1::ShadowView>> views;
  std::map<std::string, std::vector<log::v1::BanditTuple>> spools;
  const auto records = ReadSpool(server_.spool_dir());
  for (const log::v1::LogRecord& record : records) {
    if (record.has_shadow_view()) {
      views[record.shadow_view().decision_id()].push_back(record.shadow_view());
    }
  }
  const std::string file = server_.Sub("outcomes") + "/complaints.csv";
  std::ofstream complaints(file);
  complaints << "decision_id,reward\n";
  for (const log::v1::LogRecord& record : records) {
    if (!record.has_decision()) continue;
    log::v1::BanditTuple tuple;
    *tuple.mutable_decision() = record.decision();
    const std::string& id = record.decision().decision_id();
    const Asked& of = asked.at(id);
    // Without a unit each decision is a user of its own.
    if (!Finish(of.query, has_units_ ? of.user : id, of.is_first, &tuple)) {
      continue;
    }
    for (const auto& view : views[id]) *tuple.add_shadow_views() = view;
    const auto& list = tuple.shown().shown_size() > 0
                           ? actions_[overriding_[of.query]]
                           : Documents(record.decision().action().begin(),
                                       record.decision().action().end());
    const double chance = -Expected(of.query, list, size_, Outcome::kComplaint);
    complaints << id << "," << (Happens(chance) ? "-1" : "0") << "\n";
    auto& spool = spools[tuple.spool_writer()];
    tuple.mutable_position()->set_segment("x");
    tuple.mutable_position()->set_offset(spool.size());
    spool.push_back(std::move(tuple));
  }
  complaints.close();
  std::vector<std::string> dirs;
  for (const auto& [writer, tuples] : spools) {
    for (int copy = 0; copy <= (has_copies_ ? 1 : 0); ++copy) {
      dirs.push_back(server_.Sub(absl::StrCat("tuples", dirs.size())));
      WriteSegment(dirs.back(), dirs.size(), tuples);
    }
  }
  options_.set_tuples(absl::StrJoin(dirs, ","));
  options_.set_model("m");
  options_.set_model_store(server_.store());
  if (!has_complaints_) return;
  options_.add_rewards(
      absl::StrCat("complaints=", file, "@horizon=0s@through=2026-02-01"));
  options_.add_reward_ranges("complaints:-1:0");
}

std::string RandomLog::Description() const {
  constexpr const char* kModes[] = {"online", "split", "apprentice", "explore",
                                    "interleaved"};
  return absl::StrCat(
      kind_ == ActionKind::kSelect ? "select"
      : kind_ == ActionKind::kRank ? "rank"
                                   : "label",
      " ", size_, " of ", num_candidates_, can_abstain_ ? " or none" : "", ", ",
      num_queries_, " queries, ", kModes[static_cast<int>(mode_)],
      shadow_every_ > 0 ? ", shadow" : "", ", rewards in [", least_, ", ",
      reward_max(), "]", is_certain_ ? ", certain" : "",
      has_rank_rewards_ ? ", by rank" : "",
      is_seen_known_ ? ", ranks seen" : "", ", overridden ", overridden_, " ",
      options_.overrides(), ", censored ", censored_, ", kept ", kept_[0], " ",
      kept_[1], has_copies_ ? ", copies" : "", ", ", num_users_,
      has_units_ ? " units" : " users", " of up to ", most_decisions_,
      ", returns ", returns_[0]);
}

}  // namespace sortition
