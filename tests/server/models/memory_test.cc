// The memory of the versions that serve: what has no room is refused by name.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/serving_state.h"
#include "tests/server/models/model_registry_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

// Models of about 800 kB, and room for two of them.
class MemoryTest : public ModelRegistryTest {
 protected:
  static constexpr size_t kFeatures = 100'000;

  MemoryTest() {
    options_.set_model_memory_bytes(2'000'000);
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  }

  uint64_t PublishLarge(const std::string& name = "m") {
    return Publish(root(),
                   MakeSelectModel(name, std::vector<double>(kFeatures, 1)));
  }

  absl::Status Label(const std::string& label, uint64_t version) {
    return registry_
        ->Change("m", {"because", "ann"},
                 [&](const EditContext&, model::v1::Serving* serving) {
                   auto& added = *serving->add_labels();
                   added.set_name(label);
                   added.set_version(version);
                   return absl::OkStatus();
                 })
        .status();
  }
};

TEST_F(MemoryTest, AVersionMoreThanThereIsRoomForIsRefused) {
  for (int i = 0; i < 3; ++i) PublishLarge();
  registry_->Refresh();
  ASSERT_EQ(Serving(), 3u);
  EXPECT_OK(Label("a", 1));
  EXPECT_THAT(Label("b", 2),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("label \"b\" of version 2: memory: "),
                             HasSubstr("model_memory_bytes has room for"))));
  EXPECT_EQ(State().set->loaded.size(), 2u);
  // Another use of the same version takes no more.
  EXPECT_OK(Label("c", 1));
}

// The version that serves and is not pinned counts, too.
TEST_F(MemoryTest, AllVersionsOfASetCountTogether) {
  for (int i = 0; i < 3; ++i) PublishLarge();
  registry_->Refresh();
  EXPECT_THAT(
      registry_->Change("m", {"because", "ann"},
                        [](const EditContext&, model::v1::Serving* serving) {
                          for (const uint64_t version : {1, 2}) {
                            auto& label = *serving->add_labels();
                            label.set_name(absl::StrCat("l", version));
                            label.set_version(version);
                          }
                          return absl::OkStatus();
                        }),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("memory")));
}

// The version before takes no room from the one that replaces it, but those
// that stay do.
TEST_F(MemoryTest, TheNewestReplacesTheOneBefore) {
  PublishLarge();
  PublishLarge();
  registry_->Refresh();
  EXPECT_OK(Label("a", 1));
  PublishLarge();
  registry_->Refresh();
  EXPECT_EQ(Serving(), 3u);
  EXPECT_EQ(State().set->loaded.size(), 2u);
  EXPECT_OK(
      registry_->Change("m", {"because", "ann"},
                        [](const EditContext&, model::v1::Serving* serving) {
                          serving->set_pinned_version(2);
                          return absl::OkStatus();
                        }));
  EXPECT_EQ(Serving(), 2u);
}

TEST_F(MemoryTest, ANewestWithoutRoomIsNamedAndTheOneBeforeServes) {
  PublishLarge();
  PublishLarge("other");
  registry_->Refresh();
  EXPECT_OK(Label("stays", 1));
  PublishLarge();
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(State().serving_error, "");
  EXPECT_THAT(State().rejected,
              ElementsAre(Pair(2u, StartsWith("memory: takes "))));
  // It is tried again at every look.
  EXPECT_OK(
      registry_->Change("m", {"because", "ann"},
                        [](const EditContext&, model::v1::Serving* serving) {
                          serving->clear_labels();
                          return absl::OkStatus();
                        }));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  EXPECT_THAT(State().rejected, IsEmpty());
}

TEST_F(MemoryTest, OtherModelsCount) {
  PublishLarge();
  PublishLarge("other");
  PublishLarge("third");
  registry_->Refresh();
  ASSERT_EQ(Serving(), 1u);
  const auto third = registry_->Find("third");
  ASSERT_OK(third);
  EXPECT_EQ((*third)->primary->version, 0u);
  for (const ModelState& state : registry_->List()) {
    if (state.set->name != "third") continue;
    EXPECT_THAT(state.rejected,
                ElementsAre(Pair(1u, StartsWith("memory: takes "))));
  }
}

TEST_F(MemoryTest, BytesAreThoseOfAllLoadedVersions) {
  PublishLarge();
  PublishLarge();
  registry_->Refresh();
  ASSERT_OK(Label("a", 1));
  const auto set = State().set;
  EXPECT_EQ(set->bytes(), set->loaded.at(1)->bytes + set->loaded.at(2)->bytes);
  // Eight bytes for each weight.
  EXPECT_NEAR(static_cast<double>(set->bytes()), 16.0 * kFeatures, 1000);
}

}  // namespace
}  // namespace sortition
