#include "bench/serving/rank_servers.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "bench/support/spools.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"

namespace sortition {
namespace {

constexpr double kStartSeconds = 60;

}  // namespace

v1::RankRequest MakeRankRequest(uint32_t num_candidates, uint32_t num_features,
                                uint32_t top_k) {
  RandomSequence random(SeedKey(1));
  v1::RankRequest request;
  request.set_top_k(top_k);
  v1::Candidates* candidates = request.mutable_context()->mutable_candidates();
  candidates->set_num_features(num_features);
  for (uint32_t i = 0; i < num_candidates * num_features; ++i) {
    candidates->mutable_dense()->add_values(
        static_cast<float>(random.Normal()));
  }
  return request;
}

absl::Status PublishRankModel(const std::string& root, uint32_t num_features) {
  RandomSequence random(SeedKey(2));
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(num_features);
  for (uint32_t j = 0; j < num_features; ++j) {
    model.add_weights(0.2 * random.Normal());
  }
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(0.02);
  return ModelStore(root).Publish(model, nullptr, {}).status();
}

absl::StatusOr<RunningProgram> StartAndWait(std::vector<std::string> arguments,
                                            const std::string& prefix,
                                            const std::string& port_name) {
  arguments.push_back(absl::StrCat("--port_file=", prefix, ".ports"));
  RunningProgram program;
  ASSIGN_OR_RETURN(program.process, ChildProcess::Start(arguments, prefix));
  ASSIGN_OR_RETURN(program.port,
                   program.process->WaitForPort(prefix + ".ports", port_name,
                                                kStartSeconds));
  return program;
}

std::vector<std::string> RankServerArguments(const std::string& bin,
                                             const std::string& model_store) {
  return {
      bin + "/sortition-server", "--listen=127.0.0.1:0",
      "--metrics_listen=", "--http.listen=", "--model_store=" + model_store};
}

SpoolCleaner::SpoolCleaner(const std::string& dir)
    : dir_(dir), thread_([this] {
        while (!done_) {
          RemoveClosedSegments(dir_);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        RemoveClosedSegments(dir_);
      }) {}

SpoolCleaner::~SpoolCleaner() {
  done_ = true;
  thread_.join();
}

}  // namespace sortition
