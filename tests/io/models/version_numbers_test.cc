#include "io/models/version_numbers.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;

model::v1::Model Selection(std::vector<double> weights) {
  model::v1::Model model;
  model.set_name("ads");
  model.mutable_policy()->mutable_softmax_selection();
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(static_cast<uint32_t>(weights.size()));
  model.mutable_weights()->Add(weights.begin(), weights.end());
  return model;
}

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
    EXPECT_EQ(Value(Publish(Selection({1, 2}))), version);
  }
  std::filesystem::remove_all(dir_ / "ads/3");
  EXPECT_EQ(Value(store_.NextVersion("ads")), 4u);
  EXPECT_EQ(Value(Publish(Selection({1, 2}))), 4u);
  std::filesystem::rename(dir_ / "ads/4", dir_ / "aside");
  std::filesystem::rename(dir_ / "ads/2", dir_ / "aside2");
  EXPECT_EQ(Value(Publish(Selection({1, 2}))), 5u);
}

TEST_F(VersionNumbersTest, NumbersFollowTheLog) {
  EXPECT_EQ(Value(Publish(Selection({1, 2}), 7)), 8u);
  EXPECT_EQ(Value(Publish(Selection({1, 2}), 3)), 9u);
}

// A store from before numbers were kept, or copied without hidden files.
TEST_F(VersionNumbersTest, ContinuesWithoutClaims) {
  ASSERT_OK(Publish(Selection({1, 2})));
  ASSERT_OK(Publish(Selection({1, 2})));
  std::filesystem::remove_all(dir_ / "ads/.numbers");
  EXPECT_EQ(Value(store_.NextVersion("ads")), 3u);
  EXPECT_EQ(Value(Publish(Selection({1, 2}))), 3u);
}

TEST_F(VersionNumbersTest, ANameKeepsItsActionAndItsFeatures) {
  ASSERT_OK(Publish(Selection({1, 2})));
  const absl::Status features = Publish(Selection({1, 2, 3})).status();
  EXPECT_EQ(features.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(features.message()),
      HasSubstr("'ads': num_features is 3, must be 2, as in version 1"));
  model::v1::Model ranking = Selection({1, 2});
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

}  // namespace
}  // namespace sortition
