// Every kind of damage is found by the check that is for it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "client/validation/bounded_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/validation/validate_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class DamagedLogTest : public ValidateFixture {
 protected:
  // Expects that `check` fails, and no other check.
  void ExpectFail(const std::string& check, const std::string& text) {
    const auto found = Found();
    for (const auto& [name, finding] : found) {
      EXPECT_EQ(name, check) << finding.text;
    }
    ASSERT_TRUE(found.contains(check));
    EXPECT_EQ(found.at(check).level, Level::kFail);
    EXPECT_THAT(found.at(check).text, HasSubstr(text));
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

TEST_F(DamagedLogTest, ATemperatureTooHighInTheLog) {
  Tuples tuples = Log(Softmax(2, 0.1), kDecisions);
  Relabel(Softmax(1, 0.1), &tuples);
  Write(tuples);
  ExpectFail("mean_weight", "must be 1");
}

TEST_F(DamagedLogTest, ATemperatureTooLowInTheLog) {
  Tuples tuples = Log(Softmax(0.5, 0.1), kDecisions);
  Relabel(Softmax(2, 0.1), &tuples);
  Write(tuples);
  ExpectFail("mean_weight", "must be 1");
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

TEST_F(DamagedLogTest, SwappedColumns) {
  Write(Log(Softmax(1, 0.1), kDecisions));
  Logger second = Softmax(1, 0.1);
  second.version = 2;
  Tuples tuples = Log(second, kDecisions, kDecisions);
  for (log::v1::BanditTuple& tuple : tuples) {
    auto& values = *tuple.mutable_decision()->mutable_dense_values();
    for (int i = 0; i < values.size(); i += kColumns) {
      values.SwapElements(i + 1, i + 2);
    }
  }
  Write(tuples);
  const auto found = Found();
  ASSERT_TRUE(found.contains("features"));
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("features").level, Level::kFail);
  EXPECT_THAT(
      found.at("features").text,
      HasSubstr("version 2 has columns in each other's place: 1 and 2"));
}

TEST_F(DamagedLogTest, AColumnInOtherUnits) {
  Write(Log(Softmax(1, 0.1), kDecisions));
  Logger second = Softmax(1, 0.1);
  second.version = 2;
  Tuples tuples = Log(second, kDecisions, kDecisions);
  for (log::v1::BanditTuple& tuple : tuples) {
    auto& values = *tuple.mutable_decision()->mutable_dense_values();
    for (int i = 0; i < values.size(); i += kColumns) {
      values.Set(i, 1000 * values.Get(i));
    }
  }
  Write(tuples);
  const auto found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("features").level, Level::kWarn);
  EXPECT_THAT(found.at("features").text,
              HasSubstr("whose range moved: 0 from"));
}

TEST_F(DamagedLogTest, ADoubledFeedback) {
  Tuples tuples = Log(Softmax(1, 0.1), kDecisions);
  *tuples[12].add_feedback() = tuples[10].feedback(0);
  Write(tuples);
  ExpectFail("feedback_ids", "decision d12: feedback id fd10 came before");
}

TEST_F(DamagedLogTest, ADoubledDecision) {
  Tuples tuples = Log(Softmax(1, 0.1), kDecisions);
  tuples.push_back(tuples[13]);
  Write(tuples);
  ExpectFail("decision_ids", "1 of 3001 decisions, first");
}

TEST_F(DamagedLogTest, AClockThatWentBack) {
  Tuples tuples = Log(Softmax(1, 0.1), kDecisions);
  for (size_t i = 100; i < tuples.size(); ++i) {
    DecisionAt(i, &tuples)
        ->set_time_us(DecisionAt(i, &tuples)->time_us() - 5000000);
  }
  Write(tuples);
  ExpectFail("clock", "decision d100: time is 4.999990 s before");
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
  EXPECT_EQ(Found().at("damage").level, Level::kWarn);
  EXPECT_THAT(Found().at("damage").text,
              HasSubstr("5 records are missing between segments"));
}

TEST_F(DamagedLogTest, ATornEnd) {
  Write(Log(Softmax(1, 0.1), 100));
  // Cuts into the footer.
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  EXPECT_EQ(Found().at("damage").level, Level::kWarn);
  EXPECT_THAT(Found().at("damage").text,
              HasSubstr("bytes that are no whole record"));
}

TEST_F(DamagedLogTest, AWindowThatChangedInTheMiddle) {
  Write(Log(Softmax(1, 0.1), 500), 60);
  Write(Log(Softmax(1, 0.1), 500, 500), 30);
  const auto found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("joins").level, Level::kWarn);
  EXPECT_THAT(found.at("joins").text,
              testing::AllOf(HasSubstr("500 tuples joined by SUM of 30 s"),
                             HasSubstr("500 tuples joined by SUM of 60 s")));
}

TEST_F(DamagedLogTest, TwoPoliciesUnderOneVersion) {
  Tuples tuples = Log(Softmax(1, 0.1), 500);
  DecisionAt(9, &tuples)->mutable_policy()->set_inverse_temperature(1.25);
  Write(tuples);
  ExpectFail("policies", "decision d9: version 1 of model default has another");
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
  const auto found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.at("feedback").text,
              HasSubstr("12 % are censored (lost 60)"));
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
  testing::internal::CaptureStderr();
  EXPECT_EQ(run().first, 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
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
  EXPECT_THAT(
      RunLogValidate({}, {dir_ / "log"}, &output),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("holds no decisions")));
}

}  // namespace
}  // namespace sortition
