#include "io/models/newest_version.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/serving_state.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NewestVersionTest : public testing::Test {
 protected:
  void Publish() {
    model::v1::Model model;
    model.set_name("ads");
    model.mutable_policy()->mutable_softmax_selection();
    model.mutable_policy()->set_inverse_temperature(1);
    model.set_num_features(1);
    model.add_weights(1);
    ASSERT_OK(store_.Publish(model, nullptr, {}));
  }
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
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("version 1 of model 'ads' serves now"),
                             HasSubstr("version 2 did"))));
  const Incumbent pinned = Find();
  Publish();
  EXPECT_THAT(CheckUnchanged("ads", store_, pinned),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("version 3 of model 'ads' is the newest")));
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
