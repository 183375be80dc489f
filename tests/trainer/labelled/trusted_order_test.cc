#include "trainer/labelled/trusted_order.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/labelled/labelled_report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::OrderDivergence;
using config::v1::TrainOptions;
using config::v1::TrainReport;

// The planted queries in two files; the first one mixes the queries' lines.
class TrustedOrderTest : public PlantedTest {
 protected:
  void SetUp() override {
    PlantedTest::SetUp();
    options_.clear_game();
    options_.set_learner("ranksvm");
    options_.mutable_rank_svm()->add_lambda(0.01);
    options_.set_dry_run(true);
    LabelledQueries one = Planted(60, 0.2, 1);
    LabelledQueries two = Planted(60, 0.2, 2);
    *options_.mutable_data(0) =
        absl::StrCat(WriteMixed("one", one), ",", Write("two", two));
    Trust(1, {1});
  }

  // Writes every second line first.
  std::string WriteMixed(const std::string& name, const LabelledQueries& data) {
    const std::string path = Write(name, data);
    const std::vector<std::string> lines = Lines(path);
    std::string text;
    for (size_t parity : {0, 1}) {
      for (size_t i = parity; i < lines.size(); i += 2) text += lines[i] + "\n";
    }
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  static std::vector<std::string> Lines(const std::string& path) {
    return absl::StrSplit(ReadFile(path).value(), '\n', absl::SkipEmpty());
  }

  // Writes a score for every line of the data, computed from its features.
  std::string WriteScores(
      const std::function<double(const std::vector<float>&)>& score,
      int more = 0) {
    std::string text;
    for (const std::string& path : Files()) {
      for (const std::string& line : Lines(path)) {
        const auto query = ParseLetor(line)->queries.at(0);
        std::vector<float> features = query.features;
        features.resize(kPlantedFeatures);
        absl::StrAppend(&text, absl::StrFormat("%.17g\n", score(features)));
      }
    }
    for (; more > 0; --more) text += "0\n";
    for (; more < 0; ++more) text.erase(text.rfind('\n', text.size() - 2) + 1);
    const std::string path = dir_.Sub("data") + "/scores";
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  std::vector<std::string> Files() const {
    const std::string& data = options_.data(0);
    const size_t comma = data.find(',');
    return {data.substr(0, comma), data.substr(comma + 1)};
  }

  void Trust(uint32_t feature, const std::vector<double>& weights) {
    auto* trusted = options_.mutable_trusted_order();
    trusted->Clear();
    trusted->set_feature(feature);
    trusted->mutable_weight()->Add(weights.begin(), weights.end());
  }

  // Returns objective, bound and divergence of every point.
  std::vector<double> Numbers(const TrainOptions& options) {
    const auto report = Train(options);
    EXPECT_OK(report);
    std::vector<double> numbers;
    if (!report.ok()) return numbers;
    for (const auto& point : report->labelled().points()) {
      numbers.insert(numbers.end(),
                     {point.objective(), point.dual_bound(),
                      point.trusted_divergence(), point.trusted_inversions()});
    }
    return numbers;
  }

  void PublishFirstFeature(double weight) {
    model::v1::Model model;
    model.set_name("default");
    model.set_num_features(kPlantedFeatures);
    for (uint32_t j = 0; j < kPlantedFeatures; ++j) {
      model.add_weights(j == 0 ? weight : 0);
    }
    model.mutable_policy()->mutable_plackett_luce();
    model.mutable_policy()->set_inverse_temperature(1);
    EXPECT_OK(store().Publish(model, nullptr, {}));
  }
};

// Scores of twice the first feature, and a version that scores by it, order
// queries like the feature: the problems are bit-identical. They would differ
// if scores were taken from lines of other parts or of another file.
TEST_F(TrustedOrderTest, FeatureScoresAndVersionOfOneOrderAreOne) {
  Trust(1, {0.5, 4});
  const std::vector<double> by_feature = Numbers(options_);
  ASSERT_EQ(by_feature.size(), 8);
  TrainOptions by_scores = options_;
  by_scores.mutable_trusted_order()->clear_feature();
  by_scores.mutable_trusted_order()->set_scores(WriteScores(
      [](const std::vector<float>& features) { return 2 * features[0]; }));
  EXPECT_EQ(Numbers(by_scores), by_feature);
  PublishFirstFeature(3);
  PublishFirstFeature(-1);
  TrainOptions by_version = options_;
  by_version.mutable_trusted_order()->clear_feature();
  by_version.mutable_trusted_order()->set_version(1);
  EXPECT_EQ(Numbers(by_version), by_feature);
  by_version.mutable_trusted_order()->set_version(0);  // Version 2, reversed.
  const std::vector<double> reversed = Numbers(by_version);
  EXPECT_NE(reversed, by_feature);
  by_scores.mutable_trusted_order()->set_scores(WriteScores(
      [](const std::vector<float>& features) { return -features[0]; }));
  EXPECT_EQ(Numbers(by_scores), reversed);
}

TEST_F(TrustedOrderTest, TheModelSaysWhichVersionWasTrusted) {
  PublishFirstFeature(3);
  PublishFirstFeature(2);
  options_.mutable_trusted_order()->clear_feature();
  options_.mutable_trusted_order()->set_version(0);
  options_.set_dry_run(false);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().trusted_order().source(), "version 2 of default");
  ASSERT_OK_AND_ASSIGN(const StoredModel stored,
                       store().Load("default", report.version()));
  EXPECT_THAT(stored.model.provenance().options(),
              HasSubstr("trusted_order { weight: 1 version: 2 }"));
  EXPECT_EQ(stored.model.provenance().comment(), "trusted order weight 1");
}

TEST_F(TrustedOrderTest, ReportsWhatWasTrustedAndHowFarItPulled) {
  Trust(1, {0, 10});
  options_.mutable_trusted_order()->set_cutoff(5);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  const LabelledReport& labelled = report.labelled();
  EXPECT_EQ(labelled.trusted_order().source(), "feature 1");
  EXPECT_EQ(labelled.trusted_order().divergence(), "DCG@5");
  EXPECT_EQ(labelled.trusted_order().tied_pairs(), 0);
  // The labels depend on 2 x_1 and other features; a fifth of them is noise.
  EXPECT_GT(labelled.trusted_order().right_pairs(), 0.7);
  EXPECT_LT(labelled.trusted_order().right_pairs(), 0.9);
  ASSERT_EQ(labelled.points_size(), 2);
  EXPECT_EQ(labelled.points(0).setting(), "trusted order weight 0");
  EXPECT_EQ(labelled.points(1).setting(), "trusted order weight 10");
  EXPECT_GT(labelled.points(0).trusted_inversions(), 0.1);
  EXPECT_LT(labelled.points(1).trusted_inversions(),
            labelled.points(0).trusted_inversions() / 2);
  EXPECT_LT(labelled.points(1).trusted_divergence(),
            labelled.points(0).trusted_divergence() / 2);
  // The validation part shows that the labels say more than the feature.
  EXPECT_TRUE(labelled.points(0).chosen());
  const std::string text = FormatLabelledReport(report);
  EXPECT_THAT(text, HasTexts("Trusted order: feature 1, DCG@5 divergence",
                             "inverted pairs"));
  options_.clear_trusted_order();
  EXPECT_THAT(FormatLabelledReport(*Train(options_)),
              Not(HasSubstr("rusted order")));
}

// Files often list relevant candidates first, so that the order of the lines
// would reveal the labels. A feature of two values, in a file that is sorted by
// label, leaves half of the pairs tied.
TEST_F(TrustedOrderTest, TiesAreInRandomOrder) {
  constexpr int kQueries = 200;
  LabelledData data;
  data.shape = {.num_features = 2, .max_relevance = 1};
  for (uint32_t q = 0; q < kQueries; ++q) {
    data.training.push_back({absl::StrCat("q", q),
                             {0, 1, 1, 2, 0, 3, 1, 4},
                             {1, 1, 0, 0},
                             {4 * q, 4 * q + 1, 4 * q + 2, 4 * q + 3}});
  }
  data.num_rows = 4 * kQueries;
  Trust(1, {1});
  ASSERT_OK_AND_ASSIGN(const TrustedSource source,
                       ReadTrustedOrders(options_, data));
  EXPECT_NEAR(source.report.tied_pairs(), 2.0 / 6, 1e-12);
  EXPECT_NEAR(source.report.right_pairs(), 0.5, 1e-12);
  int in_file_order = 0;
  for (const Order& order : source.orders) {
    in_file_order += order[0] == 1 ? 1 : 0;
    EXPECT_EQ(order[0] + order[1], 4u);  // Candidates 1 and 3.
  }
  // Within four standard deviations of half of them.
  EXPECT_NEAR(in_file_order, kQueries / 2, 4 * std::sqrt(kQueries) / 2);
  Trust(2, {1});
  ASSERT_OK_AND_ASSIGN(const TrustedSource second,
                       ReadTrustedOrders(options_, data));
  EXPECT_THAT(second.orders[0], ElementsAre(3, 2, 1, 0));
}

// Otherwise all scores would be pulled towards the order of the lines, which is
// often that of the labels.
TEST_F(TrustedOrderTest, ASourceThatTiesEverythingIsRefused) {
  TrainOptions options = options_;
  auto* trusted = options.mutable_trusted_order();
  trusted->clear_feature();
  trusted->set_scores(
      WriteScores([](const std::vector<float>&) { return 7.0; }));
  EXPECT_THAT(Train(options),
              IsInvalidArgument(absl::StrCat("trusted_order.scores: scores of ",
                                             trusted->scores(),
                                             " has equal values in each of ")));
  PublishFirstFeature(0);
  trusted->clear_scores();
  trusted->set_version(0);
  EXPECT_THAT(
      Train(options),
      IsInvalidArgument("trusted_order.version: version 1 of default has "));
  LabelledData data;
  data.shape = {.num_features = 2, .max_relevance = 1};
  data.training = {{"a", {3, 1, 3, 2}, {0, 1}, {0, 1}},
                   {"b", {5, 1, 5, 1}, {0, 1}, {2, 3}}};
  data.num_rows = 4;
  EXPECT_THAT(ReadTrustedOrders(options_, data),
              IsInvalidArgument("trusted_order.feature: feature 1 has equal "
                                "values in each of 2 training queries"));
  Trust(2, {1});  // One pair that differs is enough.
  EXPECT_OK(ReadTrustedOrders(options_, data));
}

TEST_F(TrustedOrderTest, ManyTiesAreWarnedOf) {
  // It is above 2 in one of 44 cases, so that 96 % of the pairs are tied.
  TrainOptions options = options_;
  auto* trusted = options.mutable_trusted_order();
  trusted->clear_feature();
  const auto warning = HasSubstr("Warning: most pairs are tied");
  for (const double at : {2.0, -100.0}) {
    trusted->set_scores(WriteScores([at](const std::vector<float>& features) {
      return features[0] > at ? (at < 0 ? features[0] : 1.0) : 0.0;
    }));
    ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
    if (at > 0) {
      EXPECT_GT(report.labelled().trusted_order().tied_pairs(), 0.5);
      EXPECT_THAT(FormatLabelledReport(report), warning);
    } else {
      EXPECT_THAT(FormatLabelledReport(report), Not(warning));
    }
  }
}

// TOP of all ranks is min{|S|, m} = |S|, which does not depend on the order.
TEST_F(TrustedOrderTest, ATopOfAllRanksIsRefused) {
  LabelledData data;
  data.shape = {.num_features = 1, .max_relevance = 1};
  data.training = {{"short", {1, 2}, {0, 1}, {0, 1}},
                   {"long", {1, 2, 3, 4}, {0, 1, 0, 1}, {2, 3, 4, 5}},
                   {"other", {1, 2, 3}, {0, 1, 0}, {6, 7, 8}}};
  data.num_rows = 9;
  options_.mutable_trusted_order()->set_divergence(OrderDivergence::TOP);
  for (const uint32_t cutoff : {4, 5}) {
    options_.mutable_trusted_order()->set_cutoff(cutoff);
    EXPECT_THAT(ReadTrustedOrders(options_, data),
                IsInvalidArgument(absl::StrCat(
                    "trusted_order.cutoff is ", cutoff,
                    ", must be below 4 for divergence TOP, the candidates of "
                    "the longest training query, 'long'")));
  }
  options_.mutable_trusted_order()->set_cutoff(3);
  EXPECT_OK(ReadTrustedOrders(options_, data));
  options_.mutable_trusted_order()->set_divergence(OrderDivergence::DCG);
  // Here the ranks have different weights.
  options_.mutable_trusted_order()->set_cutoff(4);
  EXPECT_OK(ReadTrustedOrders(options_, data));
}

// The constant that F_BETA adds is not a feature that can be trusted.
TEST_F(TrustedOrderTest, PullsScoresThatHaveAThreshold) {
  options_.clear_rank_svm();
  options_.set_learner("hinge");
  options_.mutable_hinge()->set_loss(config::v1::HingeOptions::F_BETA);
  options_.mutable_hinge()->add_lambda(0.1);
  options_.mutable_hinge()->set_gap_tolerance(0.01);
  Trust(1, {0, 5});
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_TRUE(report.labelled().has_threshold());
  EXPECT_LT(report.labelled().points(1).trusted_inversions(),
            report.labelled().points(0).trusted_inversions());
  Trust(kPlantedFeatures + 1, {1});
  EXPECT_THAT(Train(options_), IsInvalidArgument("must be within [1, 4]"));
}

TEST_F(TrustedOrderTest, BadOptionsAreNamed) {
  TrainOptions without_weight = options_;
  without_weight.mutable_trusted_order()->clear_weight();
  TrainOptions without_source = options_;
  without_source.mutable_trusted_order()->clear_feature();
  const struct {
    const TrainOptions& options;
    std::string change;
    std::string message;
  } kCases[] = {
      {without_weight, "",
       "trusted_order.weight is unset, must be set where another option of "
       "trusted_order is"},
      {without_weight, "trusted_order { weight: -1 }",
       "trusted_order.weight is -1, must be at least 0"},
      {options_, "trusted_order { version: 0 }",
       "of trusted_order.feature, trusted_order.scores and "
       "trusted_order.version 2 are set, must be 1"},
      {without_source, "", "0 are set, must be 1"},
      {options_, "trusted_order { feature: 0 }",
       "trusted_order.feature is 0, must be at least 1"},
      {options_, "trusted_order { feature: 5 }",
       "trusted_order.feature is 5, must be within [1, 4], the features of "
       "data"},
      {options_, "trusted_order { divergence: TOP }",
       "trusted_order.cutoff is 0, must be at least 1"},
      {options_, "trusted_order { divergence: ALL_PAIRS cutoff: 3 }",
       "trusted_order.cutoff is 3, must be 0"},
  };
  for (const auto& [options, change, message] : kCases) {
    EXPECT_THAT(Train(With(options, change)), IsInvalidArgument(message));
  }
}

TEST_F(TrustedOrderTest, BadSourcesAreNamed) {
  TrainOptions options = options_;
  auto* trusted = options.mutable_trusted_order();
  trusted->clear_feature();
  const auto score = [](const std::vector<float>&) { return 1.0; };
  trusted->set_scores(WriteScores(score, 1));
  EXPECT_THAT(Train(options),
              IsInvalidArgument("trusted_order.scores: ",
                                "one for each candidate of data"));
  trusted->set_scores(WriteScores(score, -1));
  EXPECT_THAT(Train(options),
              IsInvalidArgument("one for each candidate of data"));
  ASSERT_OK(WriteFile(trusted->scores(), "1\nnan\n"));
  EXPECT_THAT(Train(options),
              IsInvalidArgument("line 2 is 'nan', must be one finite number"));
  trusted->set_scores(dir_.Sub("data") + "/absent");
  EXPECT_FALSE(Train(options).ok());
  trusted->clear_scores();
  trusted->set_version(0);
  EXPECT_THAT(Train(options),
              IsNotFound("trusted_order.version: model 'default' has no "
                         "version in "));
  trusted->set_version(7);
  EXPECT_THAT(Train(options).status().message(),
              HasSubstr("trusted_order.version: "));
}

TEST_F(TrustedOrderTest, LearnersThatAreNotPulledRefuse) {
  options_.clear_rank_svm();
  for (const char* learner : {"mpg", "crf", "multiclass"}) {
    options_.set_learner(learner);
    EXPECT_THAT(Train(options_), IsInvalidArgument(absl::StrCat(
                                     "trusted_order is set, must be unset "
                                     "for learner ",
                                     learner)));
  }
  options_.set_learner("poem");
  options_.clear_data();
  options_.set_tuples("t");
  EXPECT_THAT(
      Train(options_),
      IsInvalidArgument("trusted_order is set, must be unset for learner poem, "
                        "which learns from bandit tuples"));
}

}  // namespace
}  // namespace sortition
