// Features that are drafted from columns, from the file or log to the model.
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "tests/testing/parse_text.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/commands.h"
#include "trainer/frames/model_frame.h"
#include "trainer/labelled/fit.h"
#include "trainer/report.h"
#include "trainer/suggest/column_sources.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int32_t kNumCandidates = 4;

// Cheap red products sell; each has a number of its own.
class DraftedFeaturesTest : public TrainFixture {
 protected:
  static v1::Column* AddColumn(const std::string& name, v1::Columns* columns) {
    v1::Column* const column = columns->add_candidate();
    column->set_name(name);
    return column;
  }

  static std::vector<log::v1::BanditTuple> ColumnTuples(
      int n, const std::string& prefix,
      const std::function<void(int, v1::Columns*)>& change = nullptr) {
    std::vector<log::v1::BanditTuple> tuples;
    RandomSequence random(SeedKey(3));
    for (int i = 0; i < n; ++i) {
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_decision_id(absl::StrCat(prefix, i));
      decision.set_model("default");
      decision.set_action_kind(log::v1::SELECT);
      decision.set_num_candidates(kNumCandidates);
      v1::Columns& columns = *decision.mutable_columns();
      columns.set_num_candidates(kNumCandidates);
      v1::Column* const price = AddColumn("price", &columns);
      v1::Column* const color = AddColumn("color", &columns);
      v1::Column* const sku = AddColumn("sku", &columns);
      for (int32_t j = 0; j < kNumCandidates; ++j) {
        price->mutable_numbers()->add_values(40 * random.Uniform());
        color->mutable_categories()->add_values(
            random.Uniform() < 0.5 ? "red" : "blue");
        sku->mutable_categories()->add_values(absl::StrCat("k", i, "-", j));
      }
      const auto action = static_cast<int32_t>(random.Below(kNumCandidates));
      decision.add_action(action);
      decision.set_log_propensity(-std::log(kNumCandidates));
      const double goodness =
          0.1 + (price->numbers().values(action) < 20 ? 0.4 : 0) +
          (color->categories().values(action) == "red" ? 0.4 : 0);
      if (change != nullptr) change(i, &columns);
      tuple.set_has_feedback(true);
      tuple.set_reward(random.Uniform() < goodness ? 1 : 0);
    }
    return tuples;
  }

  // Runs the program.
  int Run(const std::vector<std::string>& arguments) {
    std::ostringstream out, error;
    CommandOutput output{out, error};
    const int code = RunCommand(TrainerProgram(), arguments, &output);
    out_ = out.str();
    error_ = error.str();
    return code;
  }

  std::string Written(const std::string& name, const std::string& contents) {
    const std::string path = dir_.Sub("data") + "/" + name;
    EXPECT_OK(WriteFile(path, contents));
    return path;
  }

  std::string out_;
  std::string error_;
};

TEST_F(DraftedFeaturesTest, AFirstModelOfColumnsNeedsNoSpec) {
  WriteSegment(options_.tuples(), 0, ColumnTuples(4000, "d"));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  EXPECT_THAT(report.drafted_features(),
              HasSubstr("from 4000 decisions in " + options_.tuples()));
  EXPECT_THAT(
      FormatReport(report),
      HasSubstr("Features: drafted from the columns (--features=auto)"));
  EXPECT_THAT(FormatReport(report), HasSubstr("left out sku: an id"));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 1));
  const auto spec =
      ParseText<model::v1::FeatureSpec>(report.drafted_features());
  EXPECT_EQ(stored.model.features().spec().transform_size(),
            spec.transform_size());
  // Uniform choice earns 0.5, the best of four about 0.8.
  EXPECT_GT(report.evaluation().improvement().lower(), 0.1);

  // The command prints what was used.
  ASSERT_EQ(Run({"suggest-features", "--tuples=" + options_.tuples()}), kExitOk)
      << error_;
  EXPECT_EQ(out_, report.drafted_features());
  const std::string path = dir_ / "features.textproto";
  ASSERT_EQ(Run({"suggest-features", "--tuples=" + options_.tuples(),
                 "--output=" + path}),
            kExitOk);
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
  EXPECT_EQ(text, report.drafted_features());
}

TEST_F(DraftedFeaturesTest, LaterVersionsKeepTheirsAndNameWhatTheyDoNotRead) {
  WriteSegment(options_.tuples(), 0, ColumnTuples(2000, "d"));
  options_.set_force(true);
  ASSERT_OK(Train(options_));
  const auto with_stars = [](int i, v1::Columns* columns) {
    v1::Column* const stars = AddColumn("stars", columns);
    for (int32_t j = 0; j < kNumCandidates; ++j) {
      stars->mutable_numbers()->add_values((i + j) % 5);
    }
  };
  WriteSegment(options_.tuples(), 1, ColumnTuples(2000, "e", with_stars));
  options_.set_baseline("log");
  ASSERT_OK_AND_ASSIGN(const auto kept, Train(options_));
  EXPECT_FALSE(kept.has_drafted_features());
  EXPECT_THAT(kept.unread_columns(),
              ElementsAre("sku (CATEGORY)", "stars (NUMBER)"));
  EXPECT_THAT(FormatReport(kept),
              HasSubstr("does not read these columns of the log: sku "
                        "(CATEGORY), stars (NUMBER). --features=auto drafts"));
  ASSERT_OK_AND_ASSIGN(const StoredModel first, store_.Load("default", 1));
  ASSERT_OK_AND_ASSIGN(const StoredModel second, store_.Load("default", 2));
  EXPECT_TRUE(IsSameFrame(first.model, second.model));

  // Half of the log lacks the new column.
  options_.set_features("auto");
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto drafted, Train(options_));
  EXPECT_THAT(drafted.drafted_features(),
              HasSubstr("column { name: \"stars\" type: NUMBER missing: true"));
  EXPECT_THAT(drafted.unread_columns(), ElementsAre());
}

TEST_F(DraftedFeaturesTest, AColumnOfTwoTypesIsLeftOutOfTraining) {
  const auto change = [](int i, v1::Columns* columns) {
    v1::Column* const size = AddColumn("size", columns);
    for (int32_t j = 0; j < kNumCandidates; ++j) {
      if (i % 2 == 0) {
        size->mutable_numbers()->add_values(j);
      } else {
        size->mutable_categories()->add_values("L");
      }
    }
  };
  WriteSegment(options_.tuples(), 0, ColumnTuples(1000, "d", change));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_THAT(report.drafted_features(),
              HasSubstr("size: its type changes: CATEGORY of candidates in 500 "
                        "requests, NUMBER of candidates in 500 requests"));
  EXPECT_EQ(report.excluded().size(), 0u) << FormatReport(report);
}

TEST_F(DraftedFeaturesTest, ADecisionOfAnotherTypeIsLeftOutAndNotItsColumn) {
  const auto change = [](int i, v1::Columns* columns) {
    v1::Column* const size = AddColumn("size", columns);
    for (int32_t j = 0; j < kNumCandidates; ++j) {
      if (i == 0) {
        size->mutable_texts()->add_values("large");
      } else {
        size->mutable_numbers()->add_values(j);
      }
    }
  };
  WriteSegment(options_.tuples(), 0, ColumnTuples(1000, "d", change));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_THAT(report.drafted_features(),
              HasSubstr("column { name: \"size\" type: NUMBER }"));
  ASSERT_EQ(report.excluded().size(), 1u) << FormatReport(report);
  EXPECT_EQ(report.excluded().begin()->second, 1u);
}

TEST_F(DraftedFeaturesTest, DescribesTheFirstDecisionsOfALongLog) {
  WriteSegment(options_.tuples(), 0, ColumnTuples(300, "d"));
  ASSERT_EQ(Run({"suggest-features", "--tuples=" + options_.tuples(),
                 "--max_queries=100"}),
            kExitOk);
  EXPECT_THAT(out_, HasSubstr("from the first 100 decisions in"));
  EXPECT_EQ(Run({"suggest-features"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("one of --tuples and --data must be set"));
  WriteSegment(dir_.Sub("plain"), 0, MakeTuples({}, 10));
  EXPECT_EQ(Run({"suggest-features", "--tuples=" + dir_.Sub("plain")}),
            kExitError);
  EXPECT_THAT(error_, HasSubstr("none of the 10 decisions of model 'default'"));
  EXPECT_THAT(error_, HasSubstr("has named columns"));
}

TEST_F(DraftedFeaturesTest, WhatHasNoColumnsToDescribeIsNamed) {
  options_.set_tuples(dir_.Sub("tuples"));
  EXPECT_THAT(DescribeTuples(options_, 0).status(),
              IsFailedPrecondition("no tuple in ", "yet: the sidecar writes"));
  WriteSegment(dir_.Sub("tuples"), 0, ColumnTuples(20, "a"));
  options_.set_model("another");
  EXPECT_THAT(
      DescribeTuples(options_, 0).status(),
      IsFailedPrecondition("no tuple of model 'another' in ",
                           "the log has tuples of model 'default' (20)"));
  options_.set_model("default");
  WriteSegment(dir_.Sub("matrix"), 0, MakeTuples({}, 20));
  options_.set_tuples(dir_.Sub("matrix"));
  EXPECT_THAT(
      DescribeTuples(options_, 0).status(),
      IsFailedPrecondition("none of the 20 decisions of model 'default'",
                           "callers send features as numbers"));
}

// A version with numbered features is to be replaced.
TEST_F(DraftedFeaturesTest, ColumnsWithoutFeaturesAreNamed) {
  Prepare(SyntheticLog{}, 0);
  WriteSegment(options_.tuples(), 7, ColumnTuples(50, "d"));
  EXPECT_THAT(
      Train(options_),
      IsFailedPrecondition(
          "the tuples have named columns, but no feature spec was given "
          "(`--features`). Columns: color (CATEGORY), price (NUMBER), sku "
          "(CATEGORY). Run `sortition-trainer suggest-features` for a draft"));
}

// CSV: types, scopes and sets are inferred.
class DraftedFromFilesTest : public DraftedFeaturesTest {
 protected:
  std::string Csv(int num_queries) {
    RandomSequence random(SeedKey(1));
    std::string text =
        "query,label,search,city,zip,price,tags,title,place,empty\n";
    for (int q = 0; q < num_queries; ++q) {
      for (int i = 0; i < 5; ++i) {
        const double price = 100 * random.Uniform();
        const bool fits = random.Uniform() < 0.4;
        absl::StrAppend(&text, "q", q, ",", fits && price < 60 ? 1 : 0,
                        ",red shoe ", q, ",", q % 3 == 0 ? "Rome" : "Bern",
                        ",0", 1000 + q % 7, ",",
                        i == 2 ? "" : absl::StrCat(price), ",",
                        i % 2 == 0 ? "new|sale" : "old", ",",
                        fits ? "A red running shoe of size " : "A blue lamp ",
                        40 + i, ",", i, " 0.5,\n");
      }
    }
    return Written("queries.csv", text);
  }
};

TEST_F(DraftedFromFilesTest, CsvShowsTypesAndScopes) {
  ASSERT_EQ(Run({"suggest-features", "--data=" + Csv(60)}), kExitOk) << error_;
  for (const char* const column :
       {"name: \"search\" type: TEXT scope: QUERY",
        "name: \"city\" type: CATEGORY scope: QUERY",
        // Zeros in front: no numbers.
        "name: \"zip\" type: CATEGORY scope: QUERY",
        "name: \"price\" type: NUMBER }", "name: \"tags\" type: CATEGORY_SET }",
        "name: \"title\" type: TEXT }",
        "name: \"place\" type: VECTOR size: 2 }"}) {
    EXPECT_THAT(out_, HasSubstr(absl::StrCat("column { ", column)));
  }
  EXPECT_THAT(out_, HasSubstr("#   empty: has no value"));
  EXPECT_THAT(out_, HasSubstr("column: \"price\" standardise: true "
                              "missing_indicator: true"));
  EXPECT_THAT(out_, HasSubstr("cross { left: \"city\" right: \"tags\""));
}

TEST_F(DraftedFromFilesTest, LearnersAndFitNeedNoSpec) {
  config::v1::TrainOptions options;
  options.set_learner("listnet");
  options.add_data(Csv(200));
  options.set_model_store(dir_.Sub("models"));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options));
  EXPECT_THAT(report.drafted_features(), HasSubstr("text_pair"));
  EXPECT_EQ(report.version(), 1) << FormatReport(report);
  config::v1::FitOptions fit;
  fit.set_data(options.data(0));
  fit.set_model_store(options.model_store());
  fit.set_model("fitted");
  ASSERT_OK_AND_ASSIGN(const FitReport fitted, Fit(fit));
  // Selections may abstain: the city of the query matters by itself.
  EXPECT_THAT(fitted.drafted_features,
              HasSubstr("vocabulary { column: \"city\""));
  EXPECT_GT(fitted.num_features, 20u);
}

TEST_F(DraftedFromFilesTest, JsonSkipsWhatChangesItsType) {
  std::string text;
  for (int q = 0; q < 40; ++q) {
    absl::StrAppend(&text, R"({"query": {"city": "c)", q % 4,
                    R"("}, "candidates": [)");
    for (int i = 0; i < 4; ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ",", R"({"price": )", (q + i) % 9,
                      R"(, "size": )", q == 7 ? "\"L\"" : "3",
                      R"(, "nested": {"a": 1}, "label": )", i % 2, "}");
    }
    absl::StrAppend(&text, "]}\n");
  }
  const std::string path = Written("queries.jsonl", text);
  ASSERT_EQ(Run({"suggest-features", "--data=" + path}), kExitOk) << error_;
  EXPECT_THAT(out_,
              HasSubstr("#   size: its type changes: 156 numbers, 4 strings"));
  EXPECT_THAT(out_, HasSubstr("#   nested: holds objects"));
  config::v1::FitOptions fit;
  fit.set_data(path);
  fit.set_action("rank");
  fit.set_model_store(dir_.Sub("models"));
  EXPECT_OK(Fit(fit));
}

TEST_F(DraftedFromFilesTest, QuestionsNeedNoColumnNames) {
  std::string text;
  for (int q = 0; q < 30; ++q) {
    absl::StrAppend(&text, "What is the name of dog ", q, "?\tIts name is ", q,
                    "\t1\nWhat is the name of dog ", q, "?\tIt rains\t0\n");
  }
  const std::string path = Written("questions.tsv", text);
  ASSERT_EQ(Run({"suggest-features", "--data=" + path}), kExitOk) << error_;
  EXPECT_THAT(out_, HasSubstr("query: \"question\" candidate: \"sentence\""));
  EXPECT_THAT(out_, HasSubstr("ANSWER_TYPE"));
}

}  // namespace
}  // namespace sortition
