#pragma once
// The texts that `--help` prints before the options of a command.
#include <string>

namespace sortition {

enum class LearnersListed { kAll, kOfTrain };

// Returns the learners and when to use each, grouped by the data they learn
// from.
std::string LearnerTable(LearnersListed listed);

std::string TrainHelp();

extern const char kEvaluateHelp[];
extern const char kScoreHelp[];
extern const char kFitHelp[];
extern const char kSuggestFeaturesHelp[];
extern const char kDescribeHelp[];
extern const char kCalibrateHelp[];
extern const char kConvertHelp[];
extern const char kClusterHelp[];
extern const char kClicksHelp[];
extern const char kOpeHelp[];
extern const char kPublishHelp[];
extern const char kPruneHelp[];
extern const char kRolloutHelp[];

}  // namespace sortition
