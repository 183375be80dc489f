// Each learning mode writes logs that policies can be judged by: seeded logs of
// a known world, judged by `ope`, whose intervals must hold the truth.
#include "tests/integration/modes/known_world.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/modes/modes_server.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/ope/ope.h"

namespace sortition {
namespace {

using model::v1::LearningMode;

// Of 100 intervals of 95 % as many must hold. Of 20, fewer than 16 would hold
// with probability 0.003. Intervals that hold for every size do better.
constexpr int kFewLogs = 20;
constexpr int kLeastOfFew = 16;
constexpr int kManyLogs = 100;
// Intervals that hold for every size ("betting") hold at least so often.
constexpr int kLeastOfMany = 94;
// Others have 95 % for large logs: fewer of 100 hold once in 2,000 times.
constexpr int kLeastNominal = 87;
constexpr int kUnits = 200;  // Of a log, each with one to three decisions.
constexpr double kExplored = 0.25;

struct ModeCase {
  std::string name;
  LearningMode mode = model::v1::ONLINE;
  bool is_split = false;
  bool has_shadow = false;
};

std::vector<ModeCase> Modes() {
  std::vector<ModeCase> cases;
  const auto add = [&](const std::string& name, LearningMode mode,
                       bool is_split) {
    for (const bool has_shadow : {false, true}) {
      cases.push_back({absl::StrCat(name, is_split ? "Split" : "",
                                    has_shadow ? "Shadow" : ""),
                       mode, is_split, has_shadow});
    }
  };
  for (const bool is_split : {false, true}) {
    add("Online", model::v1::ONLINE, is_split);
    add("Apprentice", model::v1::APPRENTICE, is_split);
    add("Explore", model::v1::EXPLORE_ABOVE_BASELINE, is_split);
  }
  // The baseline decides alone: there is nothing to split.
  add("LookOn", model::v1::SHADOW, false);
  add("Off", model::v1::OFF, false);
  return cases;
}

// Version 2 serves and is pinned; with a split version 1 has 30 % of the
// traffic. Version 3 never decides.
std::vector<model::v1::Model> Versions() {
  std::vector<model::v1::Model> versions;
  for (const std::vector<double>& weights :
       {std::vector<double>{0.4, -0.3, 0.2},
        {-0.2, 0.5, 0.1},
        {0.6, 0.4, -0.5}}) {
    versions.push_back(MakeSelectModel("m", weights));
    versions.back().mutable_policy()->set_uniform_mixture(0.1);
  }
  return versions;
}

class KnownWorldTest : public testing::TestWithParam<ModeCase> {
 protected:
  void SetUp() override {
    const ModeCase& c = GetParam();
    server_.Start(Versions());
    ASSERT_OK(server_.Serve([&](model::v1::Serving* serving) {
      serving->set_pinned_version(2);
      serving->set_mode(c.mode);
      if (c.mode == model::v1::EXPLORE_ABOVE_BASELINE) {
        serving->set_explore_parts(static_cast<uint32_t>(10000 * kExplored));
      }
      if (c.is_split) {
        auto* arm = serving->mutable_split()->add_arms();
        arm->set_version(1);
        arm->add_ranges()->set_end(3000);
      }
      if (c.has_shadow) {
        auto* shadow = serving->add_shadows();
        shadow->set_version(3);
        shadow->set_every(2);
      }
    }));
    for (const model::v1::Model& model : Versions()) {
      policies_.push_back(*LinearPolicy::Create(
          model.policy(), {model.weights().begin(), model.weights().end()}));
    }
  }

  // With which the caller chooses each candidate: it always takes one, or draws
  // and says with which probability.
  std::vector<double> Baseline(uint32_t query) const {
    std::vector<double> p(KnownWorld::kCandidates, 0.15);
    if (GetParam().mode == model::v1::EXPLORE_ABOVE_BASELINE) p.assign(4, 0);
    p[query % KnownWorld::kCandidates] +=
        GetParam().mode == model::v1::EXPLORE_ABOVE_BASELINE ? 1 : 0.4;
    return p;
  }

  // The mean reward of a version, or of what serves.
  double ValueOf(uint64_t version) const {
    return world_.Value([&](uint32_t query) {
      return world_.Probabilities(policies_[version - 1], query);
    });
  }
  double ValueOfLog() const {
    const ModeCase& c = GetParam();
    const double baseline =
        world_.Value([&](uint32_t query) { return Baseline(query); });
    const double models =
        c.is_split ? 0.3 * ValueOf(1) + 0.7 * ValueOf(2) : ValueOf(2);
    if (c.mode == model::v1::ONLINE) return models;
    if (c.mode == model::v1::EXPLORE_ABOVE_BASELINE) {
      return kExplored * models + (1 - kExplored) * baseline;
    }
    return baseline;
  }

  void AddBaseline(uint32_t query, const std::string& id,
                   v1::DecisionContext* context) const {
    const std::vector<double> p = Baseline(query);
    RandomSequence random(StableHash(HashDomain::kSimulation, {"caller", id}));
    double left = random.Uniform();
    uint32_t taken = 0;
    while (taken + 1 < p.size() && left >= p[taken]) left -= p[taken++];
    context->mutable_baseline()->add_action(taken);
    if (GetParam().mode != model::v1::EXPLORE_ABOVE_BASELINE) {
      context->mutable_baseline()->set_log_propensity(std::log(p[taken]));
    }
  }

  // Serves all logs, and returns the tuples of each.
  std::vector<std::vector<log::v1::BanditTuple>> Serve(int logs) {
    std::map<std::string, uint32_t> queries;
    server_.OpenSpool();
    for (int l = 0; l < logs; ++l) {
      for (int u = 0; u < kUnits; ++u) {
        const std::string unit = absl::StrCat(GetParam().name, "-", l, "-", u);
        RandomSequence random(StableHash(HashDomain::kSimulation, {unit}));
        const uint64_t decisions = 1 + random.Below(3);
        for (uint64_t d = 0; d < decisions; ++d) {
          v1::DecisionContext context;
          context.set_decision_id(absl::StrCat(unit, "-", d));
          context.set_unit_id(unit);
          const auto query =
              static_cast<uint32_t>(random.Below(KnownWorld::kQueries));
          queries[context.decision_id()] = query;
          world_.SetCandidates(query, &context);
          if (GetParam().mode != model::v1::ONLINE) {
            AddBaseline(query, context.decision_id(), &context);
          }
          EXPECT_OK(server_.Select(context));
        }
      }
    }
    server_.CloseSpool();
    std::vector<std::vector<log::v1::BanditTuple>> tuples(
        static_cast<size_t>(logs));
    std::map<std::string, log::v1::BanditTuple*> by_id;
    for (auto& log : tuples) log.reserve(size_t{3} * kUnits);
    std::vector<log::v1::ShadowView> views;
    for (log::v1::LogRecord& record : ReadSpool(server_.spool_dir())) {
      if (record.has_shadow_view()) views.push_back(record.shadow_view());
      if (!record.has_decision()) continue;
      const std::string& id = record.decision().decision_id();
      const std::string& unit = record.decision().unit_id();
      const size_t begin = GetParam().name.size() + 1;
      const auto place = std::stoul(id.substr(begin));
      log::v1::BanditTuple& tuple = tuples[place].emplace_back();
      by_id[id] = &tuple;
      tuple.set_reward(
          world_.Draw(queries.at(id), record.decision().action(0), unit, id));
      tuple.set_has_feedback(true);
      *tuple.mutable_decision() = std::move(*record.mutable_decision());
    }
    for (const log::v1::ShadowView& view : views) {
      *by_id.at(view.decision_id())->add_shadow_views() = view;
    }
    return tuples;
  }

  // How many intervals hold the truth.
  struct Held {
    int value_of_first = 0;
    int value_of_third = 0;
    int value_of_shadow = 0;  // Version 3, as it looked on.
    int gain_of_first = 0;
    int gain_of_third = 0;
    int logged = 0;
  };

  static bool Holds(const model::v1::Estimate& estimate, double truth) {
    return estimate.lower() <= truth && truth <= estimate.upper();
  }

  void Judge(const std::string& dir, const std::string& arms,
             const std::string& interval, Held* held) {
    config::v1::OpeOptions options;
    options.set_tuples(dir);
    options.set_model("m");
    options.set_model_store(server_.store());
    options.add_policies("version:1");
    options.add_policies("version:3");
    if (GetParam().has_shadow) options.add_policies("shadow:3");
    options.set_arms(arms);
    options.set_interval(interval);
    ASSERT_OK_AND_ASSIGN(const config::v1::OpeReport report, Ope(options));
    EXPECT_EQ(report.arms_balanced() == report.decisions(), arms == "balanced");
    EXPECT_EQ(report.certain_baseline(), 0u);
    for (const auto& finding : report.findings()) {
      EXPECT_NE(finding.gravity(), model::v1::Finding::CONTRADICTION)
          << finding.sentence();
    }
    const double log = ValueOfLog();
    const auto& first = report.policies(0).answer();
    const auto& third = report.policies(1).answer();
    held->value_of_first += Holds(first.value(), ValueOf(1));
    held->value_of_third += Holds(third.value(), ValueOf(3));
    if (GetParam().has_shadow) {
      held->value_of_shadow +=
          Holds(report.policies(2).answer().value(), ValueOf(3));
    }
    held->gain_of_first += Holds(first.gain(), ValueOf(1) - log);
    held->gain_of_third += Holds(third.gain(), ValueOf(3) - log);
    held->logged += Holds(report.logged(), log);
  }

  const KnownWorld world_;
  ModesServer server_;
  std::vector<LinearPolicy> policies_;
};

TEST_P(KnownWorldTest, IntervalsHoldTheTruth) {
  const bool is_long = std::getenv("SORTITION_LONG") != nullptr;
  const int logs = is_long ? kManyLogs : kFewLogs;
  const auto tuples = Serve(logs);
  uint64_t decisions = 0;
  std::vector<std::string> dirs;
  for (const auto& log : tuples) {
    decisions += log.size();
    dirs.push_back(server_.Sub(absl::StrCat("log", dirs.size())));
    WriteSegment(dirs.back(), 0, log);
  }
  const VerifyResult verified = server_.Verify();
  EXPECT_EQ(verified.verified, decisions) << verified.first_difference;
  EXPECT_EQ(verified.different, 0u);
  std::vector<std::string> intervals = {"auto"};
  if (is_long) intervals.push_back("betting");
  std::vector<std::string> all_arms = {"auto"};
  if (GetParam().is_split) all_arms.push_back("balanced");
  for (const std::string& arms : all_arms) {
    for (const std::string& interval : intervals) {
      SCOPED_TRACE(arms + " " + interval);
      const int nominal = is_long ? kLeastNominal : kLeastOfFew;
      const int least = interval == "betting" ? kLeastOfMany : nominal;
      Held held;
      for (const std::string& dir : dirs) Judge(dir, arms, interval, &held);
      std::printf(
          "%s, %s, %s: of %d logs hold: value of version 1 %d, of version 3 "
          "%d, of the shadow %d, gain of version 1 %d, of version 3 %d, reward "
          "of the log %d\n",
          GetParam().name.c_str(), arms.c_str(), interval.c_str(), logs,
          held.value_of_first, held.value_of_third, held.value_of_shadow,
          held.gain_of_first, held.gain_of_third, held.logged);
      EXPECT_GE(held.value_of_first, least);
      EXPECT_GE(held.value_of_third, least);
      EXPECT_GE(held.value_of_shadow, GetParam().has_shadow ? least : 0);
      EXPECT_GE(held.gain_of_first, least);
      EXPECT_GE(held.gain_of_third, least);
      EXPECT_GE(held.logged, nominal);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, KnownWorldTest, testing::ValuesIn(Modes()),
                         [](const testing::TestParamInfo<ModeCase>& test) {
                           return test.param.name;
                         });

}  // namespace
}  // namespace sortition
