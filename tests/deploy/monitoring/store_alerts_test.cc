// What the alerts say of a model store that has no good version, a bad one, or
// a state that cannot be taken up.
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

using StoreAlertsTest = MonitoredTest;

TEST_F(StoreAlertsTest, TroubleWithTheStoreIsToldAndClears) {
  StartServer({"--require_model"});
  StartPrometheus(false);
  // No version yet, and no request that it could answer at random.
  ExpectFire({"SortitionNotReady"});
  Publish(SelectionModel(8, 0.1));
  ExpectQuiet();

  // A version whose model is not what its manifest says.
  Publish(SelectionModel(8, 0.2));
  const std::string model = deployment_.models() + "/default";
  std::filesystem::copy(model + "/2", model + "/new",
                        std::filesystem::copy_options::recursive);
  std::ofstream(model + "/new/model.pb", std::ios::app) << "more";
  std::filesystem::rename(model + "/new", model + "/3");
  ExpectFire({"SortitionModelRefused"});
  // It goes on until the version is away, whatever else happens.
  Publish(SelectionModel(8, 0.3));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto serves = prometheus_->Query("sortition_model_version == 4");
    return serves.ok() && !serves->empty();
  }));
  EXPECT_THAT(Firing(), testing::Contains("SortitionModelRefused"));
  std::filesystem::remove_all(model + "/3");
  ExpectClear({"SortitionModelRefused"});

  ASSERT_OK(WriteFile(model + "/SERVING.textproto", "pinned_verion: 1"));
  ExpectFire({"SortitionServingNotInForce"});
  ASSERT_OK(WriteFile(model + "/SERVING.textproto", "pinned_version: 1"));
  ExpectClear({"SortitionServingNotInForce"});

  const std::string away = deployment_.path("away");
  std::filesystem::rename(deployment_.models(), away);
  ASSERT_OK(WriteFile(deployment_.models(), "no directory"));
  ExpectFire({"SortitionStoreUnreadable"});
  std::filesystem::remove(deployment_.models());
  std::filesystem::rename(away, deployment_.models());
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
