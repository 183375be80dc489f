#include "io/models/version_numbers.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/serving_state.h"
#include "io/models/version_removal.h"
#include "tests/io/models/selection_model.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename T>
T Value(const absl::StatusOr<T>& result) {
  EXPECT_OK(result);
  return result.value_or(T());
}

class VersionNumbersTest : public testing::Test {
 protected:
  absl::StatusOr<uint64_t> Publish(const model::v1::Model& model,
                                   uint64_t logged = 0) {
    return store_.Publish(model, nullptr, {}, {.logged = logged});
  }

  TempDir dir_;
  ModelStore store_{dir_.path()};
};

TEST_F(VersionNumbersTest, ClaimsCountUpFromWhatIsUsed) {
  EXPECT_EQ(Value(LargestClaim(dir_.path())), 0u);
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 0)), 1u);
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 0)), 2u);
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 9)), 10u);
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 9)), 11u);
  EXPECT_EQ(Value(LargestClaim(dir_.path())), 11u);
}

// A power cut must not give a number away twice.
TEST_F(VersionNumbersTest, ClaimsAreOnTheDisk) {
  std::vector<std::string> synced;
  const FileListener listener(
      [&](const std::string& path) { synced.push_back(path); },
      [](const std::string&) {});
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 0)), 1u);
  EXPECT_THAT(synced, testing::ElementsAre(dir_.path(), dir_ / ".numbers"));
  synced.clear();
  EXPECT_EQ(Value(ClaimNumber(dir_.path(), 0)), 2u);
  EXPECT_THAT(synced, testing::ElementsAre(dir_ / ".numbers"));
  synced.clear();
  ASSERT_OK(KeepNumber(dir_.path(), 7));
  ASSERT_FALSE(synced.empty());
  EXPECT_EQ(synced.back(), dir_ / ".numbers");
  // Where it cannot be synced, there is no number.
  const FileFault fault(
      {.call = FileCall::kSync, .path = dir_ / ".numbers", .error = EIO});
  EXPECT_FALSE(ClaimNumber(dir_.path(), 0).ok());
}

TEST_F(VersionNumbersTest, NoTwoCallersGetTheSameNumber) {
  constexpr int kThreads = 8, kClaims = 40;
  std::vector<std::vector<uint64_t>> claimed(kThreads);
  std::vector<std::thread> threads;
  for (auto& numbers : claimed) {
    threads.emplace_back([&] {
      for (int i = 0; i < kClaims; ++i) {
        const auto number = ClaimNumber(dir_.path(), 0);
        ASSERT_OK(number);
        numbers.push_back(*number);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& numbers : claimed) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), size_t{kThreads * kClaims});
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(Value(LargestClaim(dir_.path())), all.back());
}

// Logs name decisions by version: another model under the same number would
// make them those of a policy that did not decide.
TEST_F(VersionNumbersTest, ARemovedVersionIsNotReplaced) {
  for (uint64_t version = 1; version <= 3; ++version) {
    EXPECT_EQ(Value(Publish(SelectionModel({1, 2}))), version);
  }
  std::filesystem::remove_all(dir_ / "ads/3");
  EXPECT_EQ(Value(store_.NextVersion("ads")), 4u);
  EXPECT_EQ(Value(Publish(SelectionModel({1, 2}))), 4u);
  std::filesystem::rename(dir_ / "ads/4", dir_ / "aside");
  std::filesystem::rename(dir_ / "ads/2", dir_ / "aside2");
  EXPECT_EQ(Value(Publish(SelectionModel({1, 2}))), 5u);
}

TEST_F(VersionNumbersTest, NumbersFollowTheLog) {
  EXPECT_EQ(Value(Publish(SelectionModel({1, 2}), 7)), 8u);
  EXPECT_EQ(Value(Publish(SelectionModel({1, 2}), 3)), 9u);
}

// A store from before numbers were kept, or copied without hidden files.
TEST_F(VersionNumbersTest, ContinuesWithoutClaims) {
  ASSERT_OK(Publish(SelectionModel({1, 2})));
  ASSERT_OK(Publish(SelectionModel({1, 2})));
  std::filesystem::remove_all(dir_ / "ads/.numbers");
  EXPECT_EQ(Value(store_.NextVersion("ads")), 3u);
  EXPECT_EQ(Value(Publish(SelectionModel({1, 2}))), 3u);
}

TEST_F(VersionNumbersTest, ANameKeepsItsActionAndItsFeatures) {
  ASSERT_OK(Publish(SelectionModel({1, 2})));
  const absl::Status features = Publish(SelectionModel({1, 2, 3})).status();
  EXPECT_EQ(features.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(features.message()),
      HasSubstr("'ads': num_features is 3, must be 2, as in version 1"));
  model::v1::Model ranking = SelectionModel({1, 2});
  ranking.mutable_policy()->mutable_plackett_luce();
  const absl::Status action = Publish(ranking).status();
  EXPECT_EQ(action.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(action.message()),
              HasSubstr("policy is plackett_luce, which is for Rank, must be "
                        "for Select, as in version 1"));
  EXPECT_EQ(Value(store_.ListVersions("ads")), std::vector<uint64_t>{1});
  // A version that nobody can load binds nobody.
  std::filesystem::remove(dir_ / "ads/1/model.pb");
  EXPECT_OK(Publish(ranking));
}

class VersionRemovalTest : public testing::Test {
 protected:
  VersionRemovalTest() {
    for (int i = 0; i < 3; ++i) Publish();
  }
  uint64_t Publish() {
    const auto version = store_.Publish(SelectionModel(), nullptr, {});
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

class NewestVersionTest : public testing::Test {
 protected:
  void Publish() { ASSERT_OK(store_.Publish(SelectionModel(), nullptr, {})); }
  void Change(const std::function<void(model::v1::Serving*)>& edit) {
    ASSERT_OK(ChangeServing(dir_ / "ads", {"test", ""},
                            [&](model::v1::Serving* serving) {
                              edit(serving);
                              return absl::OkStatus();
                            }));
  }
  Incumbent Find() {
    const auto incumbent = FindIncumbent("ads", store_);
    EXPECT_OK(incumbent);
    return incumbent.value_or(Incumbent());
  }

  TempDir dir_;
  ModelStore store_{dir_.path()};
};

TEST_F(NewestVersionTest, ThePinnedVersionServesOrElseTheNewest) {
  EXPECT_EQ(Find().serving, 0u);
  Publish();
  Publish();
  EXPECT_EQ(Find().serving, 2u);
  EXPECT_FALSE(Find().is_pinned);
  EXPECT_EQ(WhyNotServing("ads", Find()), "");
  Change([](auto* serving) { serving->set_pinned_version(1); });
  EXPECT_EQ(Find().serving, 1u);
  EXPECT_EQ(Find().newest, 2u);
  EXPECT_THAT(WhyNotServing("ads", Find()),
              AllOf(HasSubstr("Version 1 is pinned and goes on to serve"),
                    HasSubstr("sortition models unpin --model=ads")));
  Change([](auto* serving) { serving->clear_pinned_version(); });
  EXPECT_EQ(Find().serving, 2u);
}

TEST_F(NewestVersionTest, ABaselineThatDecidesIsSaid) {
  Publish();
  Change([](auto* serving) { serving->set_mode(model::v1::APPRENTICE); });
  EXPECT_EQ(WhyNotServing("ads", Find()),
            "Users get the caller's baseline as long as the mode is "
            "APPRENTICE.");
  Change([](auto* serving) {
    serving->set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
    serving->set_explore_parts(100);
  });
  EXPECT_EQ(WhyNotServing("ads", Find()), "");
}

TEST_F(NewestVersionTest, AStateThatCannotBeReadSaysNothingOfWhatServes) {
  Publish();
  ASSERT_OK(WriteFile(dir_ / "ads/SERVING.textproto", "pinned_version: x"));
  EXPECT_THAT(FindIncumbent("ads", store_).status().message(),
              HasSubstr("SERVING.textproto"));
}

// The gate compared with what served: that must not have changed.
TEST_F(NewestVersionTest, ChangesMeanwhileAreNoticed) {
  Publish();
  Publish();
  const Incumbent before = Find();
  EXPECT_OK(CheckUnchanged("ads", store_, before));
  Change([](auto* serving) { serving->set_pinned_version(2); });
  EXPECT_OK(CheckUnchanged("ads", store_, before));  // The same serves.
  Change([](auto* serving) { serving->set_pinned_version(1); });
  EXPECT_THAT(CheckUnchanged("ads", store_, before),
              IsFailedPrecondition("version 1 of model 'ads' serves now",
                                   "version 2 did"));
  const Incumbent pinned = Find();
  Publish();
  EXPECT_THAT(CheckUnchanged("ads", store_, pinned),
              IsFailedPrecondition("version 3 of model 'ads' is the newest"));
}

TEST_F(NewestVersionTest, VersionZeroIsNone) {
  Publish();
  ASSERT_OK_AND_ASSIGN(const auto none, LoadIfAny("ads", 0, store_));
  EXPECT_FALSE(none.has_value());
  ASSERT_OK_AND_ASSIGN(const auto first, LoadIfAny("ads", 1, store_));
  EXPECT_EQ(first->model.version(), 1u);
  EXPECT_FALSE(LoadIfAny("ads", 2, store_).ok());
}

}  // namespace
}  // namespace sortition
