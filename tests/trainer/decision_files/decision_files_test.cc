#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/testing/child_process.h"
#include "tests/trainer/decision_files/written_file.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/decision_files/outcome_coverage.h"
#include "trainer/decision_files/probability_file.h"
#include "trainer/decision_files/reward_file.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kDayUs = int64_t{86'400'000'000};
// 2023-11-01 and days after it.
constexpr int64_t Day(int days) { return 1698796800000000 + days * kDayUs; }
// Judges all decisions up to Day(20).
const OutcomePeriod kEver{.through_us = Day(20)};

google::protobuf::RepeatedPtrField<std::string> Entries(
    std::initializer_list<std::string> entries) {
  return {entries.begin(), entries.end()};
}

TEST(NamedFilesTest, TheFileMayHaveAnyName) {
  ASSERT_OK_AND_ASSIGN(
      const auto files,
      ParseNamedFiles("rewards", Entries({"sales=a@b=c:d.csv@horizon=7d",
                                          "x=-@horizon=0s, y=z@horizon=1h"})));
  ASSERT_THAT(files, SizeIs(3));
  EXPECT_EQ(files[2].name, "y");
  EXPECT_EQ(files[0].name, "sales");
  EXPECT_EQ(files[0].path, "a@b=c:d.csv");
  EXPECT_EQ(files[1].path, "-");
}

TEST(NamedFilesTest, TermsSayWhichOutcomesTheFileHas) {
  ASSERT_OK_AND_ASSIGN(
      const auto files,
      ParseNamedFiles(
          "rewards",
          Entries({"a=a.csv@horizon=2d@sparse@from=2023-11-02"
                   "@through=2023-11-11T12:00:00+12:00,b=b.csv@horizon=0s"})));
  EXPECT_EQ(files[0].path, "a.csv");
  EXPECT_EQ(files[0].period.horizon_us, 2 * kDayUs);
  EXPECT_EQ(files[0].period.from_us, Day(1));
  EXPECT_EQ(files[0].period.through_us, Day(10));
  EXPECT_TRUE(files[0].period.is_sparse);
  EXPECT_EQ(files[1].period.horizon_us, 0);
  EXPECT_EQ(files[1].period.through_us, std::nullopt);
  EXPECT_FALSE(files[1].period.is_sparse);
  ASSERT_OK_AND_ASSIGN(
      const auto at_once,
      ParseNamedFiles("rewards", Entries({"a=a.csv@horizon=0d"})));
  EXPECT_EQ(at_once[0].period.horizon_us, 0);
  EXPECT_THAT(
      ParseNamedFiles("rewards", Entries({"a=a.csv@sparse"})),
      IsInvalidArgument("rewards has 'a=a.csv@sparse', must be with the "
                        "longest time between a decision and its "
                        "outcome, as a=a.csv@horizon=7d"));
  EXPECT_THAT(
      ParseNamedFiles("rewards", Entries({"a=a.csv@horizon=1d@horizon=2d"})),
      IsInvalidArgument("with one horizon"));
  EXPECT_THAT(ParseNamedFiles("rewards", Entries({"a=a.csv@horizon=soon"})),
              IsInvalidArgument("horizon is 'soon', must be a number of s"));
  EXPECT_THAT(ParseNamedFiles("rewards", Entries({"a=a.csv@horizon=40000d"})),
              IsInvalidArgument("such as 14d, in [0s, 36500d]"));
  EXPECT_THAT(
      ParseNamedFiles("rewards", Entries({"a=a.csv@horizon=1d@through=7d"})),
      IsInvalidArgument("through is '7d', must be RFC 3339"));
  // The horizon would reach back beyond the smallest number of microseconds.
  EXPECT_THAT(
      ParseNamedFiles("rewards",
                      Entries({"a=a.csv@horizon=1d@through=-290000-01-01"})),
      IsInvalidArgument("of the years 1970 to 9999"));
}

TEST(NamedFilesTest, AMisspeltTermIsNamed) {
  for (const std::string entry : {"a=a.csv@horizon=7d@spars",
                                  "a=a.csv@horizon=7d@spars@from=2023-11-02"}) {
    EXPECT_THAT(
        ParseNamedFiles("rewards", Entries({entry})),
        IsInvalidArgument("rewards has '" + entry +
                          "': '@spars' is unknown, must be @horizon=AGE, "
                          "@from=TIME, @through=TIME or @sparse"));
  }
  // In front of all others it may be part of the path.
  EXPECT_THAT(RewardFile::Read("/nowhere/a.csv@spars", kEver),
              IsNotFound("the path has an '@': terms after it must be @hori"));
}

TEST(NamedFilesTest, RefusesEntriesWithoutNameOrFile) {
  for (const std::string entry : {"clicks.csv", "=a.csv", "a=", "a b=c", ""}) {
    EXPECT_THAT(
        ParseNamedFiles("rewards", Entries({entry})),
        IsInvalidArgument("rewards has '" + entry + "', must be NAME=FILE"));
  }
  EXPECT_THAT(
      ParseNamedFiles("rewards", Entries({"a=1@horizon=1d", "a=2@horizon=1d"})),
      IsInvalidArgument("must be the only one of its name"));
}

TEST(NamedFilesTest, LimitsAreOfKnownRewards) {
  const std::vector<NamedFile> rewards = {
      {.name = "complaints", .path = "c.csv"}};
  ASSERT_OK_AND_ASSIGN(
      const auto limits,
      ParseLimits("guardrails", Entries({"complaints:0.01"}), rewards));
  ASSERT_THAT(limits, SizeIs(1));
  EXPECT_EQ(limits[0].name, "complaints");
  EXPECT_EQ(limits[0].allowed, 0.01);
  for (const std::string entry :
       {"complaints", "complaints:-1", "complaints:x", "complaints:nan"}) {
    EXPECT_THAT(ParseLimits("guardrails", Entries({entry}), rewards),
                IsInvalidArgument("must be NAME:ALLOWED with a number"));
  }
  EXPECT_THAT(ParseLimits("guardrails", Entries({"sales:0"}), rewards),
              IsInvalidArgument("must be of one of the rewards: complaints"));
  EXPECT_THAT(ParseLimits("guardrails", Entries({"sales:0"}), {}),
              IsInvalidArgument("must name: sales=FILE@horizon=AGE"));
}

// Files of NumPy's arrays, written by Python with the layout of numpy.savez().

// a() is an array of one type, u() one of texts of n characters.
constexpr char kWriter[] = R"(
import struct, sys, zipfile
def a(type, shape, values, code, order=False):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (
        type, order, shape)
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    data = b''.join(v if isinstance(v, bytes) else struct.pack(code, v)
                    for v in values)
    return (b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) +
            header.encode() + data)
def u(n, *texts):
    return a('<U%d' % n, '(%d,)' % len(texts),
             [t.encode('utf-32-le').ljust(4 * n, b'\0') for t in texts], '')
def write(method=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(sys.argv.pop(1), 'w', method) as archive:
        for name, data in arrays.items():
            with archive.open(name + '.npy', 'w', force_zip64=True) as file:
                file.write(data)
)";

class NpzTest : public testing::Test {
 protected:
  // Writes a file of each set of arrays; returns their paths.
  std::vector<std::string> Save(const std::vector<std::string>& arrays) {
    std::string script = kWriter;
    std::vector<std::string> paths;
    for (const std::string& of_file : arrays) {
      absl::StrAppend(&script, "write(", of_file, ")\n");
      paths.push_back(absl::StrCat(dir_ / "file", paths.size(), ".npz"));
    }
    std::vector<std::string> command = {"/usr/bin/env", "python3", "-c",
                                        script};
    command.insert(command.end(), paths.begin(), paths.end());
    const auto run = RunToEnd(command);
    EXPECT_OK(run);
    EXPECT_EQ(run->exit_code, 0) << run->stderr_text;
    return paths;
  }
  TempDir dir_;
};

TEST_F(NpzTest, ReadsIdsAndRows) {
  const auto paths =
      Save({"decision_id=u(3, 'a', 'b\\u00e9\\u20ac'), "
            "other=a('<i8', '(2,)', [1, 2], '<q'), "
            "probabilities=a('<f8', '(2, 2)', [0.25, 0.75, 1, 0], '<d')",
            "decision_id=a('|S2', '(2,)', [b'a\\0', b'bc'], ''), "
            "reward=a('<i4', '(2,)', [1, -2], '<i')",
            "decision_id=u(1, 'a'), scores=a('<f4', '(1, 2)', [0.5, -3], "
            "'<f')"});
  ASSERT_OK_AND_ASSIGN(const auto file, ProbabilityFile::Read(paths[0]));
  EXPECT_THAT(file.Find("a")->values, ElementsAre(0.25, 0.75));
  EXPECT_THAT(file.Find("b\u00e9\u20ac")->values, ElementsAre(1, 0));
  ASSERT_OK_AND_ASSIGN(const auto rewards, RewardFile::Read(paths[1], kEver));
  EXPECT_EQ(rewards.Look("a", 0).reward, 1);
  EXPECT_EQ(rewards.Look("bc", 0).reward, -2);
  ASSERT_OK_AND_ASSIGN(const auto scores, ProbabilityFile::Read(paths[2]));
  EXPECT_THAT(scores.Find("a")->values, ElementsAre(0.5, -3));
}

TEST_F(NpzTest, NamesWhatIsWrong) {
  const struct {
    std::string arrays;
    std::string message;
  } kCases[] = {
      {"reward=a('<f8', '(1,)', [1], '<d')", "array 'decision_id' is missing"},
      {"decision_id=u(1, 'a'), reward=a('<f8', '(2,)', [1, 2], '<d')",
       "array 'reward' has 2 rows, must have 1"},
      {"decision_id=u(1, 'a'), reward=a('<f8', '(1,)', [float('nan')], '<d')",
       ":1: reward[0] is nan, must be a finite number"},
      {"decision_id=u(1, 'a'), reward=a('<c16', '(1,)', [0, 1], '<d')",
       "array 'reward' has type '<c16', must be"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1, 1, 1)', [0], '<d')",
       "array 'x' must have one or two dimensions"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1, 2)', [0, 1], '<d', True)",
       "array 'x' must be in C order"},
      {"decision_id=u(1, 'a'), x=a('<f8', '(1000,)', [0], '<d')",
       "array 'x' is damaged"},
      {"zipfile.ZIP_DEFLATED, decision_id=u(1, 'a')",
       "is compressed, must be written by numpy.savez"},
  };
  std::vector<std::string> arrays;
  for (const auto& bad : kCases) arrays.push_back(bad.arrays);
  const auto paths = Save(arrays);
  for (size_t i = 0; i < paths.size(); ++i) {
    EXPECT_THAT(RewardFile::Read(paths[i], kEver),
                IsInvalidArgument(kCases[i].message))
        << arrays[i];
  }
}

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
                IsInvalidArgument(file.path() + bad.message))
        << bad.text;
  }
}

TEST(RewardFileTest, ReadsTheSameFromBothFormats) {
  for (const std::string text :
       {"{\"decision_id\": \"a\", \"reward\": 2}\n"
        "\n"
        "{\"decision_id\": \"b, c\", \"reward\": -0.5, \"other\": [1]}\n",
        "other,decision_id,reward\n"
        "x,a,2\n"
        ",\"b, c\",-0.5\r\n"}) {
    const WrittenFile file(text);
    ASSERT_OK_AND_ASSIGN(const RewardFile rewards,
                         RewardFile::Read(file.path(), kEver));
    EXPECT_EQ(rewards.num_decisions(), 2u);
    EXPECT_EQ(rewards.Look("a", 0).reward, 2);
    EXPECT_EQ(rewards.Look("b, c", 0).reward, -0.5);
    EXPECT_EQ(rewards.Look("d", 0).reward, std::nullopt);
    EXPECT_EQ(rewards.min(), -0.5);
    EXPECT_EQ(rewards.max(), 2);
  }
}

TEST(RewardFileTest, TheRangeIncludesZero) {
  const WrittenFile file("decision_id,reward\na,0.5\nb,0.75\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards,
                       RewardFile::Read(file.path(), kEver));
  EXPECT_EQ(rewards.min(), 0);
  EXPECT_EQ(rewards.max(), 0.75);
}

TEST(RewardFileTest, ARangeThatIsGivenIsTheRange) {
  const WrittenFile file("decision_id,reward\na,0\nb,-0.5\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile seen,
                       RewardFile::Read(file.path(), kEver));
  EXPECT_FALSE(seen.is_range_given());
  EXPECT_EQ(seen.min(), -0.5);
  ASSERT_OK_AND_ASSIGN(
      const RewardFile given,
      RewardFile::Read(file.path(), kEver, RewardBounds{-2, 1}));
  EXPECT_TRUE(given.is_range_given());
  EXPECT_EQ(given.min(), -2);
  EXPECT_EQ(given.max(), 1);
  EXPECT_THAT(RewardFile::Read(file.path(), kEver, RewardBounds{-0.25, 1}),
              IsInvalidArgument(":3: reward is -0.5, must be in [-0.25, 1]"));
}

TEST(RewardFileTest, RewardsThatAreAllZeroHaveNoRange) {
  const WrittenFile file("decision_id,reward\na,0\nb,0\n");
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards,
                       RewardFile::Read(file.path(), kEver));
  EXPECT_FALSE(rewards.is_range_known());
}

// A file that ends with its declaration is complete up to that time; a
// truncated file has no declaration.
TEST(RewardFileTest, TheLastLineDeclaresTheEnd) {
  const OutcomePeriod open{.horizon_us = 2 * kDayUs};
  const std::string csv = "decision_id,reward\na,-1\n";
  const std::string json = "{\"decision_id\": \"a\", \"reward\": -1}\n";
  for (const std::string& text :
       {csv + "# through=2023-11-11\n",
        json + "{\"through\": \"2023-11-11T00:00:00Z\"}\n"}) {
    const WrittenFile file(text);
    ASSERT_OK_AND_ASSIGN(const RewardFile rewards,
                         RewardFile::Read(file.path(), open));
    EXPECT_EQ(rewards.judged_until_us(), Day(8));
    EXPECT_EQ(rewards.PeriodText(),
              "decisions up to 2023-11-09T00:00:00+00:00 (outcomes through "
              "2023-11-11T00:00:00+00:00, horizon 48h)");
    // The earlier of two declarations holds.
    ASSERT_OK_AND_ASSIGN(const RewardFile earlier,
                         RewardFile::Read(file.path(), {.through_us = Day(3)}));
    EXPECT_EQ(earlier.judged_until_us(), Day(3));
  }
  for (const std::string& text : {csv, json}) {
    const WrittenFile file(text);
    EXPECT_THAT(
        RewardFile::Read(file.path(), open),
        IsInvalidArgument(file.path() + ": the file must declare up to when"));
  }
  const WrittenFile middle("decision_id,reward\n# through=2023-11-11\na,-1\n");
  EXPECT_THAT(RewardFile::Read(middle.path(), open),
              IsInvalidArgument(":3: a row follows the declaration"));
  const WrittenFile wrong(csv + "# through=Friday\n");
  EXPECT_THAT(RewardFile::Read(wrong.path(), open),
              IsInvalidArgument(": through is 'Friday', must be RFC 3339"));
  const WrittenFile future(csv + "# through=2900-01-01\n");
  EXPECT_THAT(RewardFile::Read(future.path(), open),
              IsInvalidArgument("must not be in the future"));
}

// A local time that is written with a Z is in the future east of Greenwich.
TEST(RewardFileTest, TheEndIsAtMostAMinuteAheadAndCountsAsNow) {
  const WrittenFile file("decision_id,reward\na,-1\n");
  const absl::Time before = absl::Now();
  const auto read = [&](absl::Duration ahead) {
    return RewardFile::Read(file.path(),
                            {.horizon_us = kDayUs,
                             .through_us = absl::ToUnixMicros(before + ahead)});
  };
  EXPECT_THAT(read(absl::Minutes(30)),
              IsInvalidArgument("a local time has its offset"));
  ASSERT_OK_AND_ASSIGN(const RewardFile rewards, read(absl::Seconds(50)));
  const int64_t latest_us = absl::ToUnixMicros(absl::Now()) - kDayUs;
  EXPECT_LE(rewards.judged_until_us(), latest_us);
  EXPECT_FALSE(rewards.Look("a", latest_us + 1).is_covered);
}

// That looks like what a broken export writes.
TEST(RewardFileTest, ASparseFileNeedsARow) {
  OutcomePeriod period = kEver;
  period.is_sparse = true;
  const WrittenFile none("decision_id,reward\n");
  EXPECT_THAT(RewardFile::Read(none.path(), period),
              IsInvalidArgument(": the file has no row, must have at least"));
  const WrittenFile zero("decision_id,reward\na,0\n");
  EXPECT_OK(RewardFile::Read(zero.path(), period));
}

TEST(RewardFileTest, OnlyWhatTheFileCoversIsJudged) {
  const WrittenFile file("decision_id,reward\na,-1\n");
  OutcomePeriod period{
      .horizon_us = 2 * kDayUs, .from_us = Day(5), .through_us = Day(10)};
  ASSERT_OK_AND_ASSIGN(const RewardFile dense,
                       RewardFile::Read(file.path(), period));
  period.is_sparse = true;
  ASSERT_OK_AND_ASSIGN(const RewardFile sparse,
                       RewardFile::Read(file.path(), period));
  for (const RewardFile* each : {&dense, &sparse}) {
    EXPECT_EQ(each->Look("a", Day(5)).reward, -1);
    EXPECT_EQ(each->Look("a", Day(8)).reward, -1);
    // That the outcome is known already makes no difference.
    EXPECT_EQ(each->Look("a", Day(8) + 1).reward, std::nullopt);
    EXPECT_EQ(each->Look("a", Day(5) - 1).reward, std::nullopt);
  }
  EXPECT_EQ(sparse.Look("b", Day(6)).reward, 0);
  EXPECT_EQ(dense.Look("b", Day(6)).reward, std::nullopt);
}

// Nobody knows whether the horizon of a decision without a time has passed.
TEST(RewardFileTest, ADecisionWithoutATimeHasNoHorizon) {
  const WrittenFile file("decision_id,reward\na,-1\n");
  const auto look = [&](const OutcomePeriod& period) {
    const auto read = RewardFile::Read(file.path(), period);
    EXPECT_OK(read);
    return read->Look("a", 0);
  };
  EXPECT_TRUE(look({.through_us = Day(10)}).is_covered);
  EXPECT_FALSE(look({.horizon_us = kDayUs, .through_us = Day(10)}).is_covered);
  EXPECT_FALSE(look({.from_us = Day(5), .through_us = Day(10)}).is_covered);
}

// Who counts complaints as 1 would have a guardrail that holds if they rise.
TEST(RewardFileTest, AGuardrailNeedsASign) {
  const auto check = [](const std::string& text,
                        std::optional<RewardBounds> bounds) {
    const WrittenFile file("decision_id,reward\n" + text);
    const auto read = RewardFile::Read(file.path(), kEver, bounds);
    EXPECT_OK(read);
    return read->CheckCanBeGuarded("c");
  };
  EXPECT_THAT(
      check("a,1\nb,0\n", std::nullopt),
      IsInvalidArgument("no reward is negative", "--reward_ranges=c:0:1"));
  EXPECT_OK(check("a,1\nb,0\n", RewardBounds{0, 1}));
  EXPECT_OK(check("a,-1\nb,0\n", std::nullopt));
  EXPECT_OK(check("a,0\nb,0\n", std::nullopt));
}

// How files and logs fit together.
class CoverageTest : public testing::Test {
 protected:
  RewardFile FileOf(const std::vector<int>& rows, OutcomePeriod period) {
    std::string text = "decision_id,reward\n";
    for (const int row : rows) absl::StrAppend(&text, "d", row, ",-1\n");
    EXPECT_OK(WriteFile(dir_ / "file", text));
    const auto file = RewardFile::Read(dir_ / "file", period);
    EXPECT_OK(file);
    return *file;
  }
  // A log of decisions d0, d1, … every ten minutes from Day(0) on.
  static OutcomeCoverage CoverageOf(const RewardFile& file, int decisions) {
    OutcomeCoverage coverage;
    for (int i = 0; i < decisions; ++i) {
      const std::string id = absl::StrCat("d", i);
      coverage.NoteInLog(file, id);
      coverage.NoteUsed(file, id, Day(0) + i * (kDayUs / 144));
    }
    return coverage;
  }
  static absl::Status Check(const RewardFile& file, int decisions) {
    return CoverageOf(file, decisions).Check(file);
  }
  static std::string PeriodText(const RewardFile& file, int decisions) {
    return CoverageOf(file, decisions).PeriodText(file);
  }
  static std::vector<int> Every(int step, int begin, int end) {
    std::vector<int> rows;
    for (int i = begin; i < end; i += step) rows.push_back(i);
    return rows;
  }

  TempDir dir_;
};

TEST_F(CoverageTest, AFileOfOtherDecisionsIsAnError) {
  OutcomePeriod period = kEver;
  period.is_sparse = true;
  const RewardFile file = FileOf({0, 1, 1000, 1001, 1002}, period);
  EXPECT_THAT(Check(file, 100),
              IsFailedPrecondition(
                  file.path() + ": 2 of its 5 decisions are in the log",
                  "id of the file is 'd0', one of the log 'd2'"));
  EXPECT_OK(Check(FileOf({0, 1, 1000, 1001}, period), 100));
}

TEST_F(CoverageTest, AFileWithRowsForAllDecisionsMustHaveThem) {
  EXPECT_OK(Check(FileOf(Every(1, 0, 1000), kEver), 1000));
  // Ten complaints that were lost are as many as a guardrail may allow.
  EXPECT_THAT(Check(FileOf(Every(1, 0, 990), kEver), 1000),
              IsFailedPrecondition("10 of the 1000 decisions that it covers "
                                   "have no row, for example 'd990', all must "
                                   "have one"));
  EXPECT_THAT(Check(FileOf(Every(1, 1, 1000), kEver), 1000),
              IsFailedPrecondition("1 of the 1000 decisions"));
  // Those beyond its end need none.
  const int day_of_500 = 3;
  EXPECT_OK(
      Check(FileOf(Every(1, 0, 500), {.through_us = Day(day_of_500)}), 1000));
  EXPECT_THAT(Check(FileOf(Every(1, 0, 500), {.through_us = Day(-1)}), 1000),
              IsFailedPrecondition("none of the 1000 decisions"));
}

// Complaints about one decision in ten, only from the first 15 % of a log,
// although the file claims to reach to its end.
TEST_F(CoverageTest, AGapOfASparseFileIsFound) {
  OutcomePeriod period = kEver;
  period.is_sparse = true;
  EXPECT_OK(Check(FileOf(Every(10, 0, 1000), period), 1000));
  EXPECT_THAT(Check(FileOf(Every(10, 0, 150), period), 1000),
              IsFailedPrecondition("no decision between 2023-11-01T23:30"));
  // In the middle, and at the beginning.
  std::vector<int> rows = Every(10, 0, 300);
  for (const int row : Every(10, 700, 1000)) rows.push_back(row);
  EXPECT_THAT(Check(FileOf(rows, period), 1000),
              IsFailedPrecondition("outcomes seem to be missing"));
  EXPECT_THAT(Check(FileOf(Every(10, 500, 1000), period), 1000),
              IsFailedPrecondition("outcomes seem to be missing"));
  // Two complaints may both be early by chance, and a burst counts as one.
  EXPECT_OK(Check(FileOf({3, 40}, period), 1000));
  EXPECT_THAT(PeriodText(FileOf({3, 40}, period), 1000),
              HasSubstr("reward 0 (sparse), and rows are too few for a gap"));
  // (100 + 1) 0.831^100 is 0.9e-6, (100 + 1) 0.832^100 is 1.04e-6.
  EXPECT_THAT(PeriodText(FileOf(Every(10, 0, 1000), period), 1000),
              HasSubstr("noticed if it had at least 17 % of the decisions"));
  EXPECT_THAT(PeriodText(FileOf(Every(1, 0, 1000), kEver), 1000),
              HasSubstr("horizon 0), each with a row of its own"));
  // The file may leave out what it does not cover.
  period.through_us = Day(1);
  EXPECT_OK(Check(FileOf(Every(10, 0, 150), period), 1000));
}

TEST(RewardFileTest, NamesWhatIsWrong) {
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {"", ": the file is empty, must have a row for each decision"},
      {"decision,reward\na,1\n", ":1: column 'decision_id' is missing"},
      {"decision_id,decision_id\n", ":1: column 'decision_id' is there twice"},
      {"decision_id,reward\na,1\nb\n",
       ":3: the line has 1 fields, must have 2, as the header"},
      {"decision_id,reward\na,high\n",
       ":2: reward is 'high', must be a finite number"},
      {"decision_id,reward\na,nan\n",
       ":2: reward is 'nan', must be a finite number"},
      {"decision_id,reward\na,1e308\n",
       ":2: reward is 1e+308, must be in [-1e+09, 1e+09]"},
      {"decision_id,reward\na,\n", ":2: reward is missing"},
      {"decision_id,reward\n,1\n", ":2: decision_id is empty"},
      {"decision_id,reward\na,1\na,1\n",
       ":3: decision_id is 'a', which an earlier line has, too"},
      {"{\"reward\": 1}\n", ":1: decision_id is missing"},
      {"{\"decision_id\": 7.5, \"reward\": 1}\n",
       ":1: decision_id is 7.5, must be a string"},
      {"{\"decision_id\": \"a\", \"reward\": \"1\"}\n",
       ":1: reward is \"1\", must be a finite number"},
      {"{\"decision_id\": \"a\"}\n", ":1: reward is missing"},
      {"{\"decision_id\": \"a\", \"reward\": 1\n", ":1: column "},
  };
  for (const auto& bad : kCases) {
    const WrittenFile file(bad.text);
    EXPECT_THAT(RewardFile::Read(file.path(), kEver),
                IsInvalidArgument(file.path() + bad.message))
        << bad.text;
  }
  EXPECT_THAT(RewardFile::Read("/nowhere/rewards.csv", kEver),
              IsNotFound("/nowhere/rewards.csv"));
}

}  // namespace
}  // namespace sortition
