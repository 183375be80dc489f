#include "io/models/store_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/look_ledger.h"
#include "io/models/model_store.h"
#include "io/models/serving_state.h"
#include "io/models/version_removal.h"
#include "tests/io/models/selection_model.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr uid_t kOwner = 12345;
constexpr gid_t kGroup = 12346;

struct stat StatOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
  return found;
}

class StoreOwnerTest : public testing::Test {
 protected:
  void SetUp() override {
    const int given = chown((dir_ / "").c_str(), kOwner, kGroup);
    const int error = given == 0 ? 0 : errno;
    if (error == EPERM) {
      GTEST_SKIP() << "skipped: user " << geteuid()
                   << " may not give files away; ./dev test io as root";
    }
    ASSERT_EQ(error, 0) << std::strerror(error);
  }

  const TempDir dir_;
};

TEST_F(StoreOwnerTest, WhatRootPutsIntoAStoreBelongsToItsOwner) {
  // Not there yet: the folder above it says whose it is.
  const ModelStore store(dir_ / "models");
  ASSERT_OK(store.Publish(SelectionModel(), nullptr, {}).status());
  ASSERT_OK(store.Publish(SelectionModel(), nullptr, {}).status());
  ASSERT_OK(LookLedger(store.root(), "ads").Begin(1).status());
  const std::string model_dir = store.root() + "/ads";
  ASSERT_OK(ChangeServing(model_dir, {"a test", "test"},
                          [](model::v1::Serving* serving) {
                            serving->set_pinned_version(2);
                            return absl::OkStatus();
                          })
                .status());
  ASSERT_OK(RemoveVersion(model_dir, 1));
  int count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(dir_ / "")) {
    const struct stat found = StatOf(entry.path().string());
    EXPECT_EQ(found.st_uid, kOwner) << entry.path();
    EXPECT_EQ(found.st_gid, kGroup) << entry.path();
    ++count;
  }
  // Store, model, version, numbers, looks, state and history at least.
  EXPECT_GT(count, 7);
}

TEST_F(StoreOwnerTest, RootIsItselfAgainAfterwards) {
  { const AsStoreOwner owner(dir_ / "models"); }
  ASSERT_OK(WriteFile(dir_ / "file", ""));
  EXPECT_EQ(StatOf(dir_ / "file").st_uid, 0u);
}

TEST_F(StoreOwnerTest, RootMayDoNoMoreThanTheOwnerThere) {
  ASSERT_EQ(mkdir((dir_ / "roots").c_str(), 0755), 0);
  const AsStoreOwner owner(dir_ / "");
  EXPECT_FALSE(WriteFile(dir_ / "roots/file", "").ok());
}

TEST_F(StoreOwnerTest, AStoreOfRootIsWrittenByRoot) {
  ASSERT_EQ(mkdir((dir_ / "roots").c_str(), 0755), 0);
  const ModelStore store(dir_ / "roots");
  ASSERT_OK(store.Publish(SelectionModel(), nullptr, {}).status());
  EXPECT_EQ(StatOf(store.root() + "/ads/1").st_uid, 0u);
}

}  // namespace
}  // namespace sortition
