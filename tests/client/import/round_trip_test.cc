// What was exported comes back.
#include "gmock/gmock.h"
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

}  // namespace
}  // namespace sortition
