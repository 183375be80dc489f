// What the alerts say of a server that has too much to do.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

constexpr uint32_t kMany = 10000;

class ServingAlertsTest : public MonitoredTest {
 protected:
  static constexpr uint32_t kFeatures = 2;
  ServingAlertsTest() {
    // Features lie in [0, 1): half of the scores are below the threshold, and
    // their distances from it are some tens divided by kMany, which is hard.
    model::v1::Model model = SelectionModel(kFeatures, 30.0 / kMany);
    model.mutable_policy()->clear_uniform_mixture();
    auto& game = *model.mutable_policy()->mutable_game_subset();
    game.set_measure(model::v1::GameSubset::F_BETA);
    game.set_threshold(45.0 / kMany);
    game.set_tolerance(1e-9);
    Publish(model);
  }

  static v1::LabelRequest RequestOf(uint32_t num_candidates) {
    v1::LabelRequest request;
    *request.mutable_context() = MakeContext(num_candidates, kFeatures, 1);
    return request;
  }
};

// Games among so many candidates take longer than their time, and one thread
// plays those of 40 callers: some wait for longer than 0.1 s, others are
// refused.
TEST_F(ServingAlertsTest, GamesThatTakeTooLongOverloadTheServer) {
  StartServer({"--limits.max_game_seconds=0.005",
               "--admission.max_long_waiting=32",
               "--admission.target_wait_seconds=2"});
  StartPrometheus(false);
  const auto call = [&](const v1::LabelRequest& request) {
    return [&, request](uint64_t) { client_->Label(request).IgnoreError(); };
  };
  {
    std::vector<std::unique_ptr<Repeating>> callers;
    while (callers.size() < 40) {
      callers.push_back(std::make_unique<Repeating>(
          call(RequestOf(kMany)), std::chrono::milliseconds(20)));
    }
    ExpectFire({"SortitionGamesStopped", "SortitionSlow", "SortitionRefuses",
                "SortitionErrors"});
  }
  const Repeating load(call(RequestOf(2)));
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
