#include "trainer/decision_files/probability_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/decision_files/written_file.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = ProbabilityFile::Kind;

TEST(ProbabilityFileTest, ReadsEachKindOfJson) {
  const WrittenFile file(
      "{\"decision_id\": \"a\", \"probabilities\": [0.25, 0.75]}\n"
      "{\"decision_id\": \"b\", \"scores\": [-1.5, 20, 0]}\n"
      "{\"decision_id\": \"c\", \"log_probability\": -3.5}\n");
  ASSERT_OK_AND_ASSIGN(const auto read, ProbabilityFile::Read(file.path()));
  EXPECT_EQ(read.num_decisions(), 3u);
  EXPECT_EQ(read.Find("a")->kind, Kind::kProbabilities);
  EXPECT_THAT(read.Find("a")->values, ElementsAre(0.25, 0.75));
  EXPECT_EQ(read.Find("b")->kind, Kind::kScores);
  EXPECT_THAT(read.Find("b")->values, ElementsAre(-1.5, 20, 0));
  EXPECT_EQ(read.Find("b")->line, 2u);
  EXPECT_EQ(read.Find("c")->kind, Kind::kLogProbability);
  EXPECT_THAT(read.Find("c")->values, ElementsAre(-3.5));
  EXPECT_FALSE(read.Find("d").has_value());
}

TEST(ProbabilityFileTest, WideCsvEndsWhereCellsAreEmpty) {
  const WrittenFile file("decision_id,p0,p1,p2\na,0.5,0.5,\nb,0,0.5,0.5\n");
  ASSERT_OK_AND_ASSIGN(const auto read, ProbabilityFile::Read(file.path()));
  EXPECT_THAT(read.Find("a")->values, ElementsAre(0.5, 0.5));
  EXPECT_THAT(read.Find("b")->values, ElementsAre(0, 0.5, 0.5));
}

TEST(ProbabilityFileTest, LongCsvHasARowForEachCandidate) {
  const WrittenFile file(
      "decision_id,document_index,probability\n"
      "a,2,0.75\na,-1,0.25\nb,0,1\n");
  ASSERT_OK_AND_ASSIGN(const auto read, ProbabilityFile::Read(file.path()));
  EXPECT_EQ(read.Find("a")->kind, Kind::kByDocument);
  EXPECT_THAT(read.Find("a")->values, ElementsAre(0.25, 0, 0, 0.75));
  EXPECT_THAT(read.Find("b")->values, ElementsAre(0, 1));
}

TEST(ProbabilityFileTest, NamesWhatIsWrong) {
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {"decision_id,p0,p1\na,0.5,0.4\n",
       ":2: the probabilities sum to 0.9, must sum to 1 (within 1e-6)"},
      {"decision_id,p0,p1\na,-0.5,1.5\n",
       ":2: probabilities[0] is -0.5, must be in [0, 1]"},
      {"decision_id,p0,p1,p2\na,1,,0\n", ":2: p1 is empty, but p2 is '0'"},
      {"decision_id,p0\na,one\n", ":2: p0 is 'one', must be a finite number"},
      {"decision_id,p0\na,1\na,1\n", ":3: decision_id is 'a', which line 2"},
      {"decision_id,x\na,1\n", ":2: decision 'a' has 0 of probabilities, "},
      {"decision_id,p0,log_probability\na,1,0\n", ":2: decision 'a' has 2 of"},
      {"decision_id,log_probability\na,0.1\n",
       ":2: log_probability is 0.1, must be at most 0"},
      {"decision_id,probability\na,1\n",
       ":2: document_index is missing beside probability"},
      {"decision_id,document_index,probability\na,0.5,1\n",
       ":2: document_index is 0.5, must be an integer in [-1, 1000000]"},
      {"decision_id,document_index,probability\na,-2,1\n",
       ":2: document_index is -2, must be an integer in [-1, 1000000]"},
      {"decision_id,document_index,probability\na,0,0.5\na,0,0.5\n",
       ":3: document_index 0 of decision 'a' is there twice"},
      {"decision_id,document_index,probability\na,0,0.5\nb,0,1\n",
       ":2: the probabilities sum to 0.5, must sum to 1 (within 1e-6)"},
      {"decision_id,document_index,probability\na,0,1\nb,0,1\na,1,1\n",
       ":4: decision_id is 'a', which line 2 has, too"},
      {"decision_id,document_index,probability\na,0,2\n",
       ":2: probability is 2, must be in [0, 1]"},
      {"{\"decision_id\": \"a\", \"probabilities\": 1}\n",
       ":1: probabilities is 1, must be an array of numbers"},
      {"{\"decision_id\": \"a\", \"probabilities\": [1, \"x\"]}\n",
       ":1: probabilities[1] is \"x\", must be a finite number"},
      {"{\"decision_id\": \"a\", \"scores\": [1, null]}\n",
       ":1: scores[1] is null, must be a finite number"},
  };
  for (const auto& bad : kCases) {
    const WrittenFile file(bad.text);
    EXPECT_THAT(ProbabilityFile::Read(file.path()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(file.path() + bad.message)))
        << bad.text;
  }
}

}  // namespace
}  // namespace sortition
