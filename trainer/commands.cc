#include "trainer/commands.h"

#include <iostream>
#include <optional>

#include "trainer/command_help.h"
#include "trainer/config_checks/check_config.h"
#include "trainer/train_help.h"
#include "trainer/trainer_commands.h"

namespace sortition {
namespace {

constexpr char kTrain[] = "train";

// Prints the help of train if the arguments ask for it. Returns the exit code;
// nothing if they do not ask.
std::optional<int> PrintTrainHelp(const std::vector<std::string>& arguments,
                                  CommandOutput* output) {
  if (arguments.empty() || arguments[0] != kTrain) return std::nullopt;
  const auto help = TrainHelpFor({arguments.begin() + 1, arguments.end()});
  if (!help.ok()) {
    output->error << "sortition-trainer train: " << help.status().message()
                  << "\n";
    return kExitUsage;
  }
  if (!help->has_value()) return std::nullopt;
  output->out << **help;
  return kExitOk;
}

}  // namespace

Program TrainerProgram() {
  return {
      .name = "sortition-trainer",
      .commands =
          {MakeCommand(kTrain, "",
                       "Learn from tuple segments or labels, evaluate, "
                       "gate, publish",
                       RunTrain, TrainHelp(), CheckConfig),
           MakeCommand("evaluate", "",
                       "Print metrics of a model's rankings or labels, or of a "
                       "TREC run",
                       RunEvaluate, kEvaluateHelp, CheckConfig),
           MakeCommand("score", "",
                       "Print scores and probabilities of a version for the "
                       "candidates of a file",
                       RunScore, kScoreHelp, CheckConfig),
           MakeCommand("fit", "",
                       "Publish a first model from labelled queries "
                       "(LETOR/SVMlight, columns)",
                       RunFit, kFitHelp, CheckConfig),
           MakeCommand("suggest-features", "",
                       "Draft a spec of features from the columns of a log or "
                       "of labelled queries",
                       RunSuggestFeatures, kSuggestFeaturesHelp, CheckConfig),
           MakeCommand("describe", "",
                       "Print what a version is made of: features, trees, "
                       "weights",
                       RunDescribe, kDescribeHelp, CheckConfig),
           MakeCommand("calibrate", "",
                       "Find the temperature at which a policy abstains as "
                       "often as its rule",
                       RunCalibrate, kCalibrateHelp, CheckConfig),
           MakeCommand("ope", "",
                       "Judge policies from a log that they did not write",
                       RunOpe, kOpeHelp, CheckConfig),
           MakeCommand("clicks", "",
                       "Fit models of what users click to a log of rankings",
                       RunClicks, kClicksHelp, CheckConfig),
           MakeCommand("publish", "",
                       "Publish an older version again, or a model of another "
                       "store",
                       RunPublish, kPublishHelp, CheckConfig),
           MakeCommand("prune", "",
                       "Remove old versions that nothing needs any more",
                       RunPrune, kPruneHelp, CheckConfig),
           MakeCommand("rollout", "",
                       "Let a new version take over step by step, or go back",
                       RunRollout, kRolloutHelp, CheckConfig),
           MakeCommand("cluster", "",
                       "Group the sources or queries of a log that agree",
                       RunCluster, kClusterHelp, CheckConfig),
           MakeCommand("convert", "",
                       "Make bandit tuples from multi-label data (SVMlight)",
                       RunConvert, kConvertHelp, CheckConfig)},
      .more_exit_codes =
          "3 nothing better was found (train), a version went back (rollout), "
          "4 not enough data yet, or a rollout under way",
      .notes = LearnerTable(LearnersListed::kAll)};
}

int RunTrainer(const std::vector<std::string>& arguments) {
  CommandOutput output{std::cout, std::cerr};
  const std::optional<int> helped = PrintTrainHelp(arguments, &output);
  const int exit_code = helped.has_value()
                            ? *helped
                            : RunCommand(TrainerProgram(), arguments, &output);
  std::cout.flush();
  return exit_code;
}

}  // namespace sortition
