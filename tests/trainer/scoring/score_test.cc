#include "trainer/scoring/score.h"

#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "process/command.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/fit.h"

namespace sortition {
namespace {

using config::v1::ScoreOptions;

constexpr uint32_t kFeatures = 11;
constexpr int kCandidates = 6;

// Features of a query as a server gets them, and as LETOR text.
struct Sent {
  std::vector<float> dense;
  std::string text;
};

// Every third feature is 0, and absent from the text. Nine digits read back as
// the same float.
Sent RandomQuery(const std::string& id, RandomSequence* random) {
  Sent sent;
  for (int i = 0; i < kCandidates; ++i) {
    absl::StrAppend(&sent.text, i % 3, " qid:", id);
    for (uint32_t j = 0; j < kFeatures; ++j) {
      const auto value = static_cast<float>(random->Normal());
      sent.dense.push_back(j % 3 == 2 ? 0 : value);
      if (j % 3 != 2)
        absl::StrAppendFormat(&sent.text, " %d:%.9g", j + 1, value);
    }
    absl::StrAppend(&sent.text, " #docid = ", id, "-", i, "\n");
  }
  return sent;
}

class ScoreTest : public testing::Test {
 protected:
  ScoreTest() {
    options_.set_model_store(dir_ / "store");
    options_.set_model("m");
  }

  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(dir_ / name, text));
    return dir_ / name;
  }

  // Returns a model with random weights and the policy of a text proto.
  static model::v1::Model ModelOf(const std::string& policy) {
    model::v1::Model model;
    model.set_name("m");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        policy, model.mutable_policy()));
    model.mutable_policy()->set_inverse_temperature(1.3);
    model.set_num_features(kFeatures);
    RandomSequence random(SeedKey(3));
    for (uint32_t j = 0; j < kFeatures; ++j) model.add_weights(random.Normal());
    return model;
  }

  // Publishes it as version 1 of a model of its own, which `options_` name
  // then.
  void Publish(model::v1::Model model) {
    options_.set_model(absl::StrCat("m", ++num_models_));
    model.set_name(options_.model());
    EXPECT_OK(ModelStore(options_.model_store()).Publish(model, nullptr, {}));
  }

  void SetData(const std::string& path) {
    options_.clear_data();
    options_.add_data(path);
  }

  // Returns what is printed.
  std::string Text() {
    std::ostringstream out;
    const auto report = Score(options_, &out);
    EXPECT_OK(report);
    if (report.ok()) report_ = *report;
    return out.str();
  }

  // Returns the fields of each line below the header.
  std::vector<std::vector<std::string>> Rows() {
    std::vector<std::vector<std::string>> rows;
    for (const absl::string_view line :
         absl::StrSplit(Text(), '\n', absl::SkipEmpty())) {
      rows.push_back(absl::StrSplit(line, '\t'));
    }
    EXPECT_FALSE(rows.empty());
    if (!rows.empty()) rows.erase(rows.begin());
    return rows;
  }

  TempDir dir_;
  ScoreOptions options_;
  ScoreReport report_;
  int num_models_ = 0;
};

double Number(const std::string& text) {
  double value = NAN;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

// Policies of every kind that is served.
constexpr const char* kPolicies[] = {
    "softmax_selection {}",
    "softmax_selection { abstain_score: 0.7 } uniform_mixture: 0.1",
    "plackett_luce {}",
    "plackett_luce { rank_factors: [4, 1] } uniform_mixture: 0.05",
    "sorted_ranking { swap_probability: 0.3 }",
    "game_ranking { discount: DCG plackett_luce_mixture: 0.1 }",
    "boltzmann_ranking { rank_weights: DCG head: 4 }",
    "independent_subset { threshold: 0.2 }",
    "independent_subset { k: 2 }",
    "game_subset { measure: PRECISION k: 2 } uniform_mixture: 0.1",
    "game_subset { measure: F_BETA threshold: 0.1 }",
};

// To the last bit, though a server gets dense rows here.
TEST_F(ScoreTest, ScoresAndProbabilitiesAreThoseOfThePolicy) {
  RandomSequence random(SeedKey(8));
  const Sent first = RandomQuery("a", &random);
  const Sent second = RandomQuery("b", &random);
  SetData(Write("data", first.text + second.text));
  for (const char* const text : kPolicies) {
    const model::v1::Model model = ModelOf(text);
    Publish(model);
    ASSERT_OK_AND_ASSIGN(const LinearPolicy policy,
                         LinearPolicy::Create(model));
    const auto rows = Rows();
    EXPECT_EQ(report_.version, 1u);
    EXPECT_EQ(report_.queries, 2u);
    EXPECT_EQ(report_.candidates, 2u * kCandidates);
    const size_t per_query = kCandidates + (policy.can_abstain() ? 1 : 0);
    ASSERT_EQ(rows.size(), 2 * per_query) << text;
    double sum = 0;
    for (const Sent* const sent : {&first, &second}) {
      PolicyQuery query;
      query.candidates = Candidates::Dense(sent->dense, kFeatures).value();
      const std::vector<double> scores = policy.Scores(query);
      double abstain = 0;
      const std::vector<double> probabilities =
          policy.FirstProbabilities(query, &abstain);
      const size_t begin = sent == &first ? 0 : per_query;
      for (size_t i = 0; i < kCandidates; ++i) {
        const std::vector<std::string>& row = rows[begin + i];
        ASSERT_EQ(row.size(), 6u);
        EXPECT_EQ(row[0], sent == &first ? "a" : "b");
        EXPECT_EQ(row[1], absl::StrCat(i));
        EXPECT_EQ(row[2], absl::StrCat(row[0], "-", i));
        EXPECT_EQ(row[3], absl::StrCat(i % 3));
        EXPECT_EQ(Number(row[4]), scores[i]) << text;
        EXPECT_EQ(Number(row[5]), probabilities[i]) << text;
        sum += probabilities[i];
      }
      if (!policy.can_abstain()) continue;
      const std::vector<std::string>& row = rows[begin + kCandidates];
      EXPECT_THAT(row, ElementsAre(row[0], "-1", "", "", "0.7", row[5]));
      EXPECT_EQ(Number(row[5]), abstain);
      sum += abstain;
    }
    // Something is selected, or first, with certainty.
    if (policy.action_kind() != ActionKind::kSubset) {
      EXPECT_NEAR(sum, 2, 1e-12) << text;
    }
  }
}

// Hidden units make features that the weights multiply.
TEST_F(ScoreTest, NetworksScoreAsTheyServe) {
  model::v1::Model model = ModelOf("plackett_luce {}");
  auto* const layer = model.mutable_hidden_layer();
  layer->set_num_units(2);
  RandomSequence random(SeedKey(5));
  for (uint32_t j = 0; j < 2 * kFeatures; ++j) {
    layer->add_weights(random.Normal());
  }
  for (const double bias : {0.3, -0.2}) {
    layer->add_biases(bias);
    model.add_weights(2 * bias);
  }
  Publish(model);
  const Sent sent = RandomQuery("a", &random);
  SetData(Write("data", sent.text));
  ASSERT_OK_AND_ASSIGN(const LinearPolicy policy, LinearPolicy::Create(model));
  PolicyQuery query;
  query.candidates = Candidates::Dense(sent.dense, kFeatures).value();
  const std::vector<double> scores = policy.Scores(query);
  const auto rows = Rows();
  ASSERT_EQ(rows.size(), size_t{kCandidates});
  for (size_t i = 0; i < kCandidates; ++i) {
    EXPECT_EQ(Number(rows[i][4]), scores[i]);
  }
}

// A request may ask for the size of a subset: every one of three is in.
TEST_F(ScoreTest, SubsetsHaveTheSizeThatIsAskedFor) {
  Publish(ModelOf("independent_subset { k: 1 }"));
  SetData(Write("data", "0 qid:a 1:1\n0 qid:a 1:2\n0 qid:a 1:3\n"));
  options_.set_k(3);
  for (const auto& row : Rows()) EXPECT_EQ(Number(row[5]), 1);
  EXPECT_EQ(report_.probability_of, "included");
  Publish(ModelOf("plackett_luce {}"));
  std::ostringstream out;
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("--k is 3, must be 0: policy plackett_luce "
                                "chooses no subsets"));
  Publish(ModelOf("game_subset { measure: F_BETA }"));
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("game_subset chooses the size of its subsets"));
}

TEST_F(ScoreTest, JsonLinesHaveTheSameNumbers) {
  model::v1::Model model = ModelOf("softmax_selection { abstain_score: 0 }");
  model.clear_weights();
  model.mutable_weights()->Resize(kFeatures, 0.5);
  model.mutable_policy()->set_inverse_temperature(1);
  Publish(model);
  SetData(Write("data", "1 qid:a 1:0 # docid = \"x\n"));
  options_.set_output("json");
  // Two actions with score 0.
  EXPECT_EQ(Text(),
            "{\"qid\":\"a\",\"probability_of\":\"selected\",\"candidates\":["
            "{\"document_index\":0,\"id\":\"\\\"x\",\"label\":1,"
            "\"score\":0.0,\"probability\":0.5}],"
            "\"abstain\":{\"score\":0.0,\"probability\":0.5}}\n");
  // As many digits as a double has.
  SetData(Write("data", "0 qid:a 1:0.1\n0 qid:a 1:0.7\n"));
  const std::string text = Text();
  options_.set_output("tsv");
  const auto rows = Rows();
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<std::string> parts =
        absl::StrSplit(text, "\"probability\":");
    ASSERT_EQ(parts.size(), 4u);
    EXPECT_EQ(Number(parts[i + 1].substr(0, parts[i + 1].find('}'))),
              Number(rows[i][5]));
  }
}

// Scores 1, 3, 2 and 2: equal scores keep the order of the data.
TEST_F(ScoreTest, TrecRunsAreOrderedByScore) {
  model::v1::Model model = ModelOf("plackett_luce {}");
  model.set_weights(0, 1);
  Publish(model);
  SetData(
      Write("data", "0 qid:7 1:1\n2 qid:7 1:3\n1 qid:7 1:2\n0 qid:7 1:2\n"));
  options_.set_output("trec");
  options_.set_run_tag("mine");
  options_.set_qrels(dir_ / "qrels");
  EXPECT_EQ(Text(),
            "7 Q0 1 1 3 mine\n7 Q0 2 2 2 mine\n7 Q0 3 3 2 mine\n"
            "7 Q0 0 4 1 mine\n");
  ASSERT_OK_AND_ASSIGN(const std::string qrels, ReadFile(options_.qrels()));
  EXPECT_EQ(qrels, "7 0 0 0\n7 0 1 2\n7 0 2 1\n7 0 3 0\n");
}

// `evaluate` gives the same figures for a version, and for its run and qrels.
TEST_F(ScoreTest, RunsAreWorthWhatTheVersionIs) {
  Publish(ModelOf("plackett_luce {}"));
  RandomSequence random(SeedKey(21));
  std::string text;
  for (int q = 0; q < 20; ++q) {
    text += RandomQuery(absl::StrCat("q", q), &random).text;
  }
  SetData(Write("data", text));
  options_.set_output("trec");
  options_.set_qrels(dir_ / "qrels");
  config::v1::EvaluateOptions of_run;
  of_run.set_format("trec");
  of_run.set_run(Write("run", Text()));
  of_run.set_qrels(options_.qrels());
  config::v1::EvaluateOptions of_version;
  of_version.add_data(options_.data(0));
  of_version.set_model_store(options_.model_store());
  of_version.set_model(options_.model());
  for (auto* const options : {&of_run, &of_version}) {
    options->add_metrics("trec,letor,mrr@2,ndcg_exponential@3");
  }
  ASSERT_OK_AND_ASSIGN(const auto by_run, EvaluateOrders(of_run));
  ASSERT_OK_AND_ASSIGN(const auto by_version, EvaluateOrders(of_version));
  ASSERT_EQ(by_run.metrics_size(), by_version.metrics_size());
  EXPECT_GT(by_run.metrics(0).value(), 0);
  for (int m = 0; m < by_run.metrics_size(); ++m) {
    EXPECT_EQ(by_run.metrics(m).value(), by_version.metrics(m).value())
        << by_run.metrics(m).name();
  }
}

// A model of columns scores files of each format alike. Its only feature is the
// price, standardised by mean 2 and deviation 1.
class ScoreColumnsTest : public ScoreTest {
 protected:
  ScoreColumnsTest() {
    config::v1::FitOptions fit;
    fit.set_data(
        Write("train.csv", "query,label,price\nq,1,1\nq,0,3\nr,0,1\nr,1,3\n"));
    fit.set_model_store(options_.model_store());
    fit.set_model("m");
    fit.set_features(
        Write("spec",
              "schema { column { name: 'price' type: NUMBER } }"
              "transform { number { column: 'price' standardise: true } }"));
    EXPECT_OK(Fit(fit));
  }
};

TEST_F(ScoreColumnsTest, LabelsAndIdsAreThereIfTheDataHasThem) {
  SetData(
      Write("data.csv", "query,price,id,label\nq,1,a,2\nq,2,b,0\nr,3,,1\n"));
  auto rows = Rows();
  ASSERT_GE(rows.size(), 3u);
  EXPECT_THAT(rows[0], ElementsAre("q", "0", "a", "2", testing::_, testing::_));
  EXPECT_THAT(rows[1], ElementsAre("q", "1", "b", "0", testing::_, testing::_));
  const std::string first = rows[0][4];
  // Without labels and ids, and by other names.
  SetData(Write("bare.csv", "query,price\nq,1\nq,2\n"));
  rows = Rows();
  EXPECT_THAT(rows[0], ElementsAre("q", "0", "", "", first, testing::_));
  SetData(Write("other.csv", "topic,price,doc,grade\nq,1,a,2\n"));
  options_.set_query_column("topic");
  options_.set_id_column("doc");
  options_.set_label_column("grade");
  rows = Rows();
  EXPECT_THAT(rows[0], ElementsAre("q", "0", "a", "2", first, testing::_));
  SetData(Write("data.jsonl",
                "{\"id\": \"q\", \"candidates\": [{\"price\": 1, \"doc\": 12, "
                "\"grade\": 2}, {\"price\": 2}]}\n"));
  rows = Rows();
  EXPECT_THAT(rows[0], ElementsAre("q", "0", "12", "2", first, testing::_));
  EXPECT_THAT(rows[1], ElementsAre("q", "1", "", "0", testing::_, testing::_));
  // Columns that are named must be there.
  std::ostringstream out;
  SetData(Write("data.csv", "topic,price,doc\nq,1,a\n"));
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("the header has no column 'grade'"));
  SetData(Write("data.csv", "topic,price,grade\nq,1,1\n"));
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("the header has no column 'doc'"));
}

TEST_F(ScoreColumnsTest, RefusesIdsThatAFormatCannotHave) {
  std::ostringstream out;
  SetData(Write("data.jsonl",
                "{\"id\": \"a query\", \"candidates\": [{\"price\": 1}]}\n"));
  options_.set_output("trec");
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("data.jsonl:1: query 'a query': ",
                                "the id of a query is 'a query', must be not "
                                "empty and without white space"));
  options_.set_output("tsv");
  EXPECT_OK(Score(options_, &out));
  options_.set_qrels(dir_ / "qrels");
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("has no labels, must have them with --qrels"));
  options_.clear_qrels();
  SetData(Write("data.jsonl",
                "{\"id\": \"a\\tb\", \"candidates\": [{\"price\": 1}]}\n"));
  EXPECT_THAT(Score(options_, &out), IsInvalidArgument("use --output=json"));
  options_.set_output("json");
  EXPECT_OK(Score(options_, &out));
  SetData(
      Write("data.jsonl",
            "{\"id\": \"q\", \"candidates\": [{\"price\": 1, \"id\": \"d\"}, "
            "{\"price\": 1, \"id\": \"d\"}]}\n"));
  options_.set_output("trec");
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("two candidates have the id 'd'"));
}

TEST_F(ScoreColumnsTest, RefusesDataThatTheModelDoesNotTake) {
  std::ostringstream out;
  SetData(Write("data.letor", "0 qid:a 1:1\n"));
  EXPECT_THAT(
      Score(options_, &out),
      IsInvalidArgument("data.letor', must end in .tsv, .csv or .jsonl: "
                        "the model has a schema"));
  Publish(ModelOf("plackett_luce {}"));
  SetData(Write("data.csv", "query,price\nq,1\n"));
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("must be LETOR/SVMlight: the model has no "
                                "schema, and takes 11 features"));
}

TEST_F(ScoreTest, RefusesVersionsAndScoresThatNoServerServes) {
  std::ostringstream out;
  SetData(Write("data", "0 qid:a 1:1\n0 qid:a 1:2\n"));
  std::filesystem::create_directory(options_.model_store());
  EXPECT_THAT(Score(options_, &out), IsNotFound("has no version in "));
  model::v1::Model labels = ModelOf("independent_labels { num_labels: 1 }");
  Publish(labels);
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("model 'm1' version 1 cannot be served: "
                                "policy.kind is independent_labels"));
  // A logit of 1e12 leaves no room for the noise of a draw.
  model::v1::Model model = ModelOf("plackett_luce {}");
  model.set_weights(0, 1e12);
  Publish(model);
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("data:1: query 'a': scores are beyond what can "
                                "be drawn exactly"));
  options_.set_run_tag("tag");
  EXPECT_TRUE(IsUsageError(Score(options_, &out).status()));
  options_.set_output("trec");
  options_.set_run_tag("my tag");
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("--run_tag is 'my tag'"));
  options_.set_output("xml");
  EXPECT_THAT(Score(options_, &out),
              IsInvalidArgument("--output is \"xml\", must be tsv or json or "
                                "trec"));
}

TEST_F(ScoreTest, AFullOutputIsAnError) {
  Publish(ModelOf("plackett_luce {}"));
  SetData(Write("data", "0 qid:a 1:1\n"));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(Score(options_, &out).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ScoreTest, TheSummarySaysWhatIsProbable) {
  Publish(ModelOf("game_subset { measure: F_BETA }"));
  SetData(Write("data", "0 qid:a 1:1\n0 qid:a 1:0.5\n"));
  Text();
  EXPECT_THAT(FormatScoreReport(report_),
              HasTexts("1 queries, 2 candidates scored by m1 version 1 "
                       "(game_subset); probability: of being included, exact"));
}

}  // namespace
}  // namespace sortition
