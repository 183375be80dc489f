#include "trainer/commands.h"

#include <iostream>

#include "trainer/command_help.h"
#include "trainer/trainer_commands.h"

namespace sortition {

Program TrainerProgram() {
  return {
      .name = "sortition-trainer",
      .commands =
          {MakeCommand("train", "",
                       "Learn from tuple segments or labels, evaluate, "
                       "gate, publish",
                       RunTrain, TrainHelp()),
           MakeCommand("evaluate", "",
                       "Print metrics of a model's rankings on labelled "
                       "queries",
                       RunEvaluate, kEvaluateHelp),
           MakeCommand("fit", "",
                       "Publish a first model from labelled queries "
                       "(LETOR/SVMlight, columns)",
                       RunFit, kFitHelp),
           MakeCommand("describe", "",
                       "Print what a version is made of: features, trees, "
                       "weights",
                       RunDescribe, kDescribeHelp),
           MakeCommand("calibrate", "",
                       "Find the temperature at which a policy abstains as "
                       "often as its rule",
                       RunCalibrate, kCalibrateHelp),
           MakeCommand("ope", "",
                       "Judge policies from a log that they did not write",
                       RunOpe, kOpeHelp),
           MakeCommand("clicks", "",
                       "Fit models of what users click to a log of rankings",
                       RunClicks, kClicksHelp),
           MakeCommand("publish", "",
                       "Publish an older version again, or a model of another "
                       "store",
                       RunPublish, kPublishHelp),
           MakeCommand("prune", "",
                       "Remove old versions that nothing needs any more",
                       RunPrune, kPruneHelp),
           MakeCommand("rollout", "",
                       "Let a new version take over step by step, or go back",
                       RunRollout, kRolloutHelp),
           MakeCommand("cluster", "",
                       "Group the sources or queries of a log that agree",
                       RunCluster, kClusterHelp),
           MakeCommand("convert", "",
                       "Make bandit tuples from multi-label data (SVMlight)",
                       RunConvert, kConvertHelp)},
      .more_exit_codes =
          "3 the gate said no (train), a version went back (rollout)",
      .notes = LearnerTable(LearnersListed::kAll)};
}

int RunTrainer(const std::vector<std::string>& arguments) {
  CommandOutput output{std::cout, std::cerr};
  const int exit_code = RunCommand(TrainerProgram(), arguments, &output);
  std::cout.flush();
  return exit_code;
}

}  // namespace sortition
