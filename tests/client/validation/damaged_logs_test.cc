// Every kind of damage is found by the check that is for it.
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

#include "client/validation/bounded_map.h"
#include "io/models/model_store.h"
#include "tests/client/validation/validate_fixture.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

class DamagedLogTest : public ValidateFixture {
 protected:
  void ExpectFail(const std::string& check, const std::string& text) {
    ExpectOnly(check, Level::kFail, text);
  }

  // Gives each tuple the propensity under another policy of what was drawn.
  static void Relabel(const Logger& logger, Tuples* tuples) {
    const LinearPolicy policy = logger.Make();
    PolicyWorkspace workspace;
    for (log::v1::BanditTuple& tuple : *tuples) {
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_log_propensity(
          policy.LogPropensity(QueryOf(decision),
                               {decision.action().data(),
                                static_cast<size_t>(decision.action_size())},
                               &workspace));
    }
  }

  static log::v1::Decision* DecisionAt(size_t i, Tuples* tuples) {
    return (*tuples)[i].mutable_decision();
  }
};

TEST_F(DamagedLogTest, ATemperatureThatIsNotTheLogs) {
  for (const auto& [drawn, logged] : {std::pair{2.0, 1.0}, {0.5, 2.0}}) {
    Tuples tuples = Log(Softmax(drawn, 0.1), kDecisions);
    Relabel(Softmax(logged, 0.1), &tuples);
    Write(tuples);
    ExpectFail("mean_weight", "must be 1");
    std::filesystem::remove(path_);
  }
}

TEST_F(DamagedLogTest, PropensitiesOfAnotherModel) {
  Logger other = Softmax(1, 0.1);
  other.version = 2;
  other.weights = {-0.8, 0.5, -0.02};
  Write(Log(Softmax(1, 0.1), kDecisions));
  Tuples tuples = Log(other, kDecisions, kDecisions);
  Logger first = Softmax(1, 0.1);
  Relabel(first, &tuples);
  Write(tuples);
  ExpectFail("mean_weight", "default version 2 SELECT");
}

// The second version's columns are changed from row to row.
TEST_F(DamagedLogTest, ColumnsThatMoved) {
  using Values = google::protobuf::RepeatedField<float>;
  const struct {
    std::function<void(int, Values*)> change;
    Level level;
    std::string text;
  } kCases[] = {
      {[](int row, Values* values) { values->SwapElements(row + 1, row + 2); },
       Level::kFail, "version 2 has columns in each other's place: 1 and 2"},
      {[](int row, Values* values) {
         values->Set(row, 1000 * values->Get(row));
       },
       Level::kWarn, "whose range moved: 0 from"}};
  Write(Log(Softmax(1, 0.1), kDecisions));
  Logger second = Softmax(1, 0.1);
  second.version = 2;
  const Tuples clean = Log(second, kDecisions, kDecisions);
  for (const auto& moved : kCases) {
    Tuples tuples = clean;
    for (log::v1::BanditTuple& tuple : tuples) {
      auto& values = *tuple.mutable_decision()->mutable_dense_values();
      for (int row = 0; row < values.size(); row += kColumns) {
        moved.change(row, &values);
      }
    }
    Write(tuples);
    ExpectOnly("features", moved.level, moved.text);
    std::filesystem::remove(path_);
  }
}

TEST_F(DamagedLogTest, OneThingThatIsWrong) {
  const struct {
    std::function<void(Tuples*)> damage;
    std::string check;
    std::string text;
  } kCases[] = {
      {[](Tuples* t) { *(*t)[12].add_feedback() = (*t)[10].feedback(0); },
       "feedback_ids", "decision d12: feedback id fd10 came before"},
      {[](Tuples* t) { t->push_back((*t)[13]); }, "decision_ids",
       "1 of 3001 decisions, first"},
      {[](Tuples* t) {
         for (size_t i = 100; i < t->size(); ++i) {
           DecisionAt(i, t)->set_time_us(DecisionAt(i, t)->time_us() - 5000000);
         }
       },
       "clock", "decision d100: time is 4.999990 s before"},
      {[](Tuples* t) {
         DecisionAt(9, t)->mutable_policy()->set_inverse_temperature(1.25);
       },
       "policies", "decision d9: version 1 of model default has another"}};
  const Tuples clean = Log(Softmax(1, 0.1), kDecisions);
  for (const auto& wrong : kCases) {
    Tuples tuples = clean;
    wrong.damage(&tuples);
    Write(tuples);
    ExpectFail(wrong.check, wrong.text);
    std::filesystem::remove(path_);
  }
}

TEST_F(DamagedLogTest, AClockThatWasSetAndSaidSoIsAWarning) {
  Tuples tuples = Log(Softmax(1, 0.1), kDecisions);
  for (size_t i = 100; i < tuples.size(); ++i) {
    DecisionAt(i, &tuples)->set_time_us(1);
  }
  DecisionAt(99, &tuples)->set_time_us(9000000);
  tuples[100].add_censored(log::v1::CLOCK_STEP);
  Write(tuples);
  EXPECT_EQ(Found().at("clock").level, Level::kWarn);
}

// Imported logs may have no times, and tuples of no sidecar have no order.
TEST_F(DamagedLogTest, DecisionsWithoutATimeAreCounted) {
  const Tuples clean = Log(Softmax(1, 0.1), 20);
  Tuples tuples = clean;
  for (size_t i = 5; i < 20; ++i) DecisionAt(i, &tuples)->clear_time_us();
  Write(tuples);
  ExpectOnly("clock", Level::kWarn,
             "time is missing in 15 of 20 decisions, first");
  std::filesystem::remove(path_);
  tuples = clean;
  for (auto& tuple : tuples) tuple.mutable_decision()->clear_time_us();
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_EQ(TextOf("clock"),
            "none of 20 decisions has a time; reward files with a horizon "
            "leave them out");
  std::filesystem::remove(path_);
  tuples = clean;
  tuples[3].clear_position();
  Write(tuples);
  EXPECT_EQ(TextOf("clock"),
            "1 tuples were not written by a sidecar, so that their order is "
            "unknown; the times of 19 records are in their order");
  std::filesystem::remove(path_);
  for (auto& tuple : tuples) tuple.clear_position();
  Write(tuples);
  EXPECT_EQ(TextOf("clock"),
            "20 tuples were not written by a sidecar, so that their order is "
            "unknown");
}

TEST_F(DamagedLogTest, StampsOutsideTheTimeOfTheirSegment) {
  constexpr int64_t kBegun = 1700000000000000;
  constexpr int64_t kFarAhead = 4000000000000000;
  const Tuples tuples = Log(Softmax(1, 0.1), 2);
  header_.set_kind(log::v1::SegmentHeader::SPOOL);
  header_.set_created_time_us(kBegun);
  const struct {
    int64_t time_us;
    std::string text;  // Empty: no warning.
  } cases[] = {{kBegun - 900000, ""},
               {kBegun - 1100000, "1.100000 s before the segment was begun"},
               {kFarAhead, "s after the segment was closed"}};
  for (const auto& stamp : cases) {
    *more_.emplace_back().mutable_decision() = tuples[0].decision();
    more_[0].mutable_decision()->set_time_us(stamp.time_us);
    Write({});
    const auto found = Found();
    ASSERT_EQ(found.count("clock"), stamp.text.empty() ? 0u : 1u);
    if (!stamp.text.empty()) {
      EXPECT_EQ(found.at("clock").level, Level::kWarn);
      EXPECT_THAT(found.at("clock").text, HasSubstr(stamp.text));
    }
    std::filesystem::remove(path_);
    more_.clear();
  }
}

TEST_F(DamagedLogTest, PropensitiesThatAreNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.5, -infinity, infinity, std::nan("")}) {
    Tuples tuples = Log(Softmax(1, 0.1), 500);
    DecisionAt(3, &tuples)->set_log_propensity(value);
    Write(tuples);
    ExpectFail("propensities", "decision d3: log_propensity is");
    std::filesystem::remove(path_);
  }
}

TEST_F(DamagedLogTest, ConditionalsThatDoNotMultiply) {
  Logger orders;
  orders.kind = log::v1::RANK;
  orders.top_k = 3;
  orders.policy.mutable_plackett_luce();
  orders.policy.set_inverse_temperature(1);
  const Tuples clean = Log(orders, kDecisions);
  Tuples tuples = clean;
  auto& conditionals =
      *DecisionAt(5, &tuples)->mutable_conditional_log_propensities();
  conditionals.Set(1, conditionals.Get(1) * (1 + 1e-7));
  Write(tuples);
  ExpectFail("conditionals", "decision d5: conditional_log_propensities add");
  std::filesystem::remove(path_);
  tuples = clean;
  DecisionAt(6, &tuples)->mutable_conditional_log_propensities()->RemoveLast();
  Write(tuples);
  ExpectFail("conditionals", "has 2 entries, must have 3");
}

TEST_F(DamagedLogTest, IllegalActions) {
  const struct {
    std::vector<int32_t> action;
    std::string text;
  } cases[] = {{{6}, "action has 6, must be in [0, 6)"},
               {{-2}, "action has -2, must be in [0, 6)"},
               {{4}, "action has 4, which is not eligible"},
               {{}, "action has 0 entries, must have 1"},
               {{1, 2}, "action has 2 entries, must have 1"}};
  for (const auto& illegal : cases) {
    Tuples tuples = Log(Softmax(1, 0.1), 500);
    log::v1::Decision& decision = *DecisionAt(4, &tuples);
    decision.mutable_action()->Assign(illegal.action.begin(),
                                      illegal.action.end());
    Write(tuples);
    ExpectFail("actions", "decision d4: " + illegal.text);
    std::filesystem::remove(path_);
  }
  Logger orders = {.version = 0, .kind = log::v1::RANK, .top_k = 3};
  Tuples tuples = Log(orders, 500);
  log::v1::Decision& decision = *DecisionAt(4, &tuples);
  decision.set_action(0, decision.action(1));
  Write(tuples);
  ExpectFail("actions",
             absl::StrCat("action has ", decision.action(1), " twice"));
}

TEST_F(DamagedLogTest, FlippedBytes) {
  Write(Log(Softmax(1, 0.1), 500));
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (const int place : {5000, 40000}) {
    file.seekp(place);
    file.put('\x55');
    file.put('\xaa');
  }
  file.close();
  ExpectFail("damage", "2 of 2 damaged places, first");
}

TEST_F(DamagedLogTest, RecordsThatAreMissingBetweenSegments) {
  header_.set_incarnation("i");
  Write(Log(Softmax(1, 0.1), 100));
  header_.set_first_sequence(100);
  Write(Log(Softmax(1, 0.1), 100, 100));
  EXPECT_THAT(Found(), IsEmpty());
  header_.set_first_sequence(205);
  Write(Log(Softmax(1, 0.1), 100, 200));
  ExpectOnly("damage", Level::kWarn, "5 records are missing between segments");
}

TEST_F(DamagedLogTest, ATornEnd) {
  Write(Log(Softmax(1, 0.1), 100));
  // Cuts into the footer.
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  ExpectOnly("damage", Level::kWarn, "bytes that are no whole record");
}

TEST_F(DamagedLogTest, AWindowThatChangedInTheMiddle) {
  Write(Log(Softmax(1, 0.1), 500), 60);
  Write(Log(Softmax(1, 0.1), 500, 500), 30);
  ExpectOnly("joins", Level::kWarn, "500 tuples joined by SUM of 30 s");
  EXPECT_THAT(Found().at("joins").text,
              HasSubstr("500 tuples joined by SUM of 60 s"));
}

// Numbers of versions come from the log: what is held of them is bounded.
TEST_F(DamagedLogTest, MoreVersionsThanAreLookedAt) {
  constexpr size_t kMore = 5;
  constexpr size_t kMost = BoundedMap<int, int>::kMost;
  Tuples tuples = Log({.version = 0}, kMost + kMore);
  for (size_t i = 0; i < tuples.size(); ++i) {
    DecisionAt(i, &tuples)->set_model(absl::StrCat("model ", i));
  }
  Write(tuples);
  const auto found = Found();
  for (const char* check : {"policies", "mean_weight", "features"}) {
    ASSERT_TRUE(found.contains(check)) << check;
    EXPECT_EQ(found.at(check).level, Level::kWarn);
    EXPECT_EQ(found.at(check).text,
              absl::StrCat(kMore,
                           " decisions were not looked at: they have "
                           "other versions than the first ",
                           kMost));
  }
  size_t lines = 0;
  for (const CheckResult& result : Validate()) {
    lines += result.check == "mean_weight";
  }
  // A line for each of the first versions, for the others, and the warning.
  EXPECT_EQ(lines, 102u);
}

TEST_F(DamagedLogTest, LongNamesOfModelsAreNotKept) {
  Tuples tuples = Log({.version = 0}, 3);
  const size_t bytes = BoundedMap<int, int>::kMostNameBytes / 2;
  for (size_t i = 0; i < tuples.size(); ++i) {
    DecisionAt(i, &tuples)->set_model(std::string(bytes, 'a' + char(i)));
  }
  Write(tuples);
  EXPECT_THAT(Found().at("policies").text,
              HasSubstr("1 decisions were not looked at"));
}

TEST_F(DamagedLogTest, ALogThatSaysThatItIsIncomplete) {
  log::v1::LogRecord record;
  record.mutable_incomplete()->set_foreign_feedback(12);
  record.mutable_incomplete()->set_feedback(20);
  record.mutable_incomplete()->set_reason("several servers");
  more_.push_back(record);
  Write(Log(Softmax(1, 0.1), 500));
  ExpectFail("completeness", "12 feedback for decisions of other writers");
}

TEST_F(DamagedLogTest, MuchThatIsCensored) {
  Tuples tuples = Log(Softmax(1, 0.1), 500);
  for (size_t i = 0; i < 60; ++i) tuples[i].add_censored(log::v1::LOST);
  Write(tuples);
  ExpectOnly("feedback", Level::kWarn, "12 % are censored (lost 60)");
}

TEST_F(DamagedLogTest, TheCommandPrintsEachCheckAndExitsWithOne) {
  Tuples tuples = Log(Softmax(1, 0.1), 500);
  Write(tuples);
  config::v1::LogValidateOptions options;
  const auto run = [&] {
    std::ostringstream out, error;
    CommandOutput output{out, error};
    EXPECT_OK(RunLogValidate(options, {dir_ / "log"}, &output));
    return std::make_pair(output.exit_code, out.str());
  };
  CaptureLog();
  EXPECT_EQ(run().first, 0);
  EXPECT_THAT(CapturedLog(),
              HasSubstr("checking: "));  // Its progress.
  EXPECT_THAT(run().second, HasSubstr("PASS  damage        1 segments"));
  tuples[3].mutable_decision()->set_log_propensity(1);
  Write(tuples);
  EXPECT_EQ(run().first, 1);
  EXPECT_THAT(run().second, HasSubstr("FAIL  propensities  1 of 1000"));
  options.set_output("json");
  EXPECT_THAT(run().second,
              HasSubstr("\"check\":\"propensities\",\"result\":\"FAIL\""));
}

TEST_F(DamagedLogTest, ALogWithoutDecisionsIsAnError) {
  Write({});
  std::ostringstream out, error;
  CommandOutput output{out, error};
  EXPECT_THAT(RunLogValidate({}, {dir_ / "log"}, &output),
              IsNotFound("holds no decisions"));
}

// Logs of every policy pass.

struct Named {
  std::string name;
  Logger logger;
};

Logger Of(log::v1::ActionKind kind, uint32_t top_k, double mixture,
          const std::function<void(model::v1::Policy*)>& set) {
  Logger logger;
  logger.kind = kind;
  logger.top_k = top_k;
  logger.policy.set_inverse_temperature(1.5);
  logger.policy.set_uniform_mixture(mixture);
  set(&logger.policy);
  return logger;
}

std::vector<Named> Policies() {
  using model::v1::BoltzmannRanking;
  using model::v1::GameRanking;
  using model::v1::GameSubset;
  using model::v1::Policy;
  const auto plackett_luce = [](Policy* p) { p->mutable_plackett_luce(); };
  const auto boltzmann = [](Policy* p) {
    p->mutable_boltzmann_ranking()->set_rank_weights(BoltzmannRanking::DCG);
    p->mutable_boltzmann_ranking()->set_head(3);
    p->mutable_boltzmann_ranking()->set_plackett_luce_mixture(0.2);
  };
  const auto game_order = [](Policy* p) {
    p->mutable_game_ranking()->set_discount(GameRanking::DCG);
  };
  const auto factored = [](Policy* p) {
    for (const double factor : {2.0, 0.5}) {
      p->mutable_plackett_luce()->add_rank_factors(factor);
    }
  };
  const auto sorted = [](Policy* p) {
    p->mutable_sorted_ranking()->set_swap_probability(0.4);
    p->mutable_sorted_ranking()->set_shuffle_probability(0.2);
    p->mutable_sorted_ranking()->set_shuffle_ranks(3);
  };
  const auto precision = [](Policy* p) {
    p->mutable_game_subset()->set_measure(GameSubset::PRECISION);
    p->mutable_game_subset()->set_k(2);
  };
  const auto f_beta = [](Policy* p) {
    p->mutable_game_subset()->set_measure(GameSubset::F_BETA);
  };
  const auto subset = [](Policy* p) { p->mutable_independent_subset(); };
  return {
      {"softmax", Softmax(1, 0)},
      {"sharp_softmax", Softmax(4, 0)},
      {"softmax_mixture", Softmax(2, 0.1)},
      {"uniform_selection", {.version = 0, .kind = log::v1::SELECT}},
      {"uniform_order", {.version = 0, .kind = log::v1::RANK, .top_k = 3}},
      {"uniform_subset", {.version = 0, .kind = log::v1::SUBSET}},
      {"plackett_luce", Of(log::v1::RANK, 4, 0, plackett_luce)},
      {"plackett_luce_mixture", Of(log::v1::RANK, 2, 0.2, plackett_luce)},
      {"boltzmann", Of(log::v1::RANK, 5, 0, boltzmann)},
      {"boltzmann_mixture", Of(log::v1::RANK, 5, 0.1, boltzmann)},
      {"factored", Of(log::v1::RANK, 4, 0, factored)},
      {"factored_mixture", Of(log::v1::RANK, 2, 0.2, factored)},
      {"sorted", Of(log::v1::RANK, 5, 0, sorted)},
      {"sorted_mixture", Of(log::v1::RANK, 3, 0.1, sorted)},
      {"game_order", Of(log::v1::RANK, 5, 0, game_order)},
      {"game_order_mixture", Of(log::v1::RANK, 3, 0.1, game_order)},
      {"game_precision", Of(log::v1::SUBSET, 2, 0, precision)},
      {"game_precision_mixture", Of(log::v1::SUBSET, 2, 0.1, precision)},
      {"game_f_beta", Of(log::v1::SUBSET, 0, 0, f_beta)},
      {"game_f_beta_mixture", Of(log::v1::SUBSET, 0, 0.1, f_beta)},
      {"independent_subset", Of(log::v1::SUBSET, 0, 0, subset)},
      {"independent_subset_k", Of(log::v1::SUBSET, 2, 0.1, subset)},
  };
}

class CleanLogTest : public ValidateFixture,
                     public testing::WithParamInterface<Named> {};

TEST_P(CleanLogTest, Passes) {
  Write(Log(GetParam().logger, kDecisions));
  for (const CheckResult& result : Validate()) {
    EXPECT_EQ(result.finding.level, Level::kPass)
        << result.check << ": " << result.finding.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CleanLogTest, testing::ValuesIn(Policies()),
                         [](const testing::TestParamInfo<Named>& named) {
                           return named.param.name;
                         });

using CleanLogsTest = ValidateFixture;

TEST_F(CleanLogsTest, OfManyVersionsPass) {
  uint64_t version = 0;
  for (Named named : Policies()) {
    if (named.logger.version == 0) continue;
    named.logger.version = ++version;
    Write(Log(named.logger, 200, 200 * version));
  }
  EXPECT_THAT(Found(), IsEmpty());
}

// A set of labels, each drawn on its own with probability 0.3.
TEST_F(CleanLogsTest, OfLabelsPass) {
  Tuples tuples(kDecisions);
  for (size_t i = 0; i < tuples.size(); ++i) {
    const std::string id = absl::StrCat("l", i);
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    decision.set_decision_id(id);
    decision.set_model("labels");
    decision.set_version(1);
    decision.mutable_policy()->mutable_independent_labels()->set_num_labels(4);
    decision.set_action_kind(log::v1::LABELS);
    decision.set_num_candidates(1);
    decision.set_num_features(1);
    decision.set_num_labels(4);
    decision.add_dense_values(1);
    double log_propensity = 0;
    for (int label = 0; label < 4; ++label) {
      const bool chosen = random.Uniform() < 0.3;
      if (chosen) decision.add_action(label);
      log_propensity += std::log(chosen ? 0.3 : 0.7);
    }
    decision.set_log_propensity(log_propensity);
    tuples[i].set_has_feedback(true);
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(CleanLogsTest, OfAStoreAreRecomputed) {
  Logger logger = Softmax(1, 0.1);
  logger.draw_salt = "0123456789abcdef0123456789abcdef";
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(kColumns);
  for (const double weight : logger.weights) model.add_weights(weight);
  *model.mutable_policy() = logger.policy;
  const ModelStore store(dir_.Sub("models"));
  ASSERT_OK(store.Publish(model, nullptr, {}, {.draw_salt = logger.draw_salt}));
  Tuples tuples = Log(logger, 50);
  Write(tuples);
  options_.set_model_store(dir_ / "models");
  EXPECT_THAT(Found(), IsEmpty());
  // One bit of one propensity.
  log::v1::Decision& decision = *tuples[7].mutable_decision();
  decision.set_log_propensity(std::nextafter(decision.log_propensity(), -1e9));
  std::filesystem::remove(path_);
  Write(tuples);
  ExpectOnly("recompute", Level::kFail, "1 of 50 decisions, first");
  // Another system drew it.
  std::filesystem::remove(path_);
  imported_with_ = "format: 'jsonl'";
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
}

// A log of another system: it could not draw candidates 3 to 5, and does not
// say when it drew.
TEST_F(CleanLogsTest, OfOtherSystemsPass) {
  Tuples tuples = Log({.version = 0, .kind = log::v1::SELECT}, kDecisions);
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].clear_position();
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    decision.clear_eligible();
    decision.set_action(0, static_cast<int32_t>(i % 3));
    decision.set_log_propensity(std::log(1.0 / 3));
    decision.set_time_us(1000000000 - static_cast<int64_t>(5000000 * (i % 2)));
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple.mutable_decision()->set_log_propensity(std::log(1.0 / 8));
  }
  std::filesystem::remove(path_);
  Write(tuples);
  EXPECT_EQ(Found().at("mean_weight").level, Level::kFail);
}

TEST_F(CleanLogsTest, ASpoolMayRepeatWhatTheJoinDrops) {
  for (const log::v1::BanditTuple& tuple : Log(Softmax(1, 0), 200)) {
    *more_.emplace_back().mutable_decision() = tuple.decision();
  }
  more_.push_back(more_.back());
  log::v1::LogRecord feedback;
  feedback.mutable_feedback()->set_feedback_id("f");
  feedback.mutable_feedback()->set_time_us(2000000);
  more_.push_back(feedback);
  more_.push_back(feedback);
  Write({});
  for (const auto& [check, finding] : Found()) {
    EXPECT_EQ(finding.level, Level::kWarn) << check << ": " << finding.text;
    EXPECT_THAT(finding.text, HasSubstr("the join drops"));
  }
  EXPECT_EQ(Found().size(), 2u);
}

}  // namespace
}  // namespace sortition
