// Files as other programs write them: every shape of foreign_shapes.h is read
// as stated, and docs/foreign_files.md lists them all.
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "io/segments/shown_action.h"
#include "tests/client/export/exchange_fixture.h"
#include "tests/client/import/foreign_shapes.h"

namespace sortition {
namespace {

// Leaves out the hash at the end of an id that the import made up.
std::string WithoutHash(const std::string &id) {
  constexpr size_t kDigits = 8;
  if (id.size() <= kDigits + 1) return id;
  const size_t dash = id.size() - kDigits - 1;
  const bool is_hash =
      id[dash] == '-' &&
      std::all_of(id.begin() + static_cast<ptrdiff_t>(dash) + 1, id.end(),
                  absl::ascii_isxdigit);
  return is_hash ? id.substr(0, dash) : id;
}

// Facts of a tuple that importers read, in one line. Numbers have six digits.
std::string FactsOf(const log::v1::BanditTuple &tuple) {
  const log::v1::Decision &decision = tuple.decision();
  std::string facts = absl::StrCat(
      WithoutHash(decision.decision_id()), ": action ",
      absl::StrJoin(decision.action(), ","), " p ",
      std::exp(decision.log_propensity()), " reward ", tuple.reward());
  if (!tuple.has_feedback()) facts += " no feedback";
  if (decision.time_us() != 0) {
    absl::StrAppend(&facts, " time ", decision.time_us());
  }
  if (!decision.unit_id().empty()) {
    absl::StrAppend(&facts, " unit ", decision.unit_id());
  }
  if (tuple.keep_probability() != 0) {
    absl::StrAppend(&facts, " keep ", tuple.keep_probability());
  }
  if (!decision.eligible().empty()) {
    absl::StrAppend(&facts, " eligible ",
                    absl::StrJoin(decision.eligible(), ""));
  }
  for (const log::v1::Feedback &feedback : tuple.feedback()) {
    absl::StrAppend(&facts, " [", feedback.feedback_id(), "=",
                    feedback.reward());
    if (feedback.has_rank()) {
      absl::StrAppend(&facts, "@", feedback.rank());
    }
    facts += "]";
  }
  if (decision.can_abstain()) facts += " abstain";
  if (ShownDiffers(tuple)) facts += " overridden";
  return facts;
}

// Returns the features of each candidate: values in the order of their columns.
std::string FeaturesOf(const log::v1::Decision &decision) {
  if (decision.has_columns()) {
    std::vector<std::string> columns;
    for (const v1::Column &column : decision.columns().candidate()) {
      columns.push_back(absl::StrCat(
          column.name(), "=", absl::StrJoin(column.numbers().values(), ",")));
    }
    return absl::StrJoin(columns, " ");
  }
  std::vector<std::string> rows;
  for (uint32_t i = 0; i < decision.num_candidates(); ++i) {
    std::vector<float> row;
    if (decision.has_sparse()) {
      const v1::SparseFeatures &sparse = decision.sparse();
      for (uint32_t k = sparse.row_offsets(static_cast<int>(i));
           k < sparse.row_offsets(static_cast<int>(i) + 1); ++k) {
        row.push_back(sparse.values(static_cast<int>(k)));
      }
      std::sort(row.begin(), row.end());  // Columns are hashes.
    } else {
      for (uint32_t j = 0; j < decision.num_features(); ++j) {
        row.push_back(decision.dense_values(
            static_cast<int>(i * decision.num_features() + j)));
      }
    }
    rows.push_back(absl::StrJoin(row, " "));
  }
  return absl::StrJoin(rows, " | ");
}

std::vector<Shape> AllShapes() {
  std::vector<Shape> all;
  for (const auto &shapes :
       {DsjsonShapes(), JsonlShapes(), CsvShapes(), ObdShapes()}) {
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

class ForeignFilesTest : public ExchangeFixture {
 protected:
  // Imports a text by itself and returns its tuples.
  std::vector<log::v1::BanditTuple> Read(const std::string &text,
                                         std::vector<std::string> flags) {
    std::filesystem::remove_all(imported());
    EXPECT_OK(ImportText(text, flags));
    return ReadAllTuples(imported());
  }
  // The features of the first decision of a dsjson file.
  std::string Features(const std::string &text,
                       const std::string &flag = kHash) {
    const auto tuples = Read(text, {"--format=dsjson", flag});
    return tuples.empty() ? "none" : FeaturesOf(tuples[0].decision());
  }
};

TEST_F(ForeignFilesTest, EveryShapeIsReadAsTheListStates) {
  for (const Shape &shape : AllShapes()) {
    SCOPED_TRACE(absl::StrCat(shape.format, ": ", shape.habit));
    std::vector<std::string> flags = shape.flags;
    if (absl::string_view(shape.format) != "all") {
      flags.push_back(absl::StrCat("--format=", shape.format));
    }
    std::filesystem::remove_all(imported());
    const absl::Status status = ImportText(shape.text, flags);
    if (shape.tuples.empty()) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), HasSubstr(shape.error));
      EXPECT_TRUE(NothingImported());
      continue;
    }
    EXPECT_OK(status);
    std::vector<std::string> facts;
    for (const auto &tuple : ReadAllTuples(imported())) {
      facts.push_back(absl::StrReplaceAll(FactsOf(tuple), {{input(), "IN"}}));
    }
    EXPECT_THAT(facts, testing::ElementsAreArray(shape.tuples));
    for (const std::string &part : shape.report) {
      EXPECT_THAT(out_, HasSubstr(part));
    }
  }
}

// SORTITION_WRITE_DOCS=1 rewrites the page.
TEST_F(ForeignFilesTest, ThePageListsTheShapes) {
  constexpr char kMark[] = "| format | the file has | what the import does |\n";
  std::string table = absl::StrCat(kMark, "|---|---|---|\n");
  for (const Shape &shape : AllShapes()) {
    absl::StrAppend(&table, "| ", shape.format, " | ", shape.habit, " | ",
                    shape.consequence, " |\n");
  }
  EXPECT_GE(AllShapes().size(), 60u);
  const std::string path =
      absl::StrCat(SORTITION_SOURCES, "/docs/foreign_files.md");
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(path));
  const size_t begin = page.find(kMark);
  ASSERT_NE(begin, std::string::npos);
  const std::string expected = page.substr(0, begin) + table;
  if (std::getenv("SORTITION_WRITE_DOCS") != nullptr) {
    ASSERT_OK(WriteFile(path, expected));
  }
  EXPECT_EQ(page, expected) << "run again with SORTITION_WRITE_DOCS=1";
}

// Ids that the import makes up are the same in every import of a file, and
// differ between files of one name.
TEST_F(ForeignFilesTest, MadeUpIdsBelongToTheText) {
  const auto id = [&](const std::string &text) {
    return Read(absl::StrReplaceAll(text, {{R"("EventId":"a",)", ""}}),
                {"--format=dsjson", kHash})
        .at(0)
        .decision()
        .decision_id();
  };
  EXPECT_EQ(id(Event("a")), id(Event("a")));
  EXPECT_NE(id(Event("a")), id(Silent("a")));
}

// The second file has the features of the first in another order.
TEST_F(ForeignFilesTest, FeaturesOfAllFilesAreAlignedByName) {
  const std::string head = "decision_id,chosen,propensity,reward,";
  const std::string first = dir_ / "first.csv";
  const std::string second = dir_ / "second.csv";
  const std::vector<std::string> arguments = {
      "--format=csv", "--columns=features=x_*", "--tuples=" + imported(), first,
      second};
  ASSERT_OK(WriteFile(first, head + "x_b,x_a\na,1,1,0,1,2\n"));
  ASSERT_OK(WriteFile(second, head + "x_a,x_b\nb,1,1,0,20,10\n"));
  ASSERT_OK(Import(arguments));
  const auto tuples = ReadAllTuples(imported());
  EXPECT_EQ(FeaturesOf(tuples.at(0).decision()), "1 2");
  EXPECT_EQ(FeaturesOf(tuples.at(1).decision()), "10 20");
  std::filesystem::remove_all(imported());
  ASSERT_OK(WriteFile(second, head + "x_a,x_c\nb,1,1,0,20,10\n"));
  EXPECT_THAT(Import(arguments),
              IsInvalidArgument("the columns of features are x_a, x_c, must be "
                                "those of the first file: x_b, x_a"));
}

// f10 is the eleventh feature, wherever its column is.
TEST_F(ForeignFilesTest, NumberedFeaturesAreInTheOrderOfTheirNumbers) {
  const auto tuples =
      Read("decision_id,chosen,propensity,reward,f1,f2,f0\na,1,1,0,11,12,10\n",
           {"--format=csv"});
  EXPECT_EQ(FeaturesOf(tuples.at(0).decision()), "10 11 12");
}

// An object's key is the namespace of its features at any depth.
TEST_F(ForeignFilesTest, FeaturesOfDifferentNamespacesHaveDifferentColumns) {
  EXPECT_EQ(Features(Event("a", "",
                           R"({"j":[{"a":{"score":1}},{"b":{"score":1}}]},)"
                           R"({"j":[{"a":{"score":1}},{"a":{"score":1}}]})")),
            "1 1 | 2");
  EXPECT_EQ(
      Features(Event("a", "",
                     R"({"x":{"a":{"score":1},"b":{"score":1},"score":1}},)"
                     R"({"x":{"score":2}})")),
      "1 1 1 | 2");
}

// The same name in the same namespace is one column, wherever it lies.
TEST_F(ForeignFilesTest, ANamespaceIsTheSameAtAnyDepth) {
  const auto columns = [&](const std::string &candidate) {
    const auto tuples = Read(Event("a", "", candidate + ",{\"T\":{\"x\":1}}"),
                             {"--format=dsjson", kHash});
    return tuples.at(0).decision().sparse().columns(0);
  };
  const uint32_t direct = columns(R"({"a":{"score":1}})");
  EXPECT_EQ(columns(R"({"j":[{"a":{"score":1}}]})"), direct);
  EXPECT_EQ(columns(R"({"j":{"k":{"a":{"score":1}}}})"), direct);
  EXPECT_EQ(columns(R"({"a":[{"score":1}]})"), direct);
  EXPECT_NE(columns(R"({"b":{"score":1}})"), direct);
}

TEST_F(ForeignFilesTest, ValuesOfEveryTypeAreFeatures) {
  const auto features = [&](const std::string &candidate) {
    return Features(Event("a", "", candidate + ",{\"T\":{\"x\":9}}"));
  };
  EXPECT_EQ(features(R"({"U":{"t":true,"f":false,"n":null}})"), "1 | 9");
  EXPECT_EQ(features(R"({"U":{"color":"red"}})"), "1 | 9");
  EXPECT_EQ(features(R"({"title":{"_text":"new  red shoes"}})"), "1 1 1 | 9");
  EXPECT_EQ(features(R"({"place":[3,4]})"), "3 4 | 9");
  EXPECT_EQ(features(R"({"tags":["new","sale"]})"), "1 1 | 9");
  EXPECT_EQ(features(R"({"_hidden":{"x":1},"x":5})"), "5 | 9");
  EXPECT_THAT(ImportText(Event("a", "", R"({"m":[[1]]},{"T":{"x":9}})"),
                         {"--format=dsjson", kHash, "--force"}),
              IsInvalidArgument("'m' has an array in an array"));
}

TEST_F(ForeignFilesTest, NamedColumnsAreFoundAtAnyDepth) {
  const std::string spec = dir_ / "features.textproto";
  ASSERT_OK(WriteFile(spec,
                      "schema { column { name: 'a.score' type: NUMBER } "
                      "column { name: 'price' type: NUMBER } }"));
  const std::string flag = "--features=" + spec;
  EXPECT_EQ(Features(Event("a", "",
                           R"({"j":[{"a":{"score":1}},{"price":{"price":5}}]},)"
                           R"({"k":{"a":{"score":3}},"price":7})"),
                     flag),
            "a.score=1,3 price=5,7");
  EXPECT_THAT(ImportText(Event("a", "",
                               R"({"j":[{"a":{"score":1}},{"a":{"score":2}}],)"
                               R"("price":1},{"a":{"score":3},"price":1})"),
                         {"--format=dsjson", flag, "--force"}),
              IsInvalidArgument("c._multi[0].a.score is there 2 times"));
  EXPECT_THAT(ImportText(Event("a"), {"--format=dsjson", flag, "--force"}),
              IsInvalidArgument("none of the columns of --features (a.score, "
                                "price); it has the namespaces T"));
}

}  // namespace
}  // namespace sortition
