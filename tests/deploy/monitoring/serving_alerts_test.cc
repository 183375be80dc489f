// What the alerts say of a server that has too much to do.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 2;

class ServingAlertsTest : public MonitoredTest {
 protected:
  void SetUp() override {
    MonitoredTest::SetUp();
    model::v1::Model model = SelectionModel(kFeatures, 0.1);
    model.mutable_policy()->clear_uniform_mixture();
    auto& game = *model.mutable_policy()->mutable_game_subset();
    game.set_measure(model::v1::GameSubset::F_BETA);
    game.set_tolerance(1e-9);
    Publish(model);
  }

  void Label(uint64_t i, uint32_t num_candidates) {
    v1::LabelRequest request;
    *request.mutable_context() =
        MakeContext(num_candidates, kFeatures, static_cast<uint32_t>(i));
    client_->Label(request).IgnoreError();
  }
};

// Games that search until their time is over, by four callers at once.
TEST_F(ServingAlertsTest, GamesThatTakeTooLongOverloadTheServer) {
  StartServer(
      {"--limits.max_game_seconds=0.2", "--admission.max_long_waiting=1"});
  StartPrometheus(false);
  {
    std::vector<std::unique_ptr<Repeating>> callers;
    for (int thread = 0; thread < 4; ++thread) {
      callers.push_back(
          std::make_unique<Repeating>([&](uint64_t i) { Label(i, 3000); }));
    }
    ExpectFire({"SortitionGamesStopped", "SortitionSlow", "SortitionRefuses",
                "SortitionErrors"});
  }
  const Repeating load([&](uint64_t i) { Label(i, 2); });
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
