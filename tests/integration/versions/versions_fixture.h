#pragma once
// A server of "default", versions 1 and 2, and its control plane.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

inline constexpr uint32_t kFeatures = 8;

class VersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    Publish();
    Publish();
    // No call is refused, however slow the machine is.
    ASSERT_OK(deployment_.StartServer({"--poll_seconds=0.05"}));
    ASSERT_OK_AND_ASSIGN(client_,
                         Client::Connect(deployment_.address(), Patient()));
    const auto status = Status();
    ASSERT_EQ(status.version(), 2u);
  }

  static CallOptions Patient() {
    return {.deadline_seconds = kPatienceSeconds};
  }

  uint64_t Publish() {
    const auto version = deployment_.store().Publish(
        SelectionModel(kFeatures, 0.01 * static_cast<double>(++num_published_)),
        nullptr, {});
    EXPECT_OK(version);
    return version.value_or(0);
  }

  v1::ModelStatus Status() { return StatusOf(client_.get()); }
  static v1::ModelStatus StatusOf(Client* client) {
    const auto models = client->ListModels();
    EXPECT_OK(models);
    return models.ok() && models->models_size() > 0 ? models->models(0)
                                                    : v1::ModelStatus();
  }

  absl::StatusOr<v1::ChangeServingResponse> Change(
      const std::function<void(v1::ChangeServingRequest*)>& set) {
    v1::ChangeServingRequest request;
    request.set_reason("test");
    set(&request);
    return client_->ChangeServing(request);
  }

  // Runs `sortition models` and returns what it prints.
  std::string Models(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {BinaryPath("sortition"), "models"});
    arguments.push_back("--server=" + deployment_.address());
    const auto run = RunToEnd(arguments);
    EXPECT_OK(run);
    return run.ok() ? run->stdout_text + run->stderr_text : "";
  }

  void WriteState(const std::string& text) {
    ASSERT_OK(WriteFile(StateFile(), text));
  }
  std::string StateFile() const {
    return deployment_.models() + "/default/SERVING.textproto";
  }
  std::string VersionPath(uint64_t version) const {
    return absl::StrCat(deployment_.models(), "/default/", version);
  }

  double Metric(const std::string& name) {
    const auto metrics = deployment_.ServerMetrics();
    EXPECT_OK(metrics);
    return metrics.ok() ? MetricSum(*metrics, name) : -1;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
  int num_published_ = 0;
};

}  // namespace sortition
