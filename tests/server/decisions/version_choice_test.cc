// Which version answers: named, labelled, by its arm, or the one that serves.
#include "server/decisions/version_choice.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/choices/traffic_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/decisions/ranking_service_fixture.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

// "pick" has versions 1, 2 and 3, whose weights differ; 3 serves, 1 is "old".
class VersionChoiceTest : public RankingServiceTest {
 protected:
  void SetUp() override {
    for (const double weight : {3.0, -1.0}) {
      auto pick = MakeSelectModel("pick", {weight, 1});
      pick.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
      Publish(options_.model_store(), pick);
    }
    options_.mutable_spool()->set_segment_bytes(1 << 24);
    RankingServiceTest::SetUp();
    Change([](model::v1::Serving* serving) {
      auto& label = *serving->add_labels();
      label.set_name("old");
      label.set_version(1);
    });
  }

  void Change(const std::function<void(model::v1::Serving*)>& edit) {
    EXPECT_OK(
        registry_->Change("pick", {"because", "ann"},
                          [&](const EditContext&, model::v1::Serving* serving) {
                            edit(serving);
                            return absl::OkStatus();
                          }));
  }

  // Gives version 2 the places [0, parts).
  void Split(uint32_t parts) {
    Change([&](model::v1::Serving* serving) {
      serving->mutable_split()->set_salt(kDrawSalt);
      auto& arm = *serving->mutable_split()->add_arms();
      arm.set_version(2);
      arm.add_ranges()->set_end(parts);
    });
  }

  // Returns the version that answers; 0 for an error.
  uint64_t VersionFor(const v1::SelectRequest& request) {
    const absl::Status status = Select(request);
    EXPECT_OK(status);
    return status.ok() ? select_.result().model().version() : 0;
  }
};

TEST_F(VersionChoiceTest, RequestsMayNameAVersionOrALabel) {
  v1::SelectRequest request = GoodSelect();
  EXPECT_EQ(VersionFor(request), 3u);
  request.mutable_context()->set_label("old");
  EXPECT_EQ(VersionFor(request), 1u);
  request.mutable_context()->clear_label();
  request.mutable_context()->set_version(1);
  EXPECT_EQ(VersionFor(request), 1u);
  request.mutable_context()->set_version(3);
  EXPECT_EQ(VersionFor(request), 3u);
  EXPECT_EQ(select_.result().arm_probability(), 0);
}

TEST_F(VersionChoiceTest, NamesThatAreNotLoadedAreRefusedByName) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_version(2);
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("context.version = 2: not loaded"),
                             HasSubstr("one of 1, 3"), HasSubstr("3 serves"))));
  request.mutable_context()->set_version(0);
  EXPECT_THAT(Select(request), StatusIs(StatusCode::kFailedPrecondition,
                                        HasSubstr("context.version = 0")));
  request.mutable_context()->clear_version();
  request.mutable_context()->set_label("new");
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("context.label = \"new\""),
                             HasSubstr("model pick has old"))));
  request.mutable_context()->set_label("old");
  request.mutable_context()->set_version(1);
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("both set")));
  EXPECT_THAT(Logged(), SizeIs(0));
}

TEST_F(VersionChoiceTest, RequestsOfTheOldVersionEndWithIt) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_label("old");
  EXPECT_EQ(VersionFor(request), 1u);
  Change([](model::v1::Serving* serving) { serving->clear_labels(); });
  EXPECT_THAT(Select(request), StatusIs(StatusCode::kFailedPrecondition,
                                        HasSubstr("model pick has none")));
}

// The propensity of the whole choice is that of the mixture.
TEST_F(VersionChoiceTest, AnArmAndItsMixtureAreLogged) {
  Split(2500);
  std::map<uint64_t, double> propensities;  // Of the candidate chosen below.
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_return_probabilities(true);
  for (const uint64_t version : {2, 3}) {
    request.mutable_context()->set_version(version);
    ASSERT_OK(Select(request));
    propensities[version] = select_.result().probabilities(2);
  }
  request.mutable_context()->clear_version();
  // A decision of each arm that chose candidate 2.
  std::map<uint64_t, v1::SelectResponse> answers;
  for (int i = 0; answers.size() < 2; ++i) {
    request.mutable_context()->set_decision_id(absl::StrCat("id-", i));
    ASSERT_OK(Select(request));
    if (select_.abstained() || select_.selected() != 2) continue;
    answers.emplace(select_.result().model().version(), select_);
  }
  EXPECT_EQ(answers[2].result().arm_probability(), 0.25);
  EXPECT_EQ(answers[3].result().arm_probability(), 0.75);
  int found = 0;
  for (const log::v1::LogRecord& record : Logged()) {
    const log::v1::Decision& decision = record.decision();
    const auto answer = answers.find(decision.version());
    if (answer == answers.end() ||
        answer->second.result().decision_id() != decision.decision_id()) {
      continue;
    }
    ++found;
    EXPECT_EQ(decision.arm().probability(),
              decision.version() == 2 ? 0.25 : 0.75);
    EXPECT_EQ(decision.arm().primary_version(), 3u);
    EXPECT_EQ(decision.arm().split().arms(0).version(), 2u);
    EXPECT_NEAR(std::exp(decision.arm().mixture_log_propensity()),
                0.25 * propensities[2] + 0.75 * propensities[3], 1e-12);
    EXPECT_NEAR(std::exp(decision.log_propensity()),
                propensities[decision.version()], 1e-12);
  }
  EXPECT_EQ(found, 2);
}

TEST_F(VersionChoiceTest, AUnitStaysWithItsVersionWhileItsArmGrows) {
  Split(2500);
  std::map<std::string, uint64_t> before;
  v1::SelectRequest request = GoodSelect();
  for (int i = 0; i < 200; ++i) {
    const std::string unit = absl::StrCat("u", i % 100);
    request.mutable_context()->set_unit_id(unit);
    request.mutable_context()->set_decision_id(absl::StrCat("d", i));
    const uint64_t version = VersionFor(request);
    EXPECT_EQ(before.emplace(unit, version).first->second, version);
  }
  Change([](model::v1::Serving* serving) {
    EXPECT_OK(AssignPlaces({{2, 5000}}, serving->mutable_split()));
  });
  int moved = 0;
  for (const auto& [unit, version] : before) {
    request.mutable_context()->set_unit_id(unit);
    const uint64_t now = VersionFor(request);
    if (version == 2) {
      EXPECT_EQ(now, 2u);
    }
    moved += version != now ? 1 : 0;
  }
  EXPECT_GT(moved, 5);  // About 25 of 100.
}

// The arm of a decision, its draw, the number by which logs are thinned and
// the part that it trains in say nothing of each other. Ids are fixed, so that
// the test does not flicker.
TEST_F(VersionChoiceTest, ArmDrawAndSamplesAreIndependent) {
  Split(5000);
  constexpr int kDecisions = 4000;
  // By pair of two of the bits below.
  std::map<std::pair<int, int>, std::vector<uint64_t>> counts;
  v1::SelectRequest request = GoodSelect();
  // Equal scores under both versions, so that draws have one distribution.
  SetDense(2, {0, 0, 0, 0, 0, 0}, request.mutable_context());
  for (int i = 0; i < kDecisions; ++i) {
    const std::string id = absl::StrCat("decision-", i);
    request.mutable_context()->set_decision_id(id);
    const uint64_t version = VersionFor(request);
    const int chosen =
        select_.abstained() ? 3 : static_cast<int>(select_.selected());
    const std::vector<bool> bits = {
        version == 2, chosen < 2, KeepNumber("", id) < 0.5,
        UnitInterval(StableHash(HashDomain::kSplit, {id})) < 0.5,
        UnitInterval(StableHash(HashDomain::kSubsample, {id})) < 0.5};
    for (size_t a = 0; a < bits.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        auto& cells = counts[{a, b}];
        cells.resize(4);
        ++cells[2 * bits[a] + bits[b]];
      }
    }
  }
  const std::vector<double> quarters(4, 0.25);
  for (const auto& [pair, cells] : counts) {
    EXPECT_GT(ChiSquarePValue(cells, quarters), 1e-3)
        << pair.first << " " << pair.second;
  }
}

// A version of another kind or number of features must not come in by a name.
TEST_F(VersionChoiceTest, VersionsOfAnotherKindAreNoArmsLabelsOrShadows) {
  // By hand, as nobody could publish it.
  const std::string store = options_.model_store();
  for (int i = 0; i < 4; ++i) {
    auto other = MakeRankModel("elsewhere", {1, 2});
    other.set_name("pick");
    ASSERT_EQ(Publish(directory_ / "aside", other),
              static_cast<uint64_t>(i + 1));
  }
  std::filesystem::rename(directory_ / "aside/pick/4", store + "/pick/4");
  const std::vector<std::function<void(model::v1::Serving*)>> edits = {
      [](auto* serving) { serving->set_pinned_version(4); },
      [](auto* serving) {
        auto& label = *serving->add_labels();
        label.set_name("rank");
        label.set_version(4);
      },
      [](auto* serving) {
        auto& shadow = *serving->add_shadows();
        shadow.set_version(4);
        shadow.set_every(1);
      },
      [](auto* serving) {
        serving->mutable_split()->set_salt(kDrawSalt);
        auto& arm = *serving->mutable_split()->add_arms();
        arm.set_version(4);
        arm.add_ranges()->set_end(1);
      }};
  for (const auto& edit : edits) {
    EXPECT_THAT(
        registry_->Change("pick", {"because", "ann"},
                          [&](const EditContext&, model::v1::Serving* serving) {
                            edit(serving);
                            return absl::OkStatus();
                          }),
        StatusIs(StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr("4: action_kind: policy is plackett_luce"),
                       HasSubstr("publish it under another name"))));
    EXPECT_EQ(VersionFor(GoodSelect()), 3u);
  }
}

}  // namespace
}  // namespace sortition
