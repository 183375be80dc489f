#include "io/models/serving_edit.h"

#include <string>
#include <utility>
#include <vector>

#include "core/choices/traffic_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "io/models/serving_state.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using model::v1::Serving;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using v1::ChangeServingRequest;

// Versions 5, 6, 7 and 8 are in the store; 7 serves.
class ServingEditTest : public testing::Test {
 protected:
  absl::Status Edit(const std::string& text) {
    ChangeServingRequest request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request));
    if (request.reason().empty()) request.set_reason("because");
    const Serving before = serving_;
    const absl::Status status = EditServing(request, context_, &serving_);
    if (status.ok()) {
      EXPECT_OK(ValidateServing(serving_));
      if (serving_.pinned_version() > 0) {
        context_.primary_version = serving_.pinned_version();
      }
    } else {
      serving_ = before;  // As ChangeServing() does.
    }
    return status;
  }

  std::vector<std::pair<std::string, uint64_t>> Labels() const {
    std::vector<std::pair<std::string, uint64_t>> labels;
    for (const auto& label : serving_.labels()) {
      labels.emplace_back(label.name(), label.version());
    }
    return labels;
  }

  EditContext context_ = {.primary_version = 7, .versions = {5, 6, 7, 8}};
  Serving serving_;
};

TEST_F(ServingEditTest, PinsAndUnpins) {
  EXPECT_OK(Edit("pin { version: 6 }"));
  EXPECT_EQ(serving_.pinned_version(), 6u);
  EXPECT_OK(Edit("unpin {}"));
  EXPECT_EQ(serving_.pinned_version(), 0u);
}

TEST_F(ServingEditTest, VersionsMustBeInTheStore) {
  for (const char* text :
       {"pin { version: 9 }", "pin {}", "set_label { name: 'a' version: 9 }",
        "set_split { arms { version: 9 parts: 1 } }",
        "set_interleave { version: 9 method: TEAM_DRAFT parts: 1 }",
        "set_shadows { shadows { version: 9 every: 1 } }",
        "rollback { version: 9 }", "protect { version: 9 }"}) {
    EXPECT_THAT(Edit(text),
                IsFailedPrecondition("no such version", "4 from 5 to 8"))
        << text;
  }
  context_.versions.clear();
  EXPECT_THAT(Edit("pin { version: 5 }"), IsFailedPrecondition("none"));
}

TEST_F(ServingEditTest, ReasonsAndChangesAreRequired) {
  EXPECT_THAT(Edit(""), IsInvalidArgument("change: must be one of"));
  ChangeServingRequest request;
  request.mutable_unpin();
  EXPECT_THAT(EditServing(request, context_, &serving_),
              IsInvalidArgument("reason has 0 bytes"));
  request.set_reason(std::string(1001, 'x'));
  EXPECT_THAT(EditServing(request, context_, &serving_),
              IsInvalidArgument("reason has 1001 bytes: must have 1 to 1000"));
}

// `models describe` prints a line for each change, with its reason.
TEST_F(ServingEditTest, AReasonIsOneLine) {
  ChangeServingRequest request;
  request.mutable_unpin();
  for (const char* reason :
       {"calm\nchange 9, now, root: fine", "calm\r", "\x1b[2J", "\x7f"}) {
    request.set_reason(reason);
    EXPECT_THAT(EditServing(request, context_, &serving_),
                IsInvalidArgument("reason has a control character"));
  }
  request.set_reason("Größe; 100 % \"ok\"");
  EXPECT_OK(EditServing(request, context_, &serving_));
}

TEST_F(ServingEditTest, AnotherStateThanTheExpectedOneAborts) {
  serving_.set_change(4);
  EXPECT_THAT(
      Edit("expected_change: 3 unpin {}"),
      StatusIs(StatusCode::kAborted,
               AllOf(HasSubstr("expected_change = 3"), HasSubstr("change 4"))));
  EXPECT_THAT(Edit("expected_change: 0 unpin {}"),
              StatusIs(StatusCode::kAborted));
  EXPECT_OK(Edit("expected_change: 4 unpin {}"));
}

TEST_F(ServingEditTest, LabelsAreSetMovedAndRemoved) {
  EXPECT_OK(Edit("set_label { name: 'stable' version: 6 }"));
  EXPECT_OK(Edit("set_label { name: 'canary' version: 8 }"));
  EXPECT_OK(Edit("set_label { name: 'stable' version: 7 }"));
  EXPECT_THAT(Labels(),
              ElementsAre(std::pair("canary", 8), std::pair("stable", 7)));
  EXPECT_OK(Edit("set_label { name: 'canary' }"));
  EXPECT_THAT(Labels(), ElementsAre(std::pair("stable", 7)));
  EXPECT_THAT(Edit("set_label { name: 'canary' }"),
              IsFailedPrecondition("\"canary\": no such label"));
}

TEST_F(ServingEditTest, SplitsReplaceEachOtherAndKeepTheirSalt) {
  EXPECT_OK(Edit("set_split { arms { version: 8 parts: 100 } }"));
  const std::string salt = serving_.split().salt();
  EXPECT_EQ(salt.size(), 32u);
  EXPECT_OK(
      Edit("set_split { arms { version: 8 parts: 200 } "
           "arms { version: 5 parts: 50 } }"));
  EXPECT_EQ(serving_.split().salt(), salt);
  ASSERT_EQ(serving_.split().arms_size(), 2);
  EXPECT_EQ(PlacesOf(serving_.split().arms(0)), 50u);
  EXPECT_EQ(PlacesOf(serving_.split().arms(1)), 200u);
  // The units of the first 100 places stay.
  EXPECT_EQ(serving_.split().arms(1).ranges(0).begin(), 0u);
  EXPECT_OK(Edit("set_split {}"));
  EXPECT_FALSE(serving_.has_split());
}

TEST_F(ServingEditTest, WrongSplitsAreRefused) {
  const auto invalid = StatusCode::kInvalidArgument;
  EXPECT_THAT(Edit("set_split { arms { version: 8 } }"),
              StatusIs(invalid, HasSubstr("parts = 0")));
  EXPECT_THAT(Edit("set_split { arms { version: 8 parts: 10001 } }"),
              StatusIs(invalid, HasSubstr("parts = 10001")));
  EXPECT_THAT(Edit("set_split { arms { version: 8 parts: 1 } "
                   "arms { version: 8 parts: 1 } }"),
              StatusIs(invalid, HasSubstr("once for each version")));
  EXPECT_THAT(Edit("set_split { arms { version: 8 parts: 6000 } "
                   "arms { version: 5 parts: 6000 } }"),
              StatusIs(invalid, HasSubstr("12000")));
  // One percent of 7 beside 99 % of 7 would be no canary.
  EXPECT_THAT(Edit("set_split { arms { version: 7 parts: 100 } }"),
              IsFailedPrecondition("= 7: serves already", "pin the version"));
}

TEST_F(ServingEditTest, RollsBackToTheVersionBefore) {
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 6u);
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(7));
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 5u);
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(7, 6));
  EXPECT_THAT(Edit("rollback {}"), IsFailedPrecondition("no version before 5"));
}

// 7 was bad; 8 turns out bad, too: the good one is 6.
TEST_F(ServingEditTest, RollsBackPastVersionsThatWereLeft) {
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_OK(Edit("pin { version: 8 }"));
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 6u);
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(7, 8));
  // Who pins it again trusts it again.
  EXPECT_OK(Edit("pin { version: 7 }"));
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(8));
  EXPECT_OK(Edit("rollback { version: 8 }"));
  EXPECT_EQ(serving_.pinned_version(), 8u);
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(7));
}

TEST_F(ServingEditTest, RollsBackPastVersionsThatDoNotLoad) {
  context_.can_serve = [](uint64_t version) { return version != 6; };
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 5u);
}

// The step before a split is the version that serves the rest.
TEST_F(ServingEditTest, DuringASplitRollsBackToTheRest) {
  EXPECT_OK(Edit("set_split { arms { version: 8 parts: 100 } }"));
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 7u);
  EXPECT_FALSE(serving_.has_split());
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(8));
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 6u);
}

// Units stay while the share grows; another version is another comparison.
TEST_F(ServingEditTest, InterleavesAndKeepsTheSaltOfAVersion) {
  EXPECT_OK(
      Edit("set_interleave { version: 8 method: TEAM_DRAFT parts: 100 }"));
  EXPECT_EQ(serving_.interleave().version(), 8u);
  EXPECT_EQ(serving_.interleave().method(), model::v1::Interleave::TEAM_DRAFT);
  EXPECT_EQ(serving_.interleave().parts(), 100u);
  const std::string salt = serving_.interleave().salt();
  EXPECT_EQ(salt.size(), 32u);
  EXPECT_OK(
      Edit("set_interleave { version: 8 method: PROBABILISTIC parts: 200 }"));
  EXPECT_EQ(serving_.interleave().salt(), salt);
  EXPECT_EQ(serving_.interleave().method(),
            model::v1::Interleave::PROBABILISTIC);
  EXPECT_OK(
      Edit("set_interleave { version: 6 method: TEAM_DRAFT parts: 200 }"));
  EXPECT_NE(serving_.interleave().salt(), salt);
  EXPECT_OK(Edit("set_interleave {}"));
  EXPECT_FALSE(serving_.has_interleave());
}

TEST_F(ServingEditTest, NoVersionIsInterleavedWithItself) {
  EXPECT_THAT(
      Edit("set_interleave { version: 7 method: TEAM_DRAFT parts: 1 }"),
      IsFailedPrecondition("set_interleave.version = 7: serves already"));
}

// The step before is the version that serves without the other one.
TEST_F(ServingEditTest, WhileInterleavedRollsBackToWhatServes) {
  EXPECT_OK(
      Edit("set_interleave { version: 8 method: TEAM_DRAFT parts: 100 }"));
  EXPECT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 7u);
  EXPECT_FALSE(serving_.has_interleave());
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(8));
  EXPECT_OK(
      Edit("set_interleave { version: 8 method: TEAM_DRAFT parts: 100 }"));
  EXPECT_OK(Edit("rollback { version: 8 }"));
  EXPECT_EQ(serving_.pinned_version(), 8u);
  EXPECT_THAT(serving_.rolled_back_versions(), ElementsAre(7));
}

TEST_F(ServingEditTest, RemembersTheLast64Rollbacks) {
  context_.versions.clear();
  for (uint64_t version = 1; version <= 100; ++version) {
    context_.versions.push_back(version);
  }
  context_.primary_version = 100;
  for (int i = 0; i < 70; ++i) ASSERT_OK(Edit("rollback {}"));
  EXPECT_EQ(serving_.pinned_version(), 30u);
  EXPECT_EQ(serving_.rolled_back_versions_size(), 64);
  EXPECT_EQ(*serving_.rolled_back_versions().rbegin(), 31u);
}

TEST_F(ServingEditTest, ProtectsAndUnprotects) {
  EXPECT_OK(Edit("protect { version: 5 }"));
  EXPECT_OK(Edit("protect { version: 5 }"));
  EXPECT_THAT(serving_.protected_versions(), ElementsAre(5));
  // Also once it is gone.
  context_.versions = {7};
  EXPECT_OK(Edit("protect { version: 5 off: true }"));
  EXPECT_THAT(serving_.protected_versions(), IsEmpty());
  EXPECT_THAT(Edit("protect { version: 5 off: true }"),
              IsFailedPrecondition("protect.version = 5: is not protected"));
}

TEST_F(ServingEditTest, SetsShadowsAndModes) {
  EXPECT_OK(Edit("set_shadows { shadows { version: 8 every: 10 } }"));
  EXPECT_EQ(serving_.shadows(0).every(), 10u);
  EXPECT_OK(Edit("set_shadows {}"));
  EXPECT_THAT(serving_.shadows(), IsEmpty());
  EXPECT_OK(Edit("set_mode { mode: EXPLORE_ABOVE_BASELINE explore_parts: 5 }"));
  EXPECT_EQ(serving_.explore_parts(), 5u);
  EXPECT_OK(Edit("set_mode { mode: OFF }"));
  EXPECT_EQ(serving_.mode(), model::v1::OFF);
  EXPECT_EQ(serving_.explore_parts(), 0u);
}

}  // namespace
}  // namespace sortition
