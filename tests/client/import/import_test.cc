// JSON lines of other systems become tuples that the trainer reads.
#include <sys/stat.h>

#include "gmock/gmock.h"
#include "tests/client/export/exchange_fixture.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("attributes.device is 1, must be a string")));
  EXPECT_THAT(ImportJson(head + R"("attributes": ["tv"]})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("attributes is an array of 1, must be an "
                                 "object of strings")));
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
    EXPECT_THAT(
        ImportJson(line(attributes)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(problem)));
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
  EXPECT_THAT(ImportJson(line), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("must be absent or empty")));
  ASSERT_OK(ImportJson(line, {"--force", "--version=7"}));
  EXPECT_EQ(ReadAllTuples(imported()).at(0).decision().version(), 7u);
}

TEST_F(ImportTest, SegmentsHaveTheSizeThatIsAskedFor) {
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&lines, R"({"id": ")", i,
                    R"(", "features": [[1, 2, 3, 4]], "action": [0],)"
                    R"( "propensity": 1, "reward": 1})",
                    "\n");
  }
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
  EXPECT_THAT(error_, HasSubstr("1 bad decisions passed over"));
  EXPECT_THAT(error_, HasSubstr("text:1: propensity is 2"));
  EXPECT_EQ(ReadAllTuples(imported()).size(), 99u);
  std::filesystem::remove_all(imported());
  EXPECT_THAT(ImportJson(lines + "{\n", {"--skip_bad"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("2 of 101 decisions are bad")));
  EXPECT_TRUE(NothingImported());
}

}  // namespace
}  // namespace sortition
