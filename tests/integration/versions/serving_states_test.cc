// Stores that tell late, publishers at once, states that are wrong, versions
// that are deleted.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/versions/versions_fixture.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A store that reports no changes and lists new versions a second late.
class LateStoreTest : public VersionsTest {
 protected:
  void SetUp() override {
    VersionsTest::SetUp();
    setenv("LD_PRELOAD", SORTITION_LATE_DIRECTORY_LIBRARY, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    setenv("SORTITION_LATE_DIRECTORY", deployment_.models().c_str(), 1);
    setenv("SORTITION_LATE_SECONDS", "1", 1);
    // The later of two equal options holds.
    const absl::Status started = late_.StartServer(
        {"--poll_seconds=0.05",
         absl::StrCat("--model_store=", deployment_.models())});
    unsetenv("LD_PRELOAD");
    ASSERT_OK(started);
    ASSERT_OK_AND_ASSIGN(late_client_, Client::Connect(late_.address()));
  }

  bool Follows(const std::function<bool(const v1::ModelStatus&)>& condition) {
    return PollUntil(kPatienceSeconds,
                     [&] { return condition(StatusOf(late_client_.get())); });
  }

  Deployment late_;
  std::unique_ptr<Client> late_client_;
};

TEST_F(LateStoreTest, ReplicasFollowVersionsAndStates) {
  // Guards the test: at first it sees nothing at all.
  EXPECT_EQ(StatusOf(late_client_.get()).version(), 0u);
  EXPECT_TRUE(Follows([](const auto& model) { return model.version() == 2; }));
  // A pin is followed although the version is not listed yet.
  Publish();
  ASSERT_OK(client_->ReloadModels());
  ASSERT_OK(
      Change([](auto* request) { request->mutable_pin()->set_version(3); }));
  EXPECT_TRUE(Follows([](const auto& model) {
    return model.version() == 3 && model.serving().pinned_version() == 3 &&
           model.serving_error().empty();
  }));
  ASSERT_OK(Change([](auto* request) { request->mutable_unpin(); }));
  Publish();
  EXPECT_TRUE(Follows([](const auto& model) {
    return model.version() == 4 && model.serving().change() == 2;
  }));
}

// Programs that publish at once, and replicas that see it late.
TEST_F(LateStoreTest, PublishersAtOnceGetDifferentNumbers) {
  constexpr int kPublishers = 2;
  constexpr int kEach = 3;
  std::array<std::vector<std::string>, kPublishers> outputs;
  std::vector<std::thread> publishers;
  for (auto& output : outputs) {
    publishers.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const auto run =
            RunToEnd({BinaryPath("sortition-trainer"), "publish",
                      "--from_version=1", "--reason=at once", "--output=json",
                      absl::StrCat("--model_store=", deployment_.models())});
        EXPECT_OK(run);
        if (!run.ok()) continue;
        EXPECT_EQ(run->exit_code, 0) << run->stderr_text;
        output.push_back(run->stdout_text);
      }
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  ASSERT_OK_AND_ASSIGN(const auto versions,
                       deployment_.store().ListVersions("default"));
  ASSERT_EQ(versions.size(), 2u + kPublishers * kEach);
  // A publisher that was overtaken gives its number up.
  EXPECT_GE(versions.back(), versions.size());
  // Each version is whole, and each publisher was told its own number.
  std::set<std::string> told;
  for (const uint64_t version : versions) {
    EXPECT_OK(deployment_.store().Load("default", version));
  }
  for (const auto& output : outputs) told.insert(output.begin(), output.end());
  EXPECT_EQ(told.size(), size_t{kPublishers * kEach});
  EXPECT_TRUE(Follows(
      [&](const auto& model) { return model.version() == versions.back(); }));
}

// What is wrong is named in `models list`, metric and log; the old one goes on.
TEST_F(VersionsTest, AStateEditedByHandWithAnErrorDoesNotServe) {
  EXPECT_THAT(Models({"pin", "1", "--reason=test"}),
              HasSubstr("version 1 serves"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"change: 1\npinned_verion: 2\n", "line 2"},
      {"change: 1 pinned_version: 7", "pinned_version 7: "},
      {"change: 1 pinned_version: 2 mode: 40", "mode = 40"}};
  for (const auto& [text, reason] : cases) {
    WriteState(text);
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return absl::StrContains(Status().serving_error(), reason);
    })) << reason;
    EXPECT_EQ(Status().version(), 1u);
    EXPECT_THAT(Models({"list"}),
                AllOf(HasSubstr("SERVING.textproto of default is not in force"),
                      HasSubstr(reason)));
    EXPECT_EQ(Metric("sortition_model_serving_error{"), 1);
    ExpectLogged(deployment_.server(), "SERVING.textproto cannot be taken up");
    ExpectLogged(deployment_.server(), reason);
  }
  // The command line mends it; what was wrong did not enter the history.
  EXPECT_THAT(Models({"rollback", "--to=2", "--reason=mend"}),
              HasSubstr("version 2 serves"));
  EXPECT_EQ(Status().serving_error(), "");
  EXPECT_EQ(Metric("sortition_model_serving_error{"), 0);
}

// In place, as by `echo … > SERVING.textproto`: inotify tells at once.
TEST_F(VersionsTest, AFileWrittenInPlaceIsFollowed) {
  std::ofstream(StateFile()) << "pinned_version: 1\n";
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return Status().version() == 1; }));
}

TEST_F(VersionsTest, WhatServesGoesOnWhenItIsDeleted) {
  ASSERT_OK(
      Change([](auto* request) { request->mutable_pin()->set_version(1); }));
  ASSERT_OK(
      Change([](auto* request) { request->mutable_pin()->set_version(2); }));
  std::filesystem::remove_all(VersionPath(2));
  ASSERT_OK(client_->ReloadModels());
  EXPECT_EQ(Status().version(), 2u);
  EXPECT_EQ(Status().serving_error(), "");
  // After a restart it is named, with what to do, and the state before serves.
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  ASSERT_OK(deployment_.StartServer());
  ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
  EXPECT_EQ(Status().version(), 1u);
  EXPECT_THAT(Models({"list"}),
              AllOf(HasSubstr("pinned_version 2: "), HasSubstr("is not there"),
                    HasSubstr("publish this one again")));
  // Its number is not used again.
  EXPECT_EQ(Publish(), 3u);
}

}  // namespace
}  // namespace sortition
