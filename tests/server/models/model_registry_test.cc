#include "server/models/model_registry.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/models/model_registry_fixture.h"
#include "tests/testing/captured_log.h"
#include "tests/testing/file_faults.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(ModelRegistryTest, ServesUniformlyBeforeTheFirstVersion) {
  ASSERT_OK(registry_->Start());  // Also creates the missing directory.
  EXPECT_TRUE(std::filesystem::is_directory(root()));
  ASSERT_OK_AND_ASSIGN(const auto set, registry_->Find(""));
  const ServingSet::Model model = set->primary;
  EXPECT_EQ(model->name, "m");
  EXPECT_EQ(model->version, 0u);
  EXPECT_EQ(model->degraded, "no model loaded: uniform policy");
  EXPECT_TRUE(model->select.has_value());
  EXPECT_TRUE(model->rank.has_value());
  EXPECT_EQ(State().set->primary->policy_name, "uniform");
}

TEST_F(ModelRegistryTest, StartFailsWhereTheStoreCannotBe) {
  config::v1::ServerOptions options = options_;
  options.set_model_store(directory_ / "no/such/parent");
  EXPECT_THAT(
      ModelRegistry(options, &metrics_).Start(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("model_store = \"")));
  options = options_;
  options.set_default_model("../etc");
  EXPECT_THAT(ModelRegistry(options, &metrics_).Start(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("default_model = \"../etc\"")));
}

TEST_F(ModelRegistryTest, TakesTheNewestVersionAndEveryDirectory) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  Publish(root(), MakeSelectModel("m", {3, 4}));
  Publish(root(), MakeRankModel("other", {1, 2, 3}));
  std::filesystem::create_directory(root() + "/lost+found");
  ASSERT_OK(registry_->Start());
  EXPECT_EQ(Serving(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto other, registry_->Find("other"));
  EXPECT_EQ(other->primary->num_features, 3u);
  EXPECT_FALSE(other->primary->select.has_value());
  EXPECT_THAT(registry_->List(), SizeIs(2));
  EXPECT_EQ(State().set->primary->policy_name, "softmax_selection");
  EXPECT_EQ(State().set->primary->num_features, 2u);
  EXPECT_THAT(State().set->primary->checksum, SizeIs(32));
  EXPECT_GT(State().set->primary->loaded_time_us, 0);
  EXPECT_THAT(registry_->Find("nobody"),
              StatusIs(absl::StatusCode::kNotFound,
                       "\"nobody\": no such model; must be one of m, other, "
                       "or empty for m"));
}

// An entry that is neither a version nor a model is logged once, and listed as
// long as it is there.
TEST_F(ModelRegistryTest, SaysWhatTheStorePassesOver) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  const std::string folder = root() + "/m/0000002";
  std::filesystem::create_directory(folder);
  std::filesystem::create_directory(root() + "/m/7.tmp");
  std::filesystem::create_directory(root() + "/my model");
  CaptureLog();
  registry_->Refresh();
  registry_->Refresh();
  const std::string logged = CapturedLog();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_THAT(
      std::vector<std::string>(absl::StrSplit(logged, '\n', absl::SkipEmpty())),
      testing::UnorderedElementsAre(
          AllOf(HasSubstr("entry of the model store is not a model"),
                HasSubstr("/my model\",")),
          HasSubstr("model version serves"),
          AllOf(HasSubstr("entry of a model's folder is not a version"),
                HasSubstr(folder + "\","), HasSubstr("rename it to 2"))))
      << logged;
  ASSERT_THAT(State().not_versions, SizeIs(1));
  EXPECT_EQ(State().not_versions[0].name, "0000002");
  ASSERT_THAT(registry_->ListNotModels(), SizeIs(1));
  EXPECT_EQ(registry_->ListNotModels()[0].name, "my model");
  std::filesystem::remove(folder);
  std::filesystem::remove(root() + "/my model");
  registry_->Refresh();
  EXPECT_THAT(State().not_versions, SizeIs(0));
  EXPECT_THAT(registry_->ListNotModels(), SizeIs(0));
}

TEST_F(ModelRegistryTest, SwapsWhileTheOldVersionIsInUse) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  ASSERT_OK_AND_ASSIGN(const auto old, registry_->Find("m"));
  Publish(root(), MakeSelectModel("m", {3, 4}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  // A request that holds the old version can still use it.
  EXPECT_EQ(old->primary->version, 1u);
  EXPECT_EQ(old->primary->select->num_features(), 2u);
}

TEST_F(ModelRegistryTest, ThreadsSeeEverySwapAtTheirNextRequest) {
  SeenModels seen;
  const auto version = [&](const std::string& name) {
    const auto model = registry_->Find(name, &seen);
    return model.ok() ? static_cast<int>((*model)->primary->version) : -1;
  };
  EXPECT_EQ(version("m"), 0);
  EXPECT_EQ(version("other"), -1);
  Publish(root(), MakeSelectModel("m", {1, 2}));
  Publish(root(), MakeSelectModel("other", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(version("m"), 1);
  EXPECT_EQ(version("other"), 1);
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(version("m"), 2);
  // Another registry is not mistaken for this one.
  registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  EXPECT_EQ(version("m"), 0);
  EXPECT_EQ(version("other"), -1);
}

TEST_F(ModelRegistryTest, RemovalFromDiskDoesNotUnload) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  std::filesystem::remove_all(VersionPath(2));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  std::filesystem::remove_all(root());
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
}

TEST_F(ModelRegistryTest, ADirectoryThatCannotBeListedIsCountedAndLogged) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  Publish(root(), MakeSelectModel("m", {3, 4}));
  const auto failures = [&] {
    return metrics_.Counter("sortition_model_list_failures_total", "")->value();
  };
  CaptureLog();
  {
    const FileFault fault(
        {.call = FileCall::kList, .path = root() + "/m", .error = EIO});
    for (int i = 0; i < 3; ++i) registry_->Refresh();
  }
  // Two more failures within a minute wait for the next line.
  const std::string logged = CapturedLog();
  EXPECT_THAT(logged,
              AllOf(HasSubstr("cannot list the versions of a model"),
                    HasSubstr("\"model\":\"m\""), HasSubstr("\"count\":1}")));
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1);
  EXPECT_EQ(failures(), 3);
  EXPECT_EQ(Serving(), 1u);
  {
    const FileFault fault(
        {.call = FileCall::kList, .path = root(), .error = EIO});
    registry_->Refresh();
  }
  EXPECT_EQ(failures(), 4);
  registry_->Refresh();
  EXPECT_EQ(failures(), 4);
  EXPECT_EQ(Serving(), 2u);
}

TEST_F(ModelRegistryTest, SaysItInMetrics) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  ASSERT_OK(registry_->Start());
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("sortition_model_version{model=\"m\"} 1\n"),
                    HasSubstr("sortition_model_loads_total{model=\"m\"} 1\n"),
                    HasSubstr("sortition_model_age_seconds{model=\"m\"} ")));
}

// Returns true once `condition` holds, false after half a minute.
bool Eventually(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

TEST_F(ModelRegistryTest, SeesNewVersionsByInotify) {
  options_.set_poll_seconds(3600);  // Polling would be too late.
  registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  ASSERT_OK(registry_->Start());
  Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 1; }));
  Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 2; }));
}

TEST_F(ModelRegistryTest, ReadersAlwaysFindAWholeModelDuringSwaps) {
  options_.set_poll_seconds(0.01);
  registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  Publish(root(), MakeSelectModel("m", {1, 2}));
  ASSERT_OK(registry_->Start());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      SeenModels seen;
      while (!stop) {
        const auto model = registry_->Find("m", &seen);
        // Versions only increase, and each has its policy.
        if (!model.ok() || (*model)->primary->version < last ||
            !(*model)->primary->select) {
          ++failures;
        } else {
          last = (*model)->primary->version;
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 21; }));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace sortition
