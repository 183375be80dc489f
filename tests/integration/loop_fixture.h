#pragma once
// The programs in one directory, driven by simulated users.
#include <grpcpp/client_context.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

class LoopFixture : public testing::Test {
 protected:
  // Runs a program by name with its arguments; it must end with exit code 0.
  FinishedProcess Run(std::vector<std::string> arguments) {
    const std::string name = arguments[0];
    arguments[0] = BinaryPath(name);
    const absl::StatusOr<FinishedProcess> run = RunToEnd(arguments);
    EXPECT_OK(run);
    if (!run.ok()) return {};
    EXPECT_EQ(run->exit_code, 0) << name << " " << arguments[1] << "\n"
                                 << run->stdout_text << run->stderr_text;
    return *run;
  }

  std::string WorldFlag() const {
    return "--data=" + deployment_.path("world.letor");
  }
  std::string StoreFlag() const {
    return "--model_store=" + deployment_.models();
  }

  // Simulates users who ask for `action`, `until` --decisions or
  // --until_version.
  void Simulate(const std::string& action, uint64_t seed,
                const std::string& until,
                const std::vector<std::string>& request) {
    std::vector<std::string> arguments = {
        "sortition", "simulate",           "--server=" + deployment_.address(),
        WorldFlag(), "--action=" + action, absl::StrCat("--seed=", seed),
        until};
    arguments.insert(arguments.end(), request.begin(), request.end());
    Run(arguments);
  }

  void ExpectServed(uint64_t version) {
    const auto stub = v1::Models::NewStub(deployment_.NewChannel());
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      grpc::ClientContext context;
      v1::ListModelsResponse response;
      return stub->ListModels(&context, {}, &response).ok() &&
             response.models_size() == 1 &&
             response.models(0).version() == version;
    }));
  }

  Deployment deployment_;
};

}  // namespace sortition
