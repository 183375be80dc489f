#pragma once
// --check_config of the commands of sortition-trainer: what would keep a
// command from beginning, one line each, as far as it can be known without
// reading logs and data, and without changing anything.
#include <string>
#include <vector>

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

std::vector<std::string> CheckConfig(const config::v1::TrainOptions& options);
std::vector<std::string> CheckConfig(
    const config::v1::EvaluateOptions& options);
std::vector<std::string> CheckConfig(const config::v1::ScoreOptions& options);
std::vector<std::string> CheckConfig(const config::v1::FitOptions& options);
std::vector<std::string> CheckConfig(
    const config::v1::SuggestFeaturesOptions& options);
std::vector<std::string> CheckConfig(
    const config::v1::DescribeOptions& options);
std::vector<std::string> CheckConfig(
    const config::v1::CalibrateOptions& options);
std::vector<std::string> CheckConfig(const config::v1::OpeOptions& options);
std::vector<std::string> CheckConfig(const config::v1::ClicksOptions& options);
std::vector<std::string> CheckConfig(const config::v1::ClusterOptions& options);
std::vector<std::string> CheckConfig(
    const config::v1::PublishModelOptions& options);
std::vector<std::string> CheckConfig(const config::v1::PruneOptions& options);
std::vector<std::string> CheckConfig(const config::v1::RolloutOptions& options);
std::vector<std::string> CheckConfig(const config::v1::ConvertOptions& options);

}  // namespace sortition
