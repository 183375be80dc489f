// Every estimator against formulas that were written independently, in Python.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/evaluation/toy_log.h"

namespace sortition {
namespace {

using namespace testing_evaluation;  // NOLINT

struct Numbers {
  double value;
  double standard_error;
};

std::string NameOf(const Estimator& estimator) {
  const std::string key = EstimatorKey(estimator.kind);
  return ParametersOf(estimator.kind).empty()
             ? key
             : absl::StrCat(key, " ", estimator.parameter);
}

// Writes a log of units of several decisions as JSON, and returns its sums.
PolicySums WriteLog(const std::string& file) {
  RandomSequence random(SeedKey(11));
  PolicySums sums(1, 1024);
  std::ofstream json(file);
  for (int i = 0; i < 500; ++i) {
    const uint64_t unit = random.Below(90);
    const double share = 1 - random.Uniform() / 2;
    const double reward = random.Uniform() < 0.3 ? 0 : random.Uniform();
    const size_t logger = random.Below(3);
    JudgedDecision decision = {1.5 * random.Normal(), random.Uniform(),
                               random.Uniform(),      random.Uniform(),
                               random.Uniform(),      random.Normal(),
                               random.Normal()};
    sums.Add(unit, share, reward, {&decision, 1}, logger);
    json << (i == 0 ? "[" : ",\n")
         << absl::StrFormat(R"({"unit": %d, "share": %.17g, "reward": %.17g, )"
                            R"("logger": %d, "weight": %.17g, "model": %.17g, )"
                            R"("model_policy": %.17g, "robust": %.17g, )"
                            R"("robust_policy": %.17g, "balanced": %.17g, )"
                            R"("marginal": %.17g})",
                            unit, share, reward, logger,
                            std::exp(decision.log_weight),
                            decision.modelled_logged, decision.modelled_policy,
                            decision.robust_logged, decision.robust_policy,
                            std::exp(*decision.log_balanced_weight),
                            std::exp(*decision.log_marginal_weight));
  }
  json << "]\n";
  return sums;
}

TEST(FormulasTest, EstimatesAndErrorsAreThoseOfThePapers) {
  const std::string directory = ::testing::TempDir();
  const std::string log = directory + "formulas_log.json";
  const std::string printed = directory + "formulas.txt";
  const PolicySums sums = WriteLog(log);
  const std::string command =
      absl::StrCat("python3 '" SORTITION_SCRIPTS "/formulas.py' '", log,
                   "' > '", printed, "'");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::map<std::string, Numbers> expected;
  std::ifstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    Numbers numbers = {};
    std::getline(fields, name, '\t');
    fields >> numbers.value >> numbers.standard_error;
    expected[name] = numbers;
  }
  ASSERT_EQ(expected.size(), AllEstimators().size() + 1);
  const auto check = [&](const std::string& name,
                         const std::vector<Ratio>& ratios) {
    ASSERT_TRUE(expected.contains(name)) << name;
    const RatioEstimate estimate = EstimateRatios(sums.sums(), ratios);
    EXPECT_NEAR(estimate.value, expected[name].value, 1e-10) << name;
    EXPECT_NEAR(estimate.standard_error, expected[name].standard_error, 1e-10)
        << name;
  };
  check("logged", {sums.LoggedReward()});
  for (const Estimator& estimator : AllEstimators()) {
    check(NameOf(estimator), sums.RatiosOf(0, estimator));
  }
  std::filesystem::remove(log);
  std::filesystem::remove(printed);
}

}  // namespace
}  // namespace sortition
