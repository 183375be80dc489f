#include "io/models/version_removal.h"

#include <filesystem>
#include <vector>

#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "io/models/version_numbers.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

class VersionRemovalTest : public testing::Test {
 protected:
  VersionRemovalTest() {
    for (int i = 0; i < 3; ++i) Publish();
  }
  uint64_t Publish() {
    model::v1::Model model;
    model.set_name("ads");
    model.mutable_policy()->mutable_softmax_selection();
    model.mutable_policy()->set_inverse_temperature(1);
    model.set_num_features(1);
    model.add_weights(1);
    const auto version = store_.Publish(model, nullptr, {});
    EXPECT_OK(version);
    return version.value_or(0);
  }
  std::vector<uint64_t> Versions() {
    const auto versions = store_.ListVersions("ads");
    EXPECT_OK(versions);
    return versions.value_or(std::vector<uint64_t>());
  }

  TempDir dir_;
  ModelStore store_{dir_.path()};
};

TEST_F(VersionRemovalTest, AVersionIsGoneAndItsNumberIsNotUsedAgain) {
  ASSERT_OK(RemoveVersion(dir_ / "ads", 2));
  EXPECT_EQ(Versions(), (std::vector<uint64_t>{1, 3}));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "ads/.removed-2"));
  EXPECT_EQ(RemoveVersion(dir_ / "ads", 2).code(), absl::StatusCode::kNotFound);
  ASSERT_OK(RemoveVersion(dir_ / "ads", 3));
  EXPECT_EQ(Publish(), 4u);
}

// Of a store that has no claims: a copy without hidden files.
TEST_F(VersionRemovalTest, TheNumberOfTheNewestIsKeptWithoutClaims) {
  std::filesystem::remove_all(dir_ / "ads/.numbers");
  ASSERT_OK(RemoveVersion(dir_ / "ads", 3));
  EXPECT_EQ(Versions(), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(Publish(), 4u);
}

TEST_F(VersionRemovalTest, WhatAKilledRemovalLeftIsNoVersionAndIsDeleted) {
  std::filesystem::rename(dir_ / "ads/1", dir_ / "ads/.removed-1");
  EXPECT_EQ(Versions(), (std::vector<uint64_t>{2, 3}));
  ASSERT_OK(FinishRemovals(dir_ / "ads"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "ads/.removed-1"));
  EXPECT_EQ(Versions(), (std::vector<uint64_t>{2, 3}));
}

}  // namespace
}  // namespace sortition
