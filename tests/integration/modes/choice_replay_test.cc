// Whatever the mode, the split and the kind of action: a log says enough to
// repeat each decision, its arm, its baseline and their propensities bit for
// bit.
#include <algorithm>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/policies/policy_check.h"
#include "gmock/gmock.h"
#include "tests/integration/modes/modes_server.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 3;
constexpr uint64_t kRequests = 40;  // By what serves.

struct KindCase {
  std::string name;
  ActionKind kind = ActionKind::kSelect;
  // Of versions 1, 2 and 3, the last of which is the primary one.
  std::vector<model::v1::Policy> policies = {};
  uint32_t size = 0;  // top_k or k; 0: not asked for.
};

model::v1::Policy Mixed(double mixture) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(mixture);
  return policy;
}

model::v1::Policy Softmax(double mixture, bool abstains) {
  model::v1::Policy policy = Mixed(mixture);
  policy.mutable_softmax_selection();
  if (abstains) policy.mutable_softmax_selection()->set_abstain_score(0.2);
  return policy;
}

model::v1::Policy PlackettLuce(double mixture) {
  model::v1::Policy policy = Mixed(mixture);
  policy.mutable_plackett_luce();
  return policy;
}

model::v1::Policy Boltzmann(uint32_t head) {
  model::v1::Policy policy = Mixed(0);
  policy.mutable_boltzmann_ranking()->set_rank_weights(
      model::v1::BoltzmannRanking::DCG);
  policy.mutable_boltzmann_ranking()->set_head(head);
  return policy;
}

model::v1::Policy RankGame() {
  model::v1::Policy policy = Mixed(0.1);
  policy.mutable_game_ranking()->set_discount(model::v1::GameRanking::DCG);
  return policy;
}

model::v1::Policy Subset(double mixture, uint32_t k) {
  model::v1::Policy policy = Mixed(mixture);
  policy.mutable_independent_subset()->set_k(k);
  return policy;
}

model::v1::Policy SubsetGame(model::v1::GameSubset::Measure measure) {
  model::v1::Policy policy = Mixed(0.1);
  policy.mutable_game_subset()->set_measure(measure);
  policy.mutable_game_subset()->set_tolerance(1e-9);
  if (measure == model::v1::GameSubset::PRECISION) {
    policy.mutable_game_subset()->set_k(2);
  }
  return policy;
}

std::vector<KindCase> Kinds() {
  using enum ActionKind;
  return {
      {"Select",
       kSelect,
       {Softmax(0, true), Softmax(0.1, false), Softmax(0.2, true)}},
      {"RankAll", kRank, {PlackettLuce(0), Boltzmann(2), RankGame()}},
      {"RankTop2", kRank, {Boltzmann(3), PlackettLuce(0.5), RankGame()}, 2},
      {"LabelAny", kSubset, {Subset(0, 0), Subset(0.1, 0), Subset(1, 0)}},
      {"LabelTwo",
       kSubset,
       {Subset(0, 2), SubsetGame(model::v1::GameSubset::PRECISION),
        Subset(0.1, 2)}},
      {"LabelThreeAsked",
       kSubset,
       {Subset(0, 0), Subset(0.1, 0), Subset(0.1, 0)},
       3},
      {"LabelFScore",
       kSubset,
       {Subset(0, 0), SubsetGame(model::v1::GameSubset::F_BETA),
        Subset(0.1, 0)}},
  };
}

class ChoiceReplayTest : public testing::TestWithParam<KindCase> {
 protected:
  void SetUp() override {
    std::vector<model::v1::Model> versions;
    for (const model::v1::Policy& policy : GetParam().policies) {
      const auto v = static_cast<double>(versions.size());
      model::v1::Model& model =
          versions.emplace_back(MakeModel("m", {0.5 + v, -1.25, 0.75 * v}));
      *model.mutable_policy() = policy;
    }
    server_.Start(versions);
  }

  // Dense or sparse, with and without a mask, a unit, a seed; every tenth names
  // a version or a label.
  v1::DecisionContext Request(const std::string& id) {
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    v1::DecisionContext context;
    context.set_decision_id(id);
    const uint64_t n = 3 + random.Below(4);
    auto& candidates = *context.mutable_candidates();
    candidates.set_num_features(kFeatures);
    if (random.Uniform() < 0.5) {
      for (uint64_t i = 0; i < n * kFeatures; ++i) {
        candidates.mutable_dense()->add_values(
            static_cast<float>(random.Normal()));
      }
    } else {
      auto& sparse = *candidates.mutable_sparse();
      sparse.add_row_offsets(0);
      for (uint64_t i = 0; i < n; ++i) {
        sparse.add_columns(static_cast<uint32_t>(random.Below(kFeatures)));
        sparse.add_values(static_cast<float>(random.Normal()));
        sparse.add_row_offsets(static_cast<uint32_t>(i + 1));
      }
    }
    // At least three are eligible.
    if (random.Uniform() < 0.5) {
      for (uint64_t i = 0; i < n; ++i) {
        context.add_eligible(i < 3 || random.Uniform() < 0.5);
      }
    }
    if (random.Uniform() < 0.7) {
      context.set_unit_id(absl::StrCat("unit", random.Below(20)));
    }
    if (random.Uniform() < 0.1) context.set_seed(random.Below(5));
    const double names = random.Uniform();
    if (names < 0.05) {
      context.set_version(3);
    } else if (names < 0.1) {
      context.set_label("stable");
    }
    return context;
  }

  // Every other request says what the caller would do, and some of these with
  // which probability.
  void AddBaseline(const std::string& id, bool may_draw,
                   v1::DecisionContext* context) {
    RandomSequence random(StableHash(HashDomain::kSimulation, {"b", id}));
    if (random.Uniform() < 0.5) return;
    const KindCase& c = GetParam();
    std::vector<uint32_t> documents;
    for (uint32_t i = 0; i < 3; ++i) documents.push_back(i);
    std::rotate(documents.begin(),
                documents.begin() + static_cast<ptrdiff_t>(random.Below(3)),
                documents.end());
    size_t size = 3;
    if (c.kind == ActionKind::kSelect) size = 1;
    if (c.kind == ActionKind::kSubset) {
      size = c.size > 0             ? c.size
             : c.name == "LabelTwo" ? 2
                                    : 1 + random.Below(3);
    }
    if (c.kind == ActionKind::kRank && c.size == 0) {
      // All eligible candidates.
      for (int i = 3; i < context->eligible_size(); ++i) {
        if (context->eligible(i)) documents.push_back(static_cast<uint32_t>(i));
      }
      if (context->eligible().empty()) {
        const auto n =
            context->candidates().has_sparse()
                ? context->candidates().sparse().row_offsets_size() - 1
                : context->candidates().dense().values_size() /
                      static_cast<int>(kFeatures);
        for (int i = 3; i < n; ++i)
          documents.push_back(static_cast<uint32_t>(i));
      }
      size = documents.size();
    }
    for (size_t i = 0; i < size; ++i) {
      context->mutable_baseline()->add_action(documents[i]);
    }
    if (may_draw && random.Uniform() < 0.5) {
      context->mutable_baseline()->set_log_propensity(-random.Uniform());
    }
  }

  absl::Status Decide(const v1::DecisionContext& context) {
    switch (GetParam().kind) {
      case ActionKind::kSelect:
        return server_.Select(context);
      case ActionKind::kRank:
        return server_.Rank(context, GetParam().size);
      case ActionKind::kSubset:
        break;
    }
    // An F-score game takes no size.
    return server_.Label(context, GetParam().size);
  }

  static void Split(model::v1::Serving* serving) {
    auto* first = serving->mutable_split()->add_arms();
    first->set_version(1);
    first->add_ranges()->set_end(2000);
    auto* second = serving->mutable_split()->add_arms();
    second->set_version(2);
    second->add_ranges()->set_begin(5000);
    second->mutable_ranges(0)->set_end(9000);
  }

  ModesServer server_;
};

TEST_P(ChoiceReplayTest, EveryDecisionIsRepeated) {
  struct Mode {
    model::v1::LearningMode mode;
    uint32_t explore_parts = 0;
  };
  const std::vector<Mode> modes = {{model::v1::ONLINE},
                                   {model::v1::APPRENTICE},
                                   {model::v1::EXPLORE_ABOVE_BASELINE, 1},
                                   {model::v1::EXPLORE_ABOVE_BASELINE, 4000},
                                   {model::v1::EXPLORE_ABOVE_BASELINE, 10000},
                                   {model::v1::SHADOW},
                                   {model::v1::OFF}};
  const bool plays_f_score = GetParam().name == "LabelFScore";
  int requests = 0;
  for (const Mode& mode : modes) {
    for (const bool is_split : {false, true}) {
      const bool explores = mode.mode == model::v1::EXPLORE_ABOVE_BASELINE;
      const bool may_split = mode.mode == model::v1::ONLINE || explores ||
                             mode.mode == model::v1::APPRENTICE;
      if (is_split && !may_split) continue;
      const absl::Status serves =
          server_.Serve([&](model::v1::Serving* serving) {
            serving->set_mode(mode.mode);
            serving->set_explore_parts(mode.explore_parts);
            auto* label = serving->add_labels();
            label->set_name("stable");
            label->set_version(1);
            if (is_split) Split(serving);
          });
      if (plays_f_score && explores && is_split) {
        EXPECT_EQ(serves.code(), absl::StatusCode::kFailedPrecondition);
        continue;
      }
      ASSERT_OK(serves);
      server_.OpenSpool();
      for (uint64_t i = 0; i < kRequests; ++i) {
        const std::string id = absl::StrCat("d", requests++);
        v1::DecisionContext context = Request(id);
        if (mode.mode != model::v1::ONLINE) {
          AddBaseline(id, !explores, &context);
        }
        ASSERT_OK(Decide(context)) << context.ShortDebugString();
      }
      server_.CloseSpool();
      const VerifyResult result = server_.Verify();
      EXPECT_EQ(result.verified, kRequests)
          << model::v1::LearningMode_Name(mode.mode) << " " << is_split << ": "
          << result.first_decision_id << " " << result.first_difference;
      EXPECT_EQ(result.different, 0u);
      uint64_t with_arm = 0;
      uint64_t with_baseline = 0;
      for (const auto& record : ReadSpool(server_.spool_dir())) {
        with_arm += record.decision().has_arm();
        with_baseline += record.decision().has_baseline();
        EXPECT_EQ(record.decision().arm().has_mixture_log_propensity(),
                  record.decision().has_arm() && !plays_f_score);
      }
      // Some requests name a version.
      EXPECT_EQ(with_arm > kRequests / 2, is_split);
      EXPECT_EQ(with_baseline, mode.mode == model::v1::ONLINE ? 0u : kRequests);
    }
  }
}

// Kinds whose mixtures are known.
class MixtureReplayTest : public ChoiceReplayTest {};

// A record whose arm, baseline or mixture was changed is found out.
TEST_P(MixtureReplayTest, WhatWasChangedIsFoundOut) {
  ASSERT_OK(server_.Serve([&](model::v1::Serving* serving) {
    serving->set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
    serving->set_explore_parts(5000);
    auto* label = serving->add_labels();
    label->set_name("stable");
    label->set_version(1);
    Split(serving);
  }));
  server_.OpenSpool();
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(Decide(Request(absl::StrCat("changed", i))));
  }
  server_.CloseSpool();
  DecisionVerifier verifier{ModelStore(server_.store())};
  const auto differs = [&](const log::v1::Decision& decision) {
    const auto difference = verifier.Difference(decision);
    EXPECT_OK(difference);
    return difference.ok() && difference->has_value();
  };
  int checked = 0;
  for (const auto& record : ReadSpool(server_.spool_dir())) {
    const log::v1::Decision& good = record.decision();
    EXPECT_FALSE(differs(good));
    if (!good.has_arm()) continue;
    ++checked;
    log::v1::Decision bad = good;
    bad.mutable_arm()->set_mixture_log_propensity(
        good.arm().mixture_log_propensity() * (1 + 1e-15) - 1e-300);
    EXPECT_TRUE(differs(bad));
    bad = good;
    bad.mutable_arm()->clear_mixture_log_propensity();
    EXPECT_TRUE(differs(bad));
    bad = good;
    bad.mutable_arm()->set_probability(0.5);
    EXPECT_TRUE(differs(bad));
    bad = good;
    bad.mutable_arm()->set_primary_version(2);
    EXPECT_TRUE(differs(bad));
    bad = good;
    bad.mutable_baseline()->set_model_decided(!good.baseline().model_decided());
    EXPECT_TRUE(differs(bad));
    bad = good;
    bad.mutable_baseline()->set_model_probability(0.75);
    // Where only one action can be, it makes no difference.
    EXPECT_EQ(differs(bad), good.log_propensity() < 0);
  }
  EXPECT_GE(checked, 5);
}

std::string NameOf(const testing::TestParamInfo<KindCase>& test) {
  return test.param.name;
}

std::vector<KindCase> KindsWithMixture() {
  std::vector<KindCase> kinds = Kinds();
  std::erase_if(kinds,
                [](const KindCase& c) { return c.name == "LabelFScore"; });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds, ChoiceReplayTest, testing::ValuesIn(Kinds()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Kinds, MixtureReplayTest,
                         testing::ValuesIn(KindsWithMixture()), NameOf);

}  // namespace
}  // namespace sortition
