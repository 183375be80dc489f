// The registry and SERVING.textproto: what serves follows the file, and nothing
// wrong in it ever serves.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/serving_state.h"
#include "tests/server/models/model_registry_fixture.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

constexpr char kArm[] =
    "split { arms { version: 2 ranges { begin: 0 end: 2500 } } "
    "salt: '0123456789abcdef0123456789abcdef' } ";

// Versions 1, 2 and 3 of "m" are in the store.
class ServingFileTest : public ModelRegistryTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) Publish(root(), MakeSelectModel("m", {1, 2}));
    registry_->Refresh();
    ASSERT_EQ(Serving(), 3u);
  }

  // Writes the file as a person would, and looks.
  // At once: the registry also looks by itself, and would see half a file.
  void Write(const std::string& text) {
    const std::string written = File() + ".new";
    std::ofstream(written) << text;
    std::filesystem::rename(written, File());
    registry_->Refresh();
  }
  std::string File() const { return root() + "/m/SERVING.textproto"; }

  absl::Status Change(const std::function<void(model::v1::Serving*)>& edit,
                      const std::string& name = "m") {
    return registry_
        ->Change(name, {"because", "ann"},
                 [&](const EditContext&, model::v1::Serving* serving) {
                   edit(serving);
                   return absl::OkStatus();
                 })
        .status();
  }
  absl::Status Pin(uint64_t version) {
    return Change([&](auto* serving) { serving->set_pinned_version(version); });
  }

  std::vector<uint64_t> Loaded() const {
    std::vector<uint64_t> versions;
    for (const auto& [version, model] : State().set->loaded) {
      versions.push_back(version);
    }
    return versions;
  }
  double ServingErrors() {
    return metrics_
        .Counter("sortition_model_serving_errors_total", "", {{"model", "m"}})
        ->value();
  }
  double Loads() {
    return metrics_
        .Counter("sortition_model_loads_total", "", {{"model", "m"}})
        ->value();
  }
  // As after a restart.
  void Restart() {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    registry_->Refresh();
  }
};

TEST_F(ServingFileTest, FollowsPinsAndUnpins) {
  Write("pinned_version: 1");
  EXPECT_EQ(Serving(), 1u);
  EXPECT_THAT(Loaded(), ElementsAre(1));
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  Write("change: 0");
  EXPECT_EQ(Serving(), 4u);
}

// The newest version may be older than the one that was pinned.
TEST_F(ServingFileTest, UnpinningServesTheNewestThatIsThere) {
  Write("pinned_version: 3");
  std::filesystem::remove_all(VersionPath(3));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 3u);  // Continues.
  Write("change: 0");
  EXPECT_EQ(Serving(), 2u);
}

TEST_F(ServingFileTest, LoadsArmsLabelsAndShadowsAndUnloadsThem) {
  Write(absl::StrCat(kArm,
                     "labels { name: 'old' version: 1 } "
                     "shadows { version: 1 every: 10 }"));
  EXPECT_EQ(State().serving_error, "");
  EXPECT_THAT(Loaded(), ElementsAre(1, 2, 3));
  const auto set = State().set;
  ASSERT_EQ(set->arms.size(), 2u);
  EXPECT_EQ(set->arms[0].model->version, 2u);
  EXPECT_EQ(set->arms[0].probability, 0.25);
  EXPECT_EQ(set->arms[1].model->version, 3u);
  EXPECT_EQ(set->arms[1].probability, 0.75);
  EXPECT_EQ(set->FindLabel("old")->version, 1u);
  EXPECT_EQ(set->FindLabel("new"), nullptr);
  EXPECT_EQ(set->FindVersion(4), nullptr);
  ASSERT_EQ(set->shadows.size(), 1u);
  EXPECT_EQ(set->shadows[0].every, 10u);
  Write("change: 0");
  EXPECT_THAT(Loaded(), ElementsAre(3));
}

// A version that is dropped is freed once no request and no thread uses it.
TEST_F(ServingFileTest, DroppedVersionsAreFreed) {
  Write("labels { name: 'old' version: 1 }");
  const std::weak_ptr<const ServedModel> dropped = State().set->loaded.at(1);
  SeenModels seen;
  auto used = registry_->Find("m", &seen);
  ASSERT_OK(used);
  Write("change: 0");
  registry_->Refresh();
  EXPECT_FALSE(dropped.expired());  // A request uses it.
  used = absl::UnknownError("done");
  seen = SeenModels();
  EXPECT_FALSE(dropped.expired());  // Not by the thread of the request.
  registry_->Refresh();
  EXPECT_TRUE(dropped.expired());
}

TEST_F(ServingFileTest, AnArmThatServesTheRestTooIsOneArm) {
  Write(absl::StrCat(kArm, "pinned_version: 2"));
  const auto set = State().set;
  ASSERT_EQ(set->arms.size(), 1u);
  EXPECT_EQ(set->arms[0].probability, 1);
  for (const char* unit : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    EXPECT_EQ(set->ArmOf(unit, "id").model->version, 2u);
  }
}

// Each is refused whole: the state before goes on.
TEST_F(ServingFileTest, WrongStatesNeverServe) {
  Write("pinned_version: 2 labels { name: 'old' version: 1 }");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {"rubbish", "SERVING.textproto is not what a server can serve by"},
      {"pinned_version: 3 pinned: 1", "\"pinned\""},
      {"pinned_version: 3 mode: 17", "mode = 17"},
      {"pinned_version: 3 labels { name: '?' version: 1 }", "labels.name"},
      {"pinned_version: 9", "pinned_version 9: "},
      {"pinned_version: 3 labels { name: 'x' version: 9 }",
       "label \"x\" of version 9: "},
      {"pinned_version: 3 shadows { version: 9 every: 1 }",
       "shadows.version 9: "},
      {"pinned_version: 3 split { arms { version: 9 ranges { end: 1 } } salt: "
       "'0123456789abcdef0123456789abcdef' }",
       "split.arms.version 9: "},
      {"pinned_version: 3 reason: '\\377'", "reason"},
      {"pinned_version: 3 mode: EXPLORE_ABOVE_BASELINE", "explore_parts = 0"},
  };
  double errors = 0;
  for (const auto& [text, reason] : cases) {
    CaptureLog();
    Write(text);
    registry_->Refresh();
    const std::string logged = CapturedLog();
    EXPECT_EQ(Serving(), 2u) << text;
    EXPECT_THAT(Loaded(), ElementsAre(1, 2)) << text;
    EXPECT_THAT(State().serving_error, HasSubstr(reason)) << text;
    EXPECT_EQ(ServingErrors(), ++errors) << text;
    // Once, not at every look.
    EXPECT_THAT(logged, HasSubstr("cannot be taken up")) << text;
    EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1) << logged;
  }
  Write("pinned_version: 3");
  EXPECT_EQ(Serving(), 3u);
  EXPECT_EQ(State().serving_error, "");
}

// While one version of a state is missing, the others are not loaded again and
// again.
TEST_F(ServingFileTest, AStateThatCannotServeLoadsNothing) {
  const double loads = Loads();
  Write("pinned_version: 2 labels { name: 'x' version: 9 }");
  for (int i = 0; i < 5; ++i) registry_->Refresh();
  EXPECT_EQ(Loads(), loads);
  EXPECT_EQ(Serving(), 3u);
  EXPECT_THAT(State().serving_error, HasSubstr("label \"x\" of version 9: "));
  // Once that version is published it is taken up.
  for (int i = 4; i <= 9; ++i) Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  EXPECT_THAT(Loaded(), ElementsAre(2, 9));
  EXPECT_EQ(Loads(), loads + 2);
}

// Nor where they load, but do not go together.
TEST_F(ServingFileTest, AStateThatContradictsItsVersionsLoadsThemOnce) {
  auto game = MakeModel("game", {1});
  game.mutable_policy()->mutable_game_subset()->set_measure(
      model::v1::GameSubset::F_BETA);
  Publish(root(), game);
  Publish(root(), game);
  registry_->Refresh();
  MetricCounter* const loads =
      metrics_.Counter("sortition_model_loads_total", "", {{"model", "game"}});
  EXPECT_EQ(loads->value(), 1);
  std::ofstream(root() + "/game/SERVING.textproto")
      << "pinned_version: 1 mode: EXPLORE_ABOVE_BASELINE explore_parts: 5";
  for (int i = 0; i < 5; ++i) registry_->Refresh();
  EXPECT_EQ(loads->value(), 2);
  std::ofstream(root() + "/game/SERVING.textproto") << "pinned_version: 1";
  registry_->Refresh();
  EXPECT_EQ((*registry_->Find("game"))->primary->version, 1u);
}

TEST_F(ServingFileTest, TheNewestIsFollowedWhileTheFileIsWrong) {
  Write("rubbish");
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 4u);
}

TEST_F(ServingFileTest, AFileThatIsRemovedDoesNotUnpin) {
  ASSERT_OK(Pin(1));
  std::filesystem::remove(File());
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_THAT(State().serving_error, HasSubstr("is gone"));
}

TEST_F(ServingFileTest, ChangesServeAtOnce) {
  ASSERT_OK(Pin(1));
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(State().set->serving.change(), 1u);
  EXPECT_EQ(State().set->serving.caller(), "ann");
  // The watcher finds nothing new.
  const auto set = State().set;
  registry_->Refresh();
  EXPECT_EQ(State().set, set);
  // Other replicas follow.
  ModelRegistry other(options_, &metrics_);
  other.Refresh();
  EXPECT_EQ((*other.Find("m"))->primary->version, 1u);
}

TEST_F(ServingFileTest, ChangesThatCannotServeChangeNothing) {
  ASSERT_OK(Pin(1));
  std::filesystem::remove(VersionPath(2) + "/model.pb");
  EXPECT_THAT(Pin(2), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("pinned_version 2: "),
                                     HasSubstr("missing_file"))));
  EXPECT_THAT(Pin(9), StatusIs(StatusCode::kFailedPrecondition,
                               AllOf(HasSubstr("pinned_version 9: "),
                                     HasSubstr("is not there"))));
  EXPECT_THAT(Change([](auto* serving) { serving->set_explore_parts(3); }),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(Serving(), 1u);
  ASSERT_OK_AND_ASSIGN(const auto stored, ReadServing(root() + "/m"));
  EXPECT_EQ(stored.change(), 1u);
  EXPECT_THAT(Change([](auto*) {}, "nobody"), StatusIs(StatusCode::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(root() + "/nobody"));
}

TEST_F(ServingFileTest, AModeCanBeSetBeforeTheFirstVersion) {
  std::filesystem::remove_all(root() + "/m");
  Restart();
  ASSERT_OK(
      Change([](auto* serving) { serving->set_mode(model::v1::APPRENTICE); }));
  EXPECT_EQ(State().set->serving.mode(), model::v1::APPRENTICE);
  EXPECT_EQ(Serving(), 0u);
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(State().set->serving.mode(), model::v1::APPRENTICE);
}

TEST_F(ServingFileTest, AfterARestartThePinHolds) {
  ASSERT_OK(Pin(2));
  Restart();
  EXPECT_EQ(Serving(), 2u);
  EXPECT_EQ(State().serving_error, "");
}

// Nothing serves yet, so that there is nothing to go on with: the newest state
// of the history that can serve is the best there is.
TEST_F(ServingFileTest, AfterARestartAWrongStateGivesWayToTheOneBefore) {
  ASSERT_OK(Pin(1));
  ASSERT_OK(Pin(2));
  for (const bool is_gone : {false, true}) {
    if (is_gone) {
      std::filesystem::remove_all(VersionPath(2));
      std::filesystem::copy(root() + "/m/.serving/2.textproto", File(),
                            std::filesystem::copy_options::overwrite_existing);
    } else {
      std::ofstream(File()) << "rubbish";
    }
    Restart();
    EXPECT_EQ(Serving(), is_gone ? 1u : 2u);
    EXPECT_THAT(State().serving_error,
                HasSubstr(is_gone ? "pinned_version 2: " : "is not what"));
  }
}

TEST_F(ServingFileTest, AfterARestartWithoutAGoodStateTheNewestServes) {
  Write("pinned_version: 9");
  Restart();
  EXPECT_EQ(Serving(), 3u);
  EXPECT_THAT(State().serving_error, HasSubstr("pinned_version 9: "));
}

TEST_F(ServingFileTest, AVersionWhoseFilesAreReplacedIsNamed) {
  const std::string checksum = State().set->primary->checksum;
  std::filesystem::remove_all(VersionPath(3));
  std::filesystem::remove_all(root() + "/m/.numbers");
  ASSERT_EQ(Publish(root(), MakeSelectModel("m", {5, 5})), 3u);
  CaptureLog();
  registry_->Refresh();
  registry_->Refresh();
  const std::string logged = CapturedLog();
  EXPECT_EQ(State().set->primary->checksum, checksum);
  EXPECT_THAT(
      State().rejected,
      ElementsAre(
          Pair(3u, AllOf(StartsWith("reused: "), HasSubstr(checksum),
                         HasSubstr("publish it under a number of its own")))));
  EXPECT_EQ(Failures("reused"), 1);
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1) << logged;
  // Nor does it serve later under the number of the other.
  ASSERT_OK(Pin(2));
  EXPECT_THAT(Pin(3),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("reused: ")));
}

TEST_F(ServingFileTest, FilesThatAreCopiedBackAreNotNamed) {
  std::filesystem::copy(VersionPath(3), directory_ / "aside",
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(VersionPath(3));
  registry_->Refresh();
  std::filesystem::copy(directory_ / "aside", VersionPath(3),
                        std::filesystem::copy_options::recursive);
  registry_->Refresh();
  EXPECT_THAT(State().rejected, IsEmpty());
}

TEST_F(ServingFileTest, SaysItInMetrics) {
  ASSERT_OK(registry_->Start());
  Write("pinned_version: 2 change: 5");
  EXPECT_THAT(
      metrics_.Text(),
      AllOf(HasSubstr("sortition_model_version{model=\"m\"} 2\n"),
            HasSubstr("sortition_model_serving_change{model=\"m\"} 5\n"),
            HasSubstr("sortition_model_serving_error{model=\"m\"} 0\n")));
  Write("pinned_version: 9 change: 6");
  EXPECT_THAT(
      metrics_.Text(),
      AllOf(
          HasSubstr("sortition_model_serving_change{model=\"m\"} 5\n"),
          HasSubstr("sortition_model_serving_error{model=\"m\"} 1\n"),
          HasSubstr("sortition_model_serving_errors_total{model=\"m\"} 1\n")));
}

}  // namespace
}  // namespace sortition
