#include "trainer/clicks/clicks.h"

#include <algorithm>
#include <sstream>

#include "google/protobuf/util/json_util.h"
#include "io/files.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/clicks/click_logs.h"
#include "trainer/clicks/clicks_text.h"
#include "trainer/clicks/clicks_words.h"
#include "trainer/clicks/item_keys.h"
#include "trainer/clicks/model_fits.h"
#include "trainer/clicks/rank_links.h"
#include "trainer/report.h"
#include "trainer/trainer_commands.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;
using log::v1::BanditTuple;
using testing::Contains;
using testing::Each;

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
              IsFailedPrecondition("linked with rank 0"));
}

// Two methods find the examination of the user, each with standard errors below
// `largest_error`.
void ExpectExamination(const ClicksReport& report, const ClickModel& user,
                       double largest_error) {
  EXPECT_TRUE(report.without_propensities().empty());
  ASSERT_EQ(report.interventions_size(), 2);
  for (const auto& found : report.interventions()) {
    SCOPED_TRACE(found.method());
    ASSERT_EQ(found.ranks_size(), 4) << found.problem();
    for (int r = 1; r < 4; ++r) {
      const auto& rank = found.ranks(r);
      const double truth = user.examination[static_cast<size_t>(r)];
      EXPECT_LT(std::abs(std::log(rank.ratio() / truth)),
                5 * rank.log_standard_error())
          << r;
      EXPECT_LT(rank.log_standard_error(), largest_error) << r;
    }
  }
}

// The log's own chance tells examination, without a model of attraction.
TEST_F(ClicksFixture, UniformOrdersTellExamination) {
  const ClickLogWorld world = {.user = PositionUser()};
  WriteLog(DrawClickTuples(world, 4000, 7));
  SetModels({kPosition});
  const ClicksReport report = Learn();
  ExpectExamination(report, world.user, .15);
  for (const auto& found : report.interventions()) {
    EXPECT_EQ(found.sessions(), 4000u) << found.method();
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
  ExpectExamination(report, world.user, .25);
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
  const auto bias = ParseText<config::v1::ClickBias>(text);
  EXPECT_EQ(bias.examination_size(), 4);
  EXPECT_EQ(bias.click_offsets_size(), 4);
  EXPECT_EQ(bias.sessions(), report.training_sessions());
}

// What is left out of a log, and what is refused.

std::vector<BanditTuple> SomeTuples(size_t sessions) {
  return DrawClickTuples({.user = PositionUser()}, sessions, 21);
}

TEST_F(ClicksFixture, CountsWhatIsLeftOut) {
  std::vector<BanditTuple> tuples = SomeTuples(500);
  for (int k = 0; k < 3; ++k) tuples[k].add_censored(log::v1::LOST);
  for (int k = 3; k < 5; ++k) tuples[k].mutable_decision()->set_seed(1);
  // Another order, and nothing at all.
  const auto& action = tuples[5].decision().action();
  for (const int r : {1, 0, 2, 3}) {
    tuples[5].mutable_shown()->add_shown(static_cast<uint32_t>(action[r]));
  }
  tuples[6].mutable_shown()->set_not_shown(true);
  tuples[7].mutable_decision()->set_model("other");
  tuples[8].mutable_decision()->set_action_kind(log::v1::SELECT);
  tuples[9].mutable_decision()->clear_candidate_ids();
  tuples[10].mutable_decision()->set_action(1, tuples[10].decision().action(0));
  tuples[11].add_rank_rewards()->set_rank(4);
  tuples[12].clear_rank_rewards();
  tuples[12].mutable_shown()->set_seen_ranks(0);
  WriteLog(tuples);
  SetModels({"position_based"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.read_tuples(), 500u);
  EXPECT_EQ(report.sessions(), 487u);
  const auto& excluded = report.excluded();
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kCensored) + ": lost"), 3u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kSeeded)), 2u);
  EXPECT_EQ(excluded.at("something else than the order was shown"), 2u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kOtherModel)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kOtherAction)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kNoCandidateIds)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kBadAction)), 1u);
  EXPECT_EQ(excluded.at("reward of a rank that was not shown"), 1u);
  EXPECT_EQ(excluded.at("no rank was seen"), 1u);
  EXPECT_EQ(excluded.size(), 9u);
}

// Users saw two ranks, but the last one was clicked in some sessions.
TEST_F(ClicksFixture, RanksThatWereNotSeenDoNotCount) {
  std::vector<BanditTuple> tuples = SomeTuples(300);
  uint64_t impressions = 0;
  bool is_below = false;
  for (auto& tuple : tuples) {
    tuple.mutable_shown()->set_seen_ranks(2);
    uint32_t seen = 2;
    for (const auto& reward : tuple.rank_rewards()) {
      seen = std::max(seen, reward.rank() + 1);
    }
    is_below |= seen > 2;
    impressions += seen;
  }
  ASSERT_TRUE(is_below);
  WriteLog(tuples);
  SetModels({"position_based"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.impressions(), impressions);
  EXPECT_THAT(report.notes(), Contains(HasSubstr("clicked below the ranks")));
  options_.set_ranks("shown");
  EXPECT_EQ(Learn().impressions(), 1200u);
  options_.set_max_ranks(2);
  const ClicksReport cut = Learn();
  EXPECT_EQ(cut.impressions(), 600u);
  EXPECT_THAT(cut.notes(), Contains(HasSubstr("300 sessions have more ranks")));
}

TEST_F(ClicksFixture, RefusesALogWithoutRewardsByRank) {
  std::vector<BanditTuple> tuples = SomeTuples(50);
  for (auto& tuple : tuples) tuple.clear_rank_rewards();
  WriteLog(tuples);
  EXPECT_THAT(LearnClicks(options_),
              IsFailedPrecondition("none of 50 rankings", "Feedback.rank"));
}

TEST_F(ClicksFixture, RefusesALogWithoutClicks) {
  WriteLog(SomeTuples(50));
  options_.set_click_from(2);
  EXPECT_THAT(LearnClicks(options_), IsFailedPrecondition("click_from is 2"));
  options_.set_model("other");
  EXPECT_THAT(LearnClicks(options_),
              IsFailedPrecondition("no rankings of model 'other'",
                                   "50 left out: other model"));
}

TEST_F(ClicksFixture, RefusesPartsThatAreTooSmall) {
  std::vector<BanditTuple> tuples = SomeTuples(50);
  for (auto& tuple : tuples) tuple.mutable_decision()->set_unit_id("one");
  WriteLog(tuples);
  EXPECT_THAT(LearnClicks(options_),
              IsFailedPrecondition("test_fraction is 0.25"));
}

TEST_F(ClicksFixture, RefusesMoreThanFitsMemory) {
  WriteLog(SomeTuples(30000));
  options_.set_memory_mb(1);
  EXPECT_THAT(LearnClicks(options_),
              IsFailedPrecondition("memory_mb is 1, must be"));
}

TEST_F(ClicksFixture, RefusesWrongOptions) {
  WriteLog(SomeTuples(50));
  ExpectRefusals(
      options_, &LearnClicks,
      {{"models: 'ubm'", "models: "},
       {"models: 'cascade' models: 'cascade'", "models has 'cascade' twice"},
       {"items: 'urls'",
        "items is 'urls', must be ids, features or regression"},
       {"ranks: 'some'", "ranks is 'some'"},
       {"draws: 5", "draws is 5, must be 0 or at least 20"},
       {"models: 'cascade' write: 'bias.textproto'",
        "models must have position_based or trust_bias"}});
}

// Rooms of the command on their own: links of ranks, keys of items, differences
// by units.

using Items = std::vector<uint32_t>;
using Clicks = std::vector<uint8_t>;

ClicksReport::Model Unidentified(const ClickSessions& sessions,
                                 ClickModelKind kind) {
  ClicksReport::Model model;
  RankLinks(sessions).AppendUnidentified(kind, true,
                                         model.mutable_unidentified());
  return model;
}

// Item 0 links ranks 0 and 1, item 1 ranks 1 and 2; nobody clicked item 2,
// which links rank 3 with rank 0.
TEST(RankLinksTest, FollowsItemsThatWereMovedAndClicked) {
  ClickSessions sessions = *ClickSessions::Create(5);
  ASSERT_OK(sessions.Add(Items{0, 1, 3, 2}, Clicks{1, 1, 0, 0}));
  ASSERT_OK(sessions.Add(Items{2, 0, 1, 4}, Clicks{0, 0, 0, 1}));
  EXPECT_EQ(RankLinks(sessions).moved_items(), 3u);
  const auto position = Unidentified(sessions, ClickModelKind::kPositionBased);
  ASSERT_EQ(position.unidentified_size(), 1);
  EXPECT_THAT(position.unidentified(0).ranks(), ElementsAre(3));
  // One item is not enough for two numbers.
  const auto trust = Unidentified(sessions, ClickModelKind::kTrustBias);
  ASSERT_EQ(trust.unidentified_size(), 2);
  EXPECT_THAT(trust.unidentified(0).ranks(), ElementsAre(1, 2, 3));
  EXPECT_EQ(trust.unidentified(1).parameter(), "offset");
  EXPECT_THAT(trust.unidentified(1).ranks(), ElementsAre(0));
  // Clicks at ranks 0, 1; that at rank 3 has no rank below.
  const auto dependent =
      Unidentified(sessions, ClickModelKind::kDependentClick);
  ASSERT_EQ(dependent.unidentified_size(), 1);
  EXPECT_THAT(dependent.unidentified(0).ranks(), ElementsAre(2, 3));
  // Items 2 (as it was first), 0, 1 and 4 were examined, but not 3.
  const auto cascade = Unidentified(sessions, ClickModelKind::kCascade);
  ASSERT_EQ(cascade.unidentified_size(), 1);
  EXPECT_EQ(cascade.unidentified(0).items(), 1u);
  // Clicked above the last rank: 0 and 1.
  const auto network = Unidentified(sessions, ClickModelKind::kBayesianNetwork);
  ASSERT_EQ(network.unidentified_size(), 1);
  EXPECT_EQ(network.unidentified(0).items(), 3u);
}

TEST(RankLinksTest, TwoItemsLinkTrust) {
  ClickSessions sessions = *ClickSessions::Create(2);
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 1}));
  ASSERT_OK(sessions.Add(Items{1, 0}, Clicks{1, 0}));
  const auto trust = Unidentified(sessions, ClickModelKind::kTrustBias);
  ASSERT_EQ(trust.unidentified_size(), 1);
  EXPECT_EQ(trust.unidentified(0).parameter(), "offset");
}

// Differences 1, 2, 3 of two units: the mean is 2, sums of the rest are -1 and
// 1.
TEST(DifferenceByUnitsTest, ByHand) {
  const UnitDifference difference =
      DifferenceByUnits({1, 2, 3}, {0, 0, 0}, {0, 0, 1}, 2);
  EXPECT_DOUBLE_EQ(difference.difference, 2);
  EXPECT_DOUBLE_EQ(difference.standard_error, std::sqrt(2. * 2) / 3);
  EXPECT_EQ(DifferenceByUnits({1, 2}, {0, 0}, {0, 0}, 1).standard_error, 0);
}

log::v1::Decision Query(const std::vector<float>& values,
                        const std::vector<std::string>& ids) {
  log::v1::Decision decision;
  decision.set_num_features(2);
  decision.set_num_candidates(static_cast<uint32_t>(ids.size()));
  decision.mutable_dense_values()->Add(values.begin(), values.end());
  for (const std::string& id : ids) decision.add_candidate_ids(id);
  return decision;
}

std::vector<Hash128> KeysOf(ClickItems items,
                            const log::v1::Decision& decision) {
  ItemKeys keys(items, nullptr);
  EXPECT_FALSE(keys.Read(decision).has_value());
  std::vector<Hash128> result;
  for (uint32_t i = 0; i < keys.num_candidates(); ++i) {
    result.push_back(keys.KeyOf(i));
  }
  return result;
}

TEST(ItemKeysTest, IdsBelongToTheirQuery) {
  const auto one = KeysOf(ClickItems::kIds, Query({1, 2, 3, 4}, {"a", "b"}));
  const auto turned = KeysOf(ClickItems::kIds, Query({3, 4, 1, 2}, {"b", "a"}));
  const auto other = KeysOf(ClickItems::kIds, Query({1, 2, 3, 5}, {"a", "b"}));
  EXPECT_EQ(one[0], turned[1]);
  EXPECT_EQ(one[1], turned[0]);
  EXPECT_FALSE(one[0] == one[1]);
  EXPECT_FALSE(one[0] == other[0]);
}

TEST(ItemKeysTest, FeaturesAreTheSameDenseAndSparse) {
  const auto dense =
      KeysOf(ClickItems::kFeatures, Query({0, 2, 3, 4, 0, 2}, {"a", "b", "c"}));
  EXPECT_EQ(dense[0], dense[2]);
  EXPECT_FALSE(dense[0] == dense[1]);
  log::v1::Decision sparse;
  sparse.set_num_features(2);
  sparse.set_num_candidates(1);
  sparse.mutable_sparse()->add_row_offsets(0);
  sparse.mutable_sparse()->add_row_offsets(1);
  sparse.mutable_sparse()->add_columns(1);
  sparse.mutable_sparse()->add_values(2);
  EXPECT_EQ(KeysOf(ClickItems::kFeatures, sparse)[0], dense[0]);
}

// Columns of the query tell queries apart, whatever the candidates.
TEST(ItemKeysTest, ColumnsOfTheQueryTellQueriesApart) {
  const auto decide = [](const std::string& question, double price) {
    log::v1::Decision decision;
    decision.set_num_candidates(1);
    decision.add_candidate_ids("a");
    auto* const columns = decision.mutable_columns();
    columns->set_num_candidates(1);
    auto* const query = columns->add_query();
    query->set_name("question");
    query->mutable_texts()->add_values(question);
    auto* const candidate = columns->add_candidate();
    candidate->set_name("price");
    candidate->mutable_numbers()->add_values(price);
    return decision;
  };
  const auto key = [&](ClickItems items, const std::string& question,
                       double price) {
    return KeysOf(items, decide(question, price))[0];
  };
  EXPECT_EQ(key(ClickItems::kIds, "who", 1), key(ClickItems::kIds, "who", 2));
  EXPECT_FALSE(key(ClickItems::kIds, "who", 1) ==
               key(ClickItems::kIds, "what", 1));
  EXPECT_FALSE(key(ClickItems::kFeatures, "who", 1) ==
               key(ClickItems::kFeatures, "who", 2));
  ItemKeys regression(ClickItems::kRegression, nullptr);
  EXPECT_EQ(regression.Read(decide("who", 1)), LeftOutReason::kColumns);
  log::v1::Decision short_of_values = decide("who", 1);
  short_of_values.mutable_columns()->mutable_candidate(0)->clear_numbers();
  short_of_values.mutable_columns()->mutable_candidate(0)->mutable_texts();
  ItemKeys keys(ClickItems::kFeatures, nullptr);
  EXPECT_EQ(keys.Read(short_of_values), LeftOutReason::kBadFeatures);
}

}  // namespace
}  // namespace sortition
