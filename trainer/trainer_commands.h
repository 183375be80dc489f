#pragma once
// Runs the commands of sortition-trainer. Each prints its result to
// output->out; core, reports and files are behind the functions that it calls.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/command.h"
#include "sortition/config/v1/calibrate.pb.h"
#include "sortition/config/v1/clicks.pb.h"
#include "sortition/config/v1/cluster.pb.h"
#include "sortition/config/v1/convert.pb.h"
#include "sortition/config/v1/describe.pb.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "sortition/config/v1/fit.pb.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/prune.pb.h"
#include "sortition/config/v1/publish.pb.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/config/v1/score.pb.h"
#include "sortition/config/v1/suggest.pb.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

// Exits with kExitGateSaysNo if the gate says no.
absl::Status RunTrain(const config::v1::TrainOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
absl::Status RunEvaluate(const config::v1::EvaluateOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);
absl::Status RunScore(const config::v1::ScoreOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
absl::Status RunFit(const config::v1::FitOptions& options,
                    const std::vector<std::string>& positional,
                    CommandOutput* output);
absl::Status RunDescribe(const config::v1::DescribeOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output);
// FailedPrecondition, after the table, if no inverse temperature was found.
absl::Status RunCalibrate(const config::v1::CalibrateOptions& options,
                          const std::vector<std::string>& positional,
                          CommandOutput* output);
absl::Status RunOpe(const config::v1::OpeOptions& options,
                    const std::vector<std::string>& positional,
                    CommandOutput* output);
// FailedPrecondition, after the report, if --write has nothing to write.
absl::Status RunClicks(const config::v1::ClicksOptions& options,
                       const std::vector<std::string>& positional,
                       CommandOutput* output);
absl::Status RunCluster(const config::v1::ClusterOptions& options,
                        const std::vector<std::string>& positional,
                        CommandOutput* output);
absl::Status RunPublish(const config::v1::PublishModelOptions& options,
                        const std::vector<std::string>& positional,
                        CommandOutput* output);
absl::Status RunPrune(const config::v1::PruneOptions& options,
                      const std::vector<std::string>& positional,
                      CommandOutput* output);
// Exits with kExitGateSaysNo if the new version goes back.
absl::Status RunRollout(const config::v1::RolloutOptions& options,
                        const std::vector<std::string>& positional,
                        CommandOutput* output);
absl::Status RunSuggestFeatures(
    const config::v1::SuggestFeaturesOptions& options,
    const std::vector<std::string>& positional, CommandOutput* output);
absl::Status RunConvert(const config::v1::ConvertOptions& options,
                        const std::vector<std::string>& positional,
                        CommandOutput* output);

}  // namespace sortition
