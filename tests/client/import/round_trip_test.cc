// What was exported comes back.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "io/segments/shown_action.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAreArray;
using testing::Not;

class RoundTripTest : public ExchangeFixture {
 protected:
  // Exports, imports, and exports again; returns the tuples that came back.
  std::vector<log::v1::BanditTuple> RoundTrip(
      const std::vector<log::v1::BanditTuple>& tuples,
      const std::string& format) {
    const std::vector<std::string> flags = {"--format=" + format,
                                            "--with_censored"};
    EXPECT_OK(Export({flags[0], flags[1], Write(tuples)}));
    const std::string text = out_;
    EXPECT_OK(ImportText(text, {flags[0]}));
    EXPECT_OK(Export({flags[0], flags[1], imported()}));
    EXPECT_EQ(out_, text);
    const auto read = ReadAllTuples(imported());
    std::filesystem::remove_all(imported());
    return read;
  }

  static std::vector<log::v1::BanditTuple> AllKinds() {
    std::vector<log::v1::BanditTuple> tuples = Selections(20);
    tuples[2].add_censored(log::v1::CENSOR_REASON_UNSPECIFIED);
    tuples[3].mutable_shown()->add_shown(5);
    for (const auto& order : Orders(10)) {
      tuples.push_back(order);
      tuples.back().mutable_decision()->set_decision_id(
          "order " + order.decision().decision_id());
    }
    return tuples;
  }
};

TEST_F(RoundTripTest, JsonlBringsBackEveryByte) {
  std::vector<log::v1::BanditTuple> tuples = AllKinds();
  tuples.push_back(OddTuple());
  EXPECT_THAT(Serialised(RoundTrip(tuples, "jsonl")),
              ElementsAreArray(Serialised(tuples)));
}

TEST_F(RoundTripTest, JsonlCarriesSetsOfLabels) {
  log::v1::BanditTuple tuple = OddTuple();
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_action_kind(log::v1::LABELS);
  decision->set_num_candidates(1);
  decision->set_num_labels(5);
  decision->clear_eligible();
  decision->clear_sparse();
  decision->mutable_dense_values()->Resize(1000, -0.0f);
  decision->set_action(0, 4);
  EXPECT_THAT(Serialised(RoundTrip({tuple}, "jsonl")),
              ElementsAreArray(Serialised({tuple})));
}

// Leaves what CSV and dsjson carry alike.
log::v1::BanditTuple Core(const log::v1::BanditTuple& tuple) {
  log::v1::BanditTuple core = tuple;
  core.clear_position();
  core.clear_feedback();
  core.clear_rank_rewards();
  core.clear_shown();
  core.mutable_decision()->clear_policy();
  core.mutable_decision()->clear_candidate_ids();
  core.mutable_decision()->clear_conditional_log_propensities();
  return core;
}

std::vector<std::string> Cores(
    const std::vector<log::v1::BanditTuple>& tuples) {
  std::vector<std::string> bytes;
  for (const auto& tuple : tuples) {
    bytes.push_back(SortedBytes(Core(tuple)));
  }
  return bytes;
}

TEST_F(RoundTripTest, CsvBringsBackWhatAnEstimateNeeds) {
  const auto tuples = AllKinds();
  EXPECT_THAT(Cores(RoundTrip(tuples, "csv")), ElementsAreArray(Cores(tuples)));
  EXPECT_THAT(Cores(RoundTrip({OddTuple()}, "csv")),
              ElementsAreArray(Cores({OddTuple()})));
}

TEST_F(RoundTripTest, AttributesMayHaveColumnsOfTheirOwn) {
  const auto tuples = Selections(4);
  ASSERT_OK(Export({"--format=csv", "--attributes=device",
                    "--attributes=country", Write(tuples)}));
  EXPECT_THAT(out_, testing::HasSubstr(
                        ",keep_probability,attribute.device,attribute.country,"
                        "f0"));
  ASSERT_OK(ImportText(out_, {"--format=csv"}));
  EXPECT_THAT(Cores(ReadAllTuples(imported())),
              ElementsAreArray(Cores(tuples)));
}

TEST_F(RoundTripTest, CsvCarriesSubsets) {
  log::v1::BanditTuple tuple = Selections(1)[0];
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_action_kind(log::v1::SUBSET);
  decision->set_can_abstain(false);
  decision->clear_action();
  for (const int i : {1, 4}) decision->add_action(i);
  EXPECT_THAT(Cores(RoundTrip({tuple}, "csv")),
              ElementsAreArray(Cores({tuple})));
}

TEST_F(RoundTripTest, DsjsonBringsBackWhatAnEstimateNeeds) {
  const auto tuples = AllKinds();
  EXPECT_THAT(Cores(RoundTrip(tuples, "dsjson")),
              ElementsAreArray(Cores(tuples)));
}

TEST_F(RoundTripTest, DsjsonCountsOnlyEligibleCandidates) {
  const auto read = RoundTrip({OddTuple()}, "dsjson");
  ASSERT_EQ(read.size(), 1u);
  const log::v1::Decision& decision = read[0].decision();
  EXPECT_EQ(decision.num_candidates(), 2u);
  EXPECT_EQ(decision.action(0), 1);  // The second one that was eligible.
  EXPECT_EQ(decision.log_propensity(), OddTuple().decision().log_propensity());
  EXPECT_EQ(decision.decision_id(), OddTuple().decision().decision_id());
  EXPECT_EQ(read[0].keep_probability(), 0.25);
  EXPECT_EQ(decision.attributes().at("the \"device\", ü"), "a\nphone, \\");
}

TEST_F(RoundTripTest, SomethingElseThatWasShownStaysMarked) {
  for (const int32_t action : {2, kAbstain}) {
    log::v1::BanditTuple tuple = Selections(1)[0];
    tuple.mutable_decision()->set_action(0, action);
    tuple.mutable_shown()->add_shown(4);
    for (const char* format : {"csv", "dsjson"}) {
      // The text says so, and comes back the same.
      EXPECT_TRUE(RoundTrip({tuple}, format)[0].has_shown());
    }
  }
}

// Orders of three ranks of which what a page, a viewport or an override may say
// was shown: a list of ranks, where 3 stands for a candidate of no rank.
std::vector<log::v1::BanditTuple> ShownOrders() {
  struct Case {
    std::vector<int> ranks;
    uint32_t first_rank = 0;
    std::optional<uint32_t> seen = std::nullopt;
  };
  const std::vector<Case> cases = {
      {{0, 1, 2}}, {{0, 1}},          {{1}, 1},       {{1, 2}, 1, 1},
      {{}, 0, 2},  {{}, 0, 9},        {{0, 1}, 0, 1}, {{0, 1}, 0, 3},
      {{0, 3}},    {{0, 3, 2}, 0, 3}, {{0, 1, 2, 3}}, {{3}},
      {{3}, 0, 2}, {{1, 0}},          {{2}, 1},       {{0, 1, 2}, 0, 2}};
  std::vector<log::v1::BanditTuple> tuples = Orders(cases.size() + 1);
  tuples.back().mutable_shown()->set_not_shown(true);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& action = tuples[i].decision().action();
    int32_t other = 0;
    while (std::find(action.begin(), action.end(), other) != action.end()) {
      ++other;
    }
    log::v1::Shown& shown = *tuples[i].mutable_shown();
    shown.set_first_rank(cases[i].first_rank);
    for (const int rank : cases[i].ranks) {
      shown.add_shown(static_cast<uint32_t>(rank == 3 ? other : action[rank]));
    }
    if (cases[i].seen) shown.set_seen_ranks(*cases[i].seen);
  }
  return tuples;
}

TEST_F(RoundTripTest, WhatWasShownAndSeenComesBack) {
  const auto tuples = ShownOrders();
  EXPECT_THAT(Serialised(RoundTrip(tuples, "jsonl")),
              ElementsAreArray(Serialised(tuples)));
  const auto outcome = [](const log::v1::BanditTuple& tuple) {
    return std::tuple(ShownDiffers(tuple), ShownRanks(tuple), SeenRanks(tuple),
                      tuple.shown().has_seen_ranks(),
                      tuple.shown().seen_ranks());
  };
  for (const char* format : {"csv", "dsjson"}) {
    const auto read = RoundTrip(tuples, format);
    ASSERT_EQ(read.size(), tuples.size());
    for (size_t i = 0; i < tuples.size(); ++i) {
      EXPECT_EQ(outcome(read[i]), outcome(tuples[i]))
          << format << " " << tuples[i].shown().ShortDebugString() << " of "
          << tuples[i].decision().action(0) << " "
          << tuples[i].decision().action(1) << " "
          << tuples[i].decision().action(2);
    }
  }
}

}  // namespace
}  // namespace sortition
