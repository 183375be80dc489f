#include "trainer/clicks/clicks.h"

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/clicks/click_logs.h"
#include "trainer/clicks/clicks_text.h"
#include "trainer/clicks/clicks_words.h"
#include "trainer/report.h"
#include "trainer/trainer_commands.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPosition[] = "position_based";

// Returns how many of the parameters lie in their intervals.
int CountInside(const ClicksReport::Model& model, const std::string& name,
                const std::vector<double>& truth) {
  int inside = 0;
  for (const auto& parameter : model.parameters()) {
    if (parameter.name() != name || !parameter.has_interval()) continue;
    const double expected = truth[parameter.index()];
    inside += parameter.lower() <= expected && expected <= parameter.upper();
  }
  return inside;
}

TEST_F(ClicksFixture, FindsPositionBasedUsers) {
  const ClickLogWorld world = {.user = PositionUser()};
  WriteLog(DrawClickTuples(world, 8000, 1));
  const ClicksReport report = Learn();
  EXPECT_EQ(report.sessions(), 8000u);
  EXPECT_EQ(report.training_sessions() + report.held_out_sessions(), 8000u);
  // Within 5 standard deviations of a quarter.
  EXPECT_NEAR(static_cast<double>(report.held_out_sessions()), 2000, 200);
  EXPECT_EQ(report.impressions(), 32000u);
  EXPECT_EQ(report.items(), 60u);
  EXPECT_EQ(report.moved_items(), 60u);
  ASSERT_EQ(report.models_size(), 5);
  EXPECT_EQ(report.simplest(), kPosition);
  for (const char* const name : {"dependent_click", "bayesian_network"}) {
    const ClicksReport::Model* const model = FindClickModel(report, name);
    ASSERT_NE(model, nullptr);
    EXPECT_FALSE(model->is_as_good()) << name;
    EXPECT_LT(model->difference(), 0) << name;
    EXPECT_GT(model->standard_error(), 0) << name;
  }
  // These users click several times.
  const ClicksReport::Model* const cascade = FindClickModel(report, "cascade");
  EXPECT_GT(cascade->impossible_sessions(), 0u);
  EXPECT_FALSE(cascade->has_held_out_log_likelihood());
  const ClicksReport::Model* const model = FindClickModel(report, kPosition);
  EXPECT_TRUE(model->unidentified().empty());
  EXPECT_EQ(model->interval_method(), "information");
  EXPECT_EQ(model->perplexity_size(), 4);
  EXPECT_EQ(model->parameters_size(), 4);
  EXPECT_FALSE(model->parameters(0).has_interval());  // θ_0 = 1 is the scale.
  EXPECT_GE(CountInside(*model, "examination", world.user.examination), 2);
  for (const auto& parameter : model->parameters()) {
    EXPECT_NEAR(parameter.value(), world.user.examination[parameter.index()],
                .12);
  }
  EXPECT_EQ(report.bias().click_model(), kPosition);
  EXPECT_EQ(report.bias().examination_size(), 4);
  EXPECT_THAT(report.bias().click_offsets(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(report.ope_command(), HasSubstr("--click_offsets=0,0,0,0"));
  EXPECT_THAT(report.notes(), Each(Not(HasSubstr("predicts better than"))));
}

TEST_F(ClicksFixture, FindsCascades) {
  const ClickLogWorld world = {.user = {.kind = ClickModelKind::kCascade}};
  WriteLog(DrawClickTuples(world, 6000, 2));
  const ClicksReport report = Learn();
  EXPECT_EQ(report.sessions_with_more_clicks(), 0u);
  EXPECT_EQ(report.simplest(), "cascade");
  EXPECT_FALSE(FindClickModel(report, kPosition)->is_as_good());
  EXPECT_FALSE(FindClickModel(report, "trust_bias")->is_as_good());
  EXPECT_THAT(report.verdict(), HasSubstr("'cascade'"));
  // What `ope` takes is only near the truth, and the report says so.
  EXPECT_TRUE(report.has_bias());
  EXPECT_THAT(report.notes(),
              testing::Contains(HasSubstr("corrected by rank")));
}

TEST_F(ClicksFixture, RegressionLearnsTheFunctionOfFeatures) {
  const ClickLogWorld world = {.user = PositionUser()};
  WriteLog(DrawClickTuples(world, 4000, 3));
  SetModels({kPosition});
  options_.set_items("regression");
  options_.set_draws(100);
  const ClicksReport report = Learn();
  ASSERT_EQ(report.models_size(), 1);
  const ClicksReport::Model& model = report.models(0);
  EXPECT_EQ(model.interval_method(), "bootstrap");
  // Four ranks; two weights and an intercept.
  ASSERT_EQ(model.parameters_size(), 7);
  EXPECT_EQ(model.parameters_learned(), 7u);
  EXPECT_EQ(model.parameters(4).name(), "attraction_weight");
  EXPECT_NEAR(model.parameters(4).value(), 0, .1);  // Of the query's number.
  EXPECT_NEAR(model.parameters(5).value(), 1, .3);  // Of z.
  EXPECT_GE(CountInside(model, "examination", world.user.examination), 2);
  EXPECT_THAT(report.verdict(), HasSubstr("nothing to compare it with"));
}

// Equal rows are the same item in every query: ids are not looked at.
TEST_F(ClicksFixture, ItemsByFeatures) {
  const ClickLogWorld world = {.user = PositionUser(), .queries = 3};
  std::vector<log::v1::BanditTuple> tuples = DrawClickTuples(world, 400, 4);
  for (auto& tuple : tuples) {
    tuple.mutable_decision()->clear_candidate_ids();
    for (int i = 0; i < 12; i += 2) {
      tuple.mutable_decision()->set_dense_values(i, 0);  // The query's number.
      tuple.mutable_decision()->set_dense_values(i + 1,
                                                 static_cast<float>(i / 2));
    }
  }
  WriteLog(tuples);
  SetModels({kPosition});
  options_.set_items("features");
  EXPECT_EQ(Learn().items(), 6u);
}

TEST_F(ClicksFixture, UnitsStayTogether) {
  const ClickLogWorld world = {.user = PositionUser(), .sessions_of_unit = 4};
  WriteLog(DrawClickTuples(world, 2000, 5));
  SetModels({kPosition, "trust_bias"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.held_out_sessions(), 4 * report.held_out_units());
  EXPECT_THAT(report.notes(),
              testing::Contains(HasSubstr("Some units have several sessions")));
}

// Every query always has the same order.
TEST_F(ClicksFixture, SaysWhatAFixedOrderDoesNotTell) {
  const ClickLogWorld world = {.user = PositionUser()};
  std::vector<log::v1::BanditTuple> tuples = DrawClickTuples(world, 1000, 6);
  for (auto& tuple : tuples) {
    for (int r = 0; r < 4; ++r) tuple.mutable_decision()->set_action(r, r);
    tuple.mutable_decision()->set_log_propensity(0);
    tuple.mutable_decision()->set_version(7);
  }
  WriteLog(tuples);
  SetModels({kPosition, "trust_bias", "bayesian_network"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.moved_items(), 0u);
  ASSERT_EQ(report.models(0).unidentified_size(), 1);
  EXPECT_THAT(report.models(0).unidentified(0).ranks(), ElementsAre(1, 2, 3));
  EXPECT_EQ(report.models(1).unidentified(0).parameter(), "slope");
  EXPECT_THAT(report.models(1).unidentified(0).ranks(), ElementsAre(1, 2, 3));
  EXPECT_EQ(report.models(2).unidentified(0).parameter(), "perseverance");
  EXPECT_THAT(report.notes(), testing::Contains(HasSubstr("at two ranks")));
  EXPECT_FALSE(report.has_bias());
  EXPECT_EQ(report.without_propensities().at("model_store is empty"), 1000u);
  options_.set_write(dir_ / "bias.textproto");
  EXPECT_THAT(WriteClickBias(options_, report),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("linked with rank 0")));
}

// The log's own chance tells examination, without a model of attraction.
TEST_F(ClicksFixture, UniformOrdersTellExamination) {
  const ClickLogWorld world = {.user = PositionUser()};
  WriteLog(DrawClickTuples(world, 4000, 7));
  SetModels({kPosition});
  const ClicksReport report = Learn();
  EXPECT_TRUE(report.without_propensities().empty());
  ASSERT_EQ(report.interventions_size(), 2);
  for (const auto& found : report.interventions()) {
    EXPECT_EQ(found.sessions(), 4000u) << found.method();
    ASSERT_EQ(found.ranks_size(), 4) << found.problem();
    for (int r = 1; r < 4; ++r) {
      const auto& rank = found.ranks(r);
      const double truth = world.user.examination[static_cast<size_t>(r)];
      EXPECT_LT(std::abs(std::log(rank.ratio() / truth)),
                5 * rank.log_standard_error())
          << found.method() << r;
      EXPECT_LT(rank.log_standard_error(), .15) << found.method() << r;
    }
  }
}

// A stored version that puts attractive candidates on top.
TEST_F(ClicksFixture, StoredVersionsTellExamination) {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(2);
  model.add_weights(0);
  model.add_weights(1);
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1.5);
  model.mutable_policy()->set_uniform_mixture(.1);
  const ModelStore store(dir_.Sub("models"));
  ASSERT_OK(store.Publish(model, nullptr, {}));
  const ClickLogWorld world = {.user = PositionUser(), .model = model};
  WriteLog(DrawClickTuples(world, 6000, 8));
  SetModels({kPosition});
  EXPECT_EQ(Learn().without_propensities().at("model_store is empty"), 6000u);
  options_.set_model_store(dir_.Sub("models"));
  const ClicksReport report = Learn();
  EXPECT_TRUE(report.without_propensities().empty());
  ASSERT_EQ(report.interventions_size(), 2);
  for (const auto& found : report.interventions()) {
    ASSERT_EQ(found.ranks_size(), 4) << found.problem();
    for (int r = 1; r < 4; ++r) {
      const auto& rank = found.ranks(r);
      const double truth = world.user.examination[static_cast<size_t>(r)];
      EXPECT_LT(std::abs(std::log(rank.ratio() / truth)),
                5 * rank.log_standard_error())
          << found.method() << r;
      EXPECT_LT(rank.log_standard_error(), .25) << found.method() << r;
    }
  }
  // About so many, by hash.
  options_.set_propensity_sessions(600);
  EXPECT_NEAR(static_cast<double>(Learn().interventions(0).sessions()), 600,
              5 * std::sqrt(540.));
}

TEST_F(ClicksFixture, PrintsAndWritesWhatItFound) {
  const ClickLogWorld world = {.user = PositionUser()};
  WriteLog(DrawClickTuples(world, 2000, 9));
  options_.set_report(dir_ / "report.json");
  options_.set_write(dir_ / "bias.textproto");
  options_.set_draws(20);
  std::ostringstream out;
  std::ostringstream error;
  CommandOutput output{out, error};
  ASSERT_OK(RunClicks(options_, {}, &output));
  for (const char* const text :
       {"2000 rankings used", "log-likelihood", "bayesian_network",
        "Perplexity by rank", "(intervals: bootstrap)",
        "  sortition-trainer ope --tuples=", " --examination=1,"}) {
    EXPECT_THAT(out.str(), HasSubstr(text));
  }
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(dir_ / "report.json"));
  ClicksReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.sessions(), 2000u);
  EXPECT_EQ(report.models_size(), 5);
  EXPECT_FALSE(report.verdict().empty());
  EXPECT_EQ(report.click_rates_size(), 4);
  EXPECT_THAT(json, HasSubstr("\"held_out_log_likelihood\""));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(dir_ / "bias.textproto"));
  config::v1::ClickBias bias;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &bias));
  EXPECT_EQ(bias.examination_size(), 4);
  EXPECT_EQ(bias.click_offsets_size(), 4);
  EXPECT_EQ(bias.sessions(), report.training_sessions());
}

}  // namespace
}  // namespace sortition
