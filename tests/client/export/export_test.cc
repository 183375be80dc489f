// What `log export` writes, leaves out and refuses.
#include <bit>
#include <charconv>
#include <limits>
#include <random>

#include "absl/strings/str_split.h"
#include "client/export/shortest_float.h"
#include "google/protobuf/util/json_util.h"
#include "io/datasets/letor.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

log::v1::BanditTuple SmallTuple() {
  log::v1::BanditTuple tuple;
  tuple.set_reward(0.5);
  tuple.set_has_feedback(true);
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id("a,\"b\"");
  decision->set_time_us(1500000);
  decision->set_model("m");
  decision->set_version(3);
  decision->set_action_kind(log::v1::SELECT);
  decision->set_num_candidates(2);
  decision->set_num_features(2);
  decision->add_action(1);
  decision->set_log_propensity(std::log(0.25));
  for (const float value : {0.1f, 2.0f, 0.0f, -4.5f}) {
    decision->add_dense_values(value);
  }
  return tuple;
}

class ExportTest : public ExchangeFixture {};

TEST_F(ExportTest, ProtobufReadsTheJson) {
  std::vector<log::v1::BanditTuple> tuples = Selections(20);
  for (const auto& order : Orders(5)) tuples.push_back(order);
  tuples.push_back(OddTuple());
  tuples.back().mutable_decision()->set_seed(0);  // Set, but 0.
  tuples.back().add_censored(log::v1::LOST);
  ASSERT_OK(Export({"--format=jsonl", "--with_censored", Write(tuples)}));
  const std::vector<std::string> lines = Lines(out_);
  ASSERT_EQ(lines.size(), tuples.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    log::v1::BanditTuple read;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(lines[i], &read).ok())
        << lines[i];
    EXPECT_EQ(SortedBytes(read), SortedBytes(tuples[i]));
  }
}

TEST_F(ExportTest, CsvHasALineForEachCandidate) {
  ASSERT_OK(Export({"--format=csv", Write({SmallTuple()})}));
  const std::string head = "\"a,\"\"b\"\"\",1500000,,m,3,SELECT,";
  const std::string tail =
      absl::StrCat(",0.25,", "-1.3862943611198906", ",0.5,1,1,,0,1,,");
  EXPECT_THAT(
      Lines(out_),
      ElementsAre("decision_id,time_us,unit_id,model,version,action_kind,"
                  "document_index,candidate_id,eligible,chosen,"
                  "conditional_log_propensity,rank_reward,rank_shown,rank_seen,"
                  "propensity,log_propensity,reward,has_feedback,action_shown,"
                  "seen_ranks,can_abstain,keep_probability,attributes,f0,f1",
                  head + "0,,1,0,,,," + tail + "0.1,2",
                  head + "1,,1,1,-1.3862943611198906,,1,1" + tail + "0,-4.5"));
}

// The order 2, 0, 1 of which the first two ranks were shown, and the first was
// seen.
log::v1::BanditTuple PagedTuple() {
  log::v1::BanditTuple tuple;
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id("p");
  decision->set_action_kind(log::v1::RANK);
  decision->set_num_candidates(3);
  decision->set_num_features(1);
  for (const int i : {2, 0, 1}) {
    decision->add_action(i);
    decision->add_conditional_log_propensities(0);
    decision->add_dense_values(1);
  }
  for (const uint32_t i : {2, 0}) tuple.mutable_shown()->add_shown(i);
  tuple.mutable_shown()->set_seen_ranks(1);
  return tuple;
}

TEST_F(ExportTest, CsvSaysWhichRanksWereShownAndSeen) {
  const std::string dir = Write({PagedTuple()});
  ASSERT_OK(Export({"--format=csv", dir}));
  // Cells from `chosen` on, up to `can_abstain`.
  const std::string tail = ",1,0,0,0,1,1,0,";
  EXPECT_THAT(Lines(out_), ElementsAre(HasSubstr("decision_id"),
                                       HasSubstr(",0,,1,2,0,,1,0" + tail),
                                       HasSubstr(",1,,1,3,0,,0,0" + tail),
                                       HasSubstr(",2,,1,1,0,,1,1" + tail)));
  ASSERT_OK(Export({"--format=csv", "--rows=decision", dir}));
  EXPECT_THAT(
      Lines(out_),
      ElementsAre(HasSubstr(",num_candidates,num_eligible,action,shown_ranks,"),
                  HasSubstr(",RANK,3,3,2 0 1,2" + tail)));
}

TEST_F(ExportTest, DsjsonSaysHowManyRanksWereShownAndSeen) {
  log::v1::BanditTuple whole = PagedTuple();
  whole.mutable_decision()->set_decision_id("w");
  whole.mutable_shown()->add_shown(1);
  whole.mutable_shown()->clear_seen_ranks();
  ASSERT_OK(Export({"--format=dsjson", Write({PagedTuple(), whole})}));
  ASSERT_EQ(Lines(out_).size(), 2u);
  EXPECT_THAT(Lines(out_)[0],
              HasSubstr(",\"_shown_ranks\":2,\"_seen_ranks\":1,"));
  EXPECT_THAT(Lines(out_)[1], Not(HasSubstr("_ranks\":")));
}

TEST_F(ExportTest, CsvHasALineForEachDecision) {
  ASSERT_OK(Export({"--format=csv", "--rows=decision", Write({SmallTuple()})}));
  EXPECT_THAT(
      Lines(out_)[1],
      testing::StartsWith("\"a,\"\"b\"\"\",1500000,,m,3,SELECT,2,2,1,"));
  // OddTuple() has three candidates, of which two were eligible.
  ASSERT_OK(Export({"--format=csv", "--rows=decision", Write({OddTuple()})}));
  EXPECT_THAT(out_, HasSubstr(",SELECT,3,2,2,"));
}

TEST_F(ExportTest, SvmlightIsReadByTheReaderOfLabelledData) {
  std::vector<log::v1::BanditTuple> tuples = Selections(30);
  ASSERT_OK(Export({"--format=svmlight", Write(tuples)}));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries queries, ParseLetor(out_));
  EXPECT_EQ(queries.queries.size(), tuples.size());
  ASSERT_OK(Export({"--format=svmlight", "--rows=decision", Write(tuples)}));
  size_t answered = 0;
  for (const auto& tuple : tuples) {
    answered += tuple.decision().action(0) != kAbstain;
  }
  EXPECT_GT(answered, 0u);
  EXPECT_EQ(Lines(out_).size(), answered);
}

TEST_F(ExportTest, CensoredTuplesAreLeftOutAndCounted) {
  std::vector<log::v1::BanditTuple> tuples = Selections(10);
  tuples[3].add_censored(log::v1::REFUSED);
  const std::string dir = Write(tuples);
  for (const char* format : {"jsonl", "csv", "dsjson", "svmlight"}) {
    ASSERT_OK(Export({absl::StrCat("--format=", format), dir}));
    EXPECT_THAT(error_, HasSubstr("9 tuples exported; 1 left out: censored"));
  }
  ASSERT_OK(
      Export({"--format=csv", "--rows=decision", "--with_censored", dir}));
  const std::vector<std::string> lines = Lines(out_);
  ASSERT_EQ(lines.size(), 11u);
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], HasSubstr(i == 4 ? ",1,\"{" : ",0,\"{"));
  }
}

TEST_F(ExportTest, WhatAFormatCannotSayIsLeftOutAndCounted) {
  std::vector<log::v1::BanditTuple> tuples = {SmallTuple(), SmallTuple(),
                                              SmallTuple()};
  tuples[1].mutable_decision()->set_action_kind(log::v1::SUBSET);
  tuples[2].mutable_decision()->set_action_kind(log::v1::LABELS);
  const std::string dir = Write(tuples);
  ASSERT_OK(Export({"--format=dsjson", dir}));
  EXPECT_THAT(error_, HasTexts("1 tuples exported", "1 left out: subsets",
                               "1 left out: sets of labels"));
  ASSERT_OK(Export({"--format=jsonl", dir}));
  EXPECT_THAT(error_, HasSubstr("3 tuples exported\n"));
}

TEST_F(ExportTest, AnOrderWithoutConditionalsIsNotSplitIntoSlots) {
  std::vector<log::v1::BanditTuple> tuples = Orders(2);
  tuples[1].mutable_decision()->clear_conditional_log_propensities();
  ASSERT_OK(Export({"--format=dsjson", Write(tuples)}));
  EXPECT_THAT(error_, HasSubstr("1 left out: orders without"));
}

TEST_F(ExportTest, MalformedActionsAreLeftOut) {
  std::vector<log::v1::BanditTuple> tuples(6, SmallTuple());
  tuples[1].mutable_decision()->set_action(0, 2);
  tuples[2].mutable_decision()->set_action(0, -1);
  tuples[3].mutable_decision()->add_action(0);
  tuples[4].mutable_decision()->clear_action();
  tuples[5].mutable_decision()->set_num_features(3);
  ASSERT_OK(Export({"--format=csv", Write(tuples)}));
  EXPECT_THAT(error_, HasSubstr("1 tuples exported; 4 left out: malformed "
                                "action; 1 left out: malformed features"));
}

TEST_F(ExportTest, SomethingElseThatWasShownIsMarked) {
  std::vector<log::v1::BanditTuple> tuples = {SmallTuple()};
  tuples[0].mutable_shown()->add_shown(0);
  const std::string dir = Write(tuples);
  ASSERT_OK(Export({"--format=csv", "--rows=decision", dir}));
  EXPECT_THAT(Lines(out_)[1], HasSubstr(",0.5,1,0,,0,1"));
  ASSERT_OK(Export({"--format=dsjson", dir}));
  EXPECT_THAT(out_, HasSubstr("\"_skipLearn\":true"));
}

TEST_F(ExportTest, SeveralDirectoriesAreOneExport) {
  const std::string first = Write(Selections(3));
  ASSERT_OK(Export({"--format=jsonl", first, Write(Orders(2))}));
  EXPECT_EQ(Lines(out_).size(), 5u);
}

TEST_F(ExportTest, CopiesInAnotherDirectoryAreLeftOutAndCounted) {
  const auto tuples = Selections(5);
  const std::string first = Write({tuples[0], tuples[1], tuples[2]});
  const std::string second = Write({tuples[1], tuples[2], tuples[3]});
  ASSERT_OK(Export({"--format=jsonl", first, second}));
  EXPECT_EQ(Lines(out_).size(), 4u);
  EXPECT_THAT(error_, HasSubstr("4 tuples exported; 2 left out: copies"));
}

TEST_F(ExportTest, TornEndsAreCounted) {
  const std::string dir = Write(Selections(3));
  const auto names = ListSegments(dir);
  const std::string path = absl::StrCat(dir, "/", (*names)[0]);
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
  // The footer without its last bytes, which are a checksum of four.
  bytes.resize(bytes.size() - 3);
  ASSERT_OK(WriteFile(path, bytes));
  ASSERT_OK(Export({"--format=csv", dir}));
  EXPECT_THAT(error_, HasTexts("3 tuples exported; ",
                               " torn bytes at the ends of segments\n"));
}

TEST_F(ExportTest, AnIncompleteLogIsRefusedAndLeavesNoFile) {
  const std::string dir = dir_.Sub("incomplete");
  SegmentWriter::Options options;
  options.dir = dir;
  options.name = SegmentName(1, "test", 0);
  options.preallocate_bytes = 65536;
  options.header.set_kind(log::v1::SegmentHeader::TUPLES);
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  log::v1::LogRecord record;
  *record.mutable_tuple() = SmallTuple();
  ASSERT_OK(writer->Append(record));
  record.mutable_incomplete()->set_reason("feedback of others");
  ASSERT_OK(writer->Append(record));
  ASSERT_OK(writer->Close());
  const std::string output = dir_.Sub("exported") + "/file";
  for (const char* format : {"csv", "npz"}) {
    EXPECT_THAT(
        Export({absl::StrCat("--format=", format), "--output=" + output, dir}),
        IsFailedPrecondition("feedback of others"));
    EXPECT_TRUE(std::filesystem::is_empty(dir_.Sub("exported")));
  }
  ASSERT_OK(Export(
      {"--format=csv", "--allow_incomplete", "--output=" + output, dir}));
  EXPECT_TRUE(std::filesystem::exists(output));
}

TEST_F(ExportTest, WrongCallsSayWhatIsPermitted) {
  const std::string dir = Write({SmallTuple()});
  EXPECT_THAT(Export({"--format=xml", dir}),
              IsInvalidArgument("dsjson or csv or jsonl or svmlight or npz"));
  EXPECT_THAT(Export({"--format=npz", dir}),
              IsInvalidArgument("must be a file for npz"));
  EXPECT_THAT(Export({"--format=csv", dir_.Sub("empty")}),
              IsNotFound("no tuples"));
  EXPECT_THAT(Export({"--format=csv"}), IsInvalidArgument("needs DIR…"));
}

// Floats as text: what the standard library writes, faster.

std::string Shortest(float value) {
  char text[kFloatRoom];
  return {text, WriteShortest(value, text)};
}

std::string Standard(float value) {
  char text[kFloatRoom];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void ExpectStandard(float value) {
  ASSERT_EQ(Shortest(value), Standard(value)) << std::hexfloat << value;
  ASSERT_EQ(Shortest(-value), Standard(-value)) << std::hexfloat << value;
}

TEST(ShortestFloatTest, WritesWhatTheStandardLibraryWrites) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000000; ++i) {
    ExpectStandard(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  // Where it does not ask the library.
  std::uniform_real_distribution<float> logarithm(-5, 8);
  for (int i = 0; i < 2000000; ++i) {
    ExpectStandard(std::pow(10.0f, logarithm(random)));
  }
}

// Shorter by many digits, next to such numbers, and powers of two, whose
// neighbours are not equally far.
TEST(ShortestFloatTest, WritesDecimalsAndTheirNeighbours) {
  for (int exponent = -6; exponent < 9; ++exponent) {
    for (int digits = 1; digits < 20000; ++digits) {
      const float value = static_cast<float>(digits * std::pow(10, exponent));
      ExpectStandard(value);
      ExpectStandard(std::nextafter(value, 0.0f));
      ExpectStandard(std::nextafter(value, 1e30f));
    }
  }
  for (int exponent = -149; exponent < 128; ++exponent) {
    const float value = std::ldexp(1.0f, exponent);
    ExpectStandard(value);
    ExpectStandard(std::nextafter(value, 0.0f));
    ExpectStandard(std::nextafter(value, 1e38f));
  }
}

TEST(ShortestFloatTest, WritesWhatIsNoNumber) {
  for (const float value : {0.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max()}) {
    ExpectStandard(value);
  }
}

}  // namespace
}  // namespace sortition
