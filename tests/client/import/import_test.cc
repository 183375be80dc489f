// JSON lines of other systems become tuples that the trainer reads.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <tuple>

#include "io/segments/shown_action.h"
#include "tests/client/export/exchange_fixture.h"
#include "tests/testing/child_process.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::ElementsAreArray;

// Decisions with the ids 0, 1, ….
std::string NumberedLines(int n) {
  std::string lines;
  for (int i = 0; i < n; ++i) {
    absl::StrAppend(&lines, R"({"id": ")", i,
                    R"(", "features": [[1, 2, 3, 4]], "action": [0],)"
                    R"( "propensity": 1, "reward": 1})",
                    "\n");
  }
  return lines;
}

class ImportTest : public ExchangeFixture {
 protected:
  absl::Status ImportJson(const std::string& lines,
                          std::vector<std::string> flags = {}) {
    flags.push_back("--format=jsonl");
    return ImportText(lines, flags);
  }

  // Reads all tuples, which must be in the training part.
  absl::StatusOr<TupleData> ReadForTraining(const std::string& model) {
    config::v1::TrainOptions options;
    options.set_tuples(imported());
    options.set_model(model);
    return ReadTuples(options, {.action_kind = std::nullopt,
                                .num_features = std::nullopt,
                                .can_abstain = std::nullopt,
                                .baseline_version = 99});
  }
};

TEST_F(ImportTest, ADecisionComesBackAsItWas) {
  ASSERT_OK(ImportJson(R"({"id": "a", "features": [[0.5, -1], [0, 2], [3, 4]],)"
                       R"( "action": [1], "propensity": 0.125, "reward": 0.25}
{"id": "b", "features": [[1, 1]], "action": [-1], "propensity": 1, "reward": 0}
)"));
  EXPECT_THAT(out_, HasSubstr("2 tuples in "));
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadForTraining("default"));
  EXPECT_TRUE(data.excluded.empty());
  EXPECT_EQ(data.damage.corrupt_records, 0);
  EXPECT_TRUE(data.can_abstain);
  EXPECT_EQ(data.action_kind, ActionKind::kSelect);
  ASSERT_EQ(data.train.size(), 2);
  const BanditTuple& first = data.train[0];
  EXPECT_THAT(first.values, ElementsAre(0.5, -1, 0, 2, 3, 4));
  EXPECT_EQ(first.num_features, 2);
  EXPECT_THAT(first.action, ElementsAre(1));
  EXPECT_DOUBLE_EQ(first.log_propensity, std::log(0.125));
  EXPECT_EQ(first.loss, -0.25);
  EXPECT_THAT(data.train[1].action, ElementsAre(kAbstain));
  EXPECT_EQ(data.train[1].log_propensity, 0);
}

// A double would make 12345678901234567000 of the first, and 1e+06 of others.
TEST_F(ImportTest, IdsThatAreNumbersKeepTheirDigits) {
  ASSERT_OK(ImportJson(
      R"({"id": 12345678901234567890, "unit": 1000000, "features": [[1]], )"
      R"("action": [0], "propensity": 0.5, "reward": 1}
{"decision": {"decision_id": -7, "unit_id": 0, "candidate_ids": [1000000, "b"], )"
      R"("action_kind": "SELECT", "num_candidates": 2, "num_features": 1, )"
      R"("dense_values": [1, 2], "action": [1], "log_propensity": -1}}
)"));
  const auto tuples = ReadAllTuples(imported());
  ASSERT_EQ(tuples.size(), 2u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "12345678901234567890");
  EXPECT_EQ(tuples[0].decision().unit_id(), "1000000");
  EXPECT_EQ(tuples[1].decision().decision_id(), "-7");
  EXPECT_EQ(tuples[1].decision().unit_id(), "0");
  EXPECT_THAT(tuples[1].decision().candidate_ids(),
              ElementsAre("1000000", "b"));
}

TEST_F(ImportTest, IdsOfOtherFilesKeepTheirDigits) {
  ASSERT_OK(
      ImportText("decision_id,unit_id,chosen,propensity,reward,f0\n"
                 "1000000,0012,1,0.5,1,7\n12345678901234567890,3,1,0.5,1,7\n",
                 {"--format=csv"}));
  auto tuples = ReadAllTuples(imported());
  ASSERT_EQ(tuples.size(), 2u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "1000000");
  EXPECT_EQ(tuples[0].decision().unit_id(), "0012");
  EXPECT_EQ(tuples[1].decision().decision_id(), "12345678901234567890");
  std::filesystem::remove_all(imported());
  ASSERT_OK(ImportText(
      R"({"_label_cost":-1,"_label_probability":0.5,"_label_Action":2,)"
      R"("_labelIndex":1,"EventId":1000000,"_unit_id":42,"a":[2,1],)"
      R"("c":{"_multi":[{"T":{"x":1}},{"T":{"x":2}}]},"p":[0.5,0.5]})",
      {"--format=dsjson", "--hash_bits=4"}));
  tuples = ReadAllTuples(imported());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "1000000");
  EXPECT_EQ(tuples[0].decision().unit_id(), "42");
}

TEST_F(ImportTest, ShortFormsMayNameUnitsAndAttributes) {
  const std::string head =
      R"({"id": "a", "features": [[1]], "action": [0], "propensity": 0.5, )"
      R"("reward": 1, )";
  ASSERT_OK(ImportJson(
      head + R"("unit": "u", "attributes": {"device": "tv", "x": ""}})"));
  const log::v1::Decision decision = ReadAllTuples(imported())[0].decision();
  EXPECT_EQ(decision.unit_id(), "u");
  EXPECT_EQ(decision.attributes().size(), 2u);
  EXPECT_EQ(decision.attributes().at("device"), "tv");
  std::filesystem::remove_all(imported());
  EXPECT_THAT(ImportJson(head + R"("attributes": {"device": 1}})"),
              IsInvalidArgument("attributes.device is 1, must be a string"));
  EXPECT_THAT(ImportJson(head + R"("attributes": ["tv"]})"),
              IsInvalidArgument("attributes is an array of 1, must be an "
                                "object of strings"));
}

// A member of a map is neither given twice nor of another type.
TEST_F(ImportTest, MapsOfTheLogAreObjects) {
  const auto line = [](const std::string& attributes) {
    return R"({"decision": {"log_propensity": 0, "attributes": )" + attributes +
           "}}";
  };
  for (const auto& [attributes, problem] :
       std::vector<std::pair<std::string, std::string>>{
           {R"({"a": "1", "a": "2"})", "attributes has 'a' twice"},
           {R"({"a": 1})", "value is 1, must be of type string"},
           {R"([{"key": "a"}])", "attributes is an array of 1"}}) {
    EXPECT_THAT(ImportJson(line(attributes)), IsInvalidArgument(problem));
  }
}

TEST_F(ImportTest, RankingsKeepTheirOrder) {
  ASSERT_OK(ImportJson(R"({"id": "a", "features": [[0], [1], [2]], )"
                       R"("action": [2, 0], "propensity": 0.1, "reward": 1})",
                       {"--action=rank", "--model=other", "--version=300"}));
  ASSERT_OK_AND_ASSIGN(const TupleData data, ReadForTraining("other"));
  EXPECT_EQ(data.newest_version, 300);
  EXPECT_EQ(data.action_kind, ActionKind::kRank);
  ASSERT_EQ(data.train.size(), 1);
  EXPECT_THAT(data.train[0].action, ElementsAre(2, 0));
}

TEST_F(ImportTest, NumbersAreRoundedOnce) {
  // The double nearest to this lies halfway between two floats, of which the
  // even one, 1, is not the nearest to the decimal.
  ASSERT_OK(ImportJson(
      R"({"id": "a", "features": [[1.00000005960464477540, 1e-60]],)"
      R"( "action": [0], "propensity": 1e-300, "reward": 4.9e-324})"));
  const auto tuples = ReadAllTuples(imported());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].decision().dense_values(0), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(tuples[0].decision().dense_values(1), 0);
  EXPECT_EQ(tuples[0].decision().log_propensity(), std::log(1e-300));
  EXPECT_EQ(tuples[0].reward(), 4.9e-324);
}

TEST_F(ImportTest, AFullDirectoryIsOnlyReplacedIfAnImportMadeIt) {
  const std::string line =
      R"({"id": "a", "features": [[1]], "action": [0], "propensity": 1,)"
      R"( "reward": 1})";
  ASSERT_OK(ImportJson(line));
  EXPECT_THAT(ImportJson(line),
              IsFailedPrecondition("must be absent or empty"));
  ASSERT_OK(ImportJson(line, {"--force", "--version=7"}));
  EXPECT_EQ(ReadAllTuples(imported()).at(0).decision().version(), 7u);
}

TEST_F(ImportTest, SegmentsHaveTheSizeThatIsAskedFor) {
  const std::string lines = NumberedLines(100);
  ASSERT_OK(ImportJson(lines, {"--segment_bytes=1024"}));
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(imported()));
  EXPECT_GT(names.size(), 3u);
  for (const std::string& name : names) {
    EXPECT_LT(std::filesystem::file_size(imported() + "/" + name), 1200u);
  }
  const auto tuples = ReadAllTuples(imported());
  ASSERT_EQ(tuples.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(tuples[i].decision().decision_id(), absl::StrCat(i));
  }
}

TEST_F(ImportTest, BadDecisionsArePassedOverUpToOnePercent) {
  const auto line = [](int id, const char* propensity) {
    return absl::StrCat(
        R"({"id": "d)", id, R"(", "features": [[1]], "action": [0],)",
        R"( "propensity": )", propensity, R"(, "reward": 1})", "\n");
  };
  std::string lines = line(0, "2");
  for (int id = 1; id < 100; ++id) lines += line(id, "0.5");
  EXPECT_FALSE(ImportJson(lines).ok());
  ASSERT_OK(ImportJson(lines, {"--skip_bad"}));
  EXPECT_THAT(error_, HasTexts("1 bad decisions passed over",
                               "text:1: propensity is 2"));
  EXPECT_EQ(ReadAllTuples(imported()).size(), 99u);
  std::filesystem::remove_all(imported());
  EXPECT_THAT(ImportJson(lines + "{\n", {"--skip_bad"}),
              IsInvalidArgument("2 of 101 decisions are bad"));
  EXPECT_TRUE(NothingImported());
}

// An import that is killed leaves no tuples behind.

class ImportKillTest : public ExchangeFixture {};

TEST_F(ImportKillTest, NoDirectoryOfTuplesRemains) {
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string out = dir_.Sub("out");
  ASSERT_OK_AND_ASSIGN(
      const auto import,
      ChildProcess::Start(
          {BinaryPath("sortition"), "log", "import", "--format=jsonl",
           "--segment_bytes=1024", "--tuples=" + imported(), pipe},
          dir_ / "import"));
  const int fd = open(pipe.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  const std::string lines = NumberedLines(2000);
  ASSERT_EQ(write(fd, lines.data(), lines.size()),
            static_cast<ssize_t>(lines.size()));
  const auto has_segments = [&] {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(out)) {
      if (entry.path().extension() == ".seg") return true;
    }
    return false;
  };
  // It has written segments, and waits for more lines.
  ASSERT_TRUE(PollUntil(Patience(60), has_segments));
  import->Signal(SIGKILL);
  ASSERT_EQ(import->Wait(Patience(60)), -SIGKILL);
  close(fd);
  EXPECT_FALSE(std::filesystem::exists(imported()));
  // What is left is hidden, and does not hinder the next import.
  EXPECT_OK(ImportText(lines, {"--format=jsonl"}));
  EXPECT_EQ(ReadAllTuples(imported()).size(), 2000u);
}

// What was exported comes back.

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
  EXPECT_THAT(out_,
              HasSubstr(",keep_probability,attribute.device,attribute.country,"
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
