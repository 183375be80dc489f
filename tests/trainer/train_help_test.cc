// `train --help` shows what a learner uses, and nothing else.
#include "trainer/train_help.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/learners/learners.h"
#include "gmock/gmock.h"
#include "process/command.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Help(const std::vector<std::string>& arguments) {
  const auto help = TrainHelpFor(arguments);
  EXPECT_OK(help);
  EXPECT_TRUE(help.ok() && help->has_value());
  return help.ok() ? help->value_or("") : "";
}

auto HasFlag(const std::string& name) {
  return testing::ContainsRegex(
      absl::StrCat("\n  --(\\[no-\\])?", name, "[= \n]"));
}

TEST(TrainHelpTest, AloneItIsShortAndSaysHowToSeeMore) {
  const std::string help = Help({"--help"});
  // Two screens.
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 90);
  EXPECT_THAT(help, AllOf(HasFlag("tuples"), HasFlag("data"),
                          HasFlag("model_store"), HasFlag("dry_run")));
  EXPECT_THAT(help, AllOf(HasSubstr("--help=LEARNER"), HasSubstr("--help=all"),
                          HasSubstr("3 the gate said no")));
  EXPECT_THAT(help, Not(HasFlag("poem.objective")));
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.options == config::v1::TrainOptions::LEARNER_OPTIONS_NOT_SET) {
      continue;
    }
    EXPECT_THAT(help, HasSubstr(std::string(learner.help)));
  }
  EXPECT_EQ(Help({"-h"}), help);
}

TEST(TrainHelpTest, OfPoemItHasTheOptionsOfTuplesAndNoOther) {
  const std::string help = Help({"--help=poem"});
  EXPECT_THAT(help, AllOf(HasFlag("poem.objective"), HasFlag("tuples"),
                          HasFlag("guardrails"), HasFlag("hidden_units"),
                          HasFlag("plan.shares"), HasFlag("model_store")));
  EXPECT_THAT(help, AllOf(Not(HasFlag("data")), Not(HasFlag("game.measure")),
                          Not(HasFlag("inverse_temperature")),
                          Not(HasFlag("trusted_order.weight"))));
  EXPECT_EQ(Help({"--learner=poem", "--help"}), help);
  EXPECT_EQ(Help({"--help", "--learner", "poem"}), help);
}

TEST(TrainHelpTest, OfALearnerOfLabelsItHasNoOptionOfTuples) {
  const std::string svm = Help({"--help=ranksvm"});
  EXPECT_THAT(svm, AllOf(HasFlag("rank_svm.lambda"), HasFlag("data"),
                         HasFlag("trusted_order.weight"),
                         HasFlag("inverse_temperature")));
  for (const char* other : {"tuples", "guardrails", "plan.shares", "mix_joins",
                            "poem.objective", "game.measure"}) {
    EXPECT_THAT(svm, Not(HasFlag(other))) << other;
  }
  const std::string mpg = Help({"--help=mpg"});
  EXPECT_THAT(mpg, HasFlag("game.measure"));
  EXPECT_THAT(mpg, AllOf(Not(HasFlag("inverse_temperature")),
                         Not(HasFlag("trusted_order.weight"))));
}

TEST(TrainHelpTest, OfAllItHasTheOptionsOfEveryLearner) {
  const std::string all = Help({"--help=all"});
  for (const char* name : {"poem.objective", "game.measure", "rank_svm.lambda",
                           "tuples", "data", "plan.shares"}) {
    EXPECT_THAT(all, HasFlag(name)) << name;
  }
}

TEST(TrainHelpTest, NamesTheLearnersWhereThereIsNoneOfThatName) {
  const auto help = TrainHelpFor({"--help=poetry"});
  EXPECT_TRUE(IsUsageError(help.status()));
  EXPECT_THAT(std::string(help.status().message()),
              AllOf(HasSubstr("--help is 'poetry'"), HasSubstr("poem, mpg"),
                    HasSubstr("all")));
  EXPECT_THAT(
      std::string(TrainHelpFor({"--learner=x", "-h"}).status().message()),
      HasSubstr("--learner is 'x'"));
}

TEST(TrainHelpTest, IsNotPrintedUnlessItIsAskedFor) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--learner=poem"}, {"--", "--help"}}) {
    const auto help = TrainHelpFor(arguments);
    ASSERT_OK(help);
    EXPECT_FALSE(help->has_value());
  }
}

}  // namespace
}  // namespace sortition
