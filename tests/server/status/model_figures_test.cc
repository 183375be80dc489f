#include "server/status/model_figures.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/look_ledger.h"
#include "server/models/model_registry.h"
#include "server/models/models_service.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kSecondUs = 1'000'000;

class ModelFiguresTest : public testing::Test {
 protected:
  ModelFiguresTest() {
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("m");
  }

  void Start() {
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
    ASSERT_OK(registry_->Start());
    service_ = std::make_unique<ModelsService>(registry_.get(), nullptr);
    store_ = std::make_unique<StoreFigures>(registry_->store());
  }

  uint64_t PublishVersion() {
    return Publish(options_.model_store(), MakeSelectModel("m", {1, 2}));
  }

  status::v1::Server At(int64_t steady_us) {
    v1::ListModelsResponse list;
    EXPECT_OK(service_->ListModels({}, &list));
    status::v1::Server server;
    for (const v1::ModelStatus* const model : ShownModels(list, {})) {
      const auto stored = store_->Read(WantedOf(*model), steady_us);
      SetModel(*model, stored.get(), server.add_models());
    }
    return server;
  }

  TempDir directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<ModelsService> service_;
  std::unique_ptr<StoreFigures> store_;
};

TEST_F(ModelFiguresTest, AnEmptyStoreServesTheUniformPolicy) {
  Start();
  const status::v1::Server server = At(kSecondUs);
  ASSERT_THAT(server.models(), SizeIs(1));
  EXPECT_EQ(server.models(0).name(), "m");
  EXPECT_EQ(server.models(0).version(), 0u);
  EXPECT_EQ(server.models(0).policy(), "uniform");
  EXPECT_THAT(server.models(0).versions(), IsEmpty());
  EXPECT_EQ(server.models(0).looks(), 0u);
}

TEST_F(ModelFiguresTest, VersionsHaveTheirEvaluationUsesAndLooks) {
  ASSERT_EQ(PublishVersion(), 1u);
  model::v1::Model model = MakeSelectModel("m", {2, 1});
  model.mutable_provenance()->set_learner("poem");
  model.mutable_provenance()->set_comment("the better one");
  model.mutable_provenance()->set_options(
      "tuples: \"t\" reward_min: -1 clamp_rewards: true of_a_later_release: 7");
  model.mutable_provenance()->set_created_time_us(77);
  model.mutable_provenance()->set_parent_version(1);
  model::v1::Evaluation evaluation;
  evaluation.set_promoted(true);
  evaluation.set_verdict("better");
  evaluation.mutable_improvement()->set_value(0.2);
  evaluation.mutable_improvement()->set_lower(0.1);
  evaluation.mutable_improvement()->set_upper(0.3);
  evaluation.mutable_improvement()->set_confidence(0.95);
  evaluation.set_effective_sample_size(123);
  evaluation.set_test_tuples(1000);
  evaluation.set_look(4);
  evaluation.add_findings()->set_sentence("Few tuples.");
  ASSERT_OK(ModelStore(options_.model_store())
                .Publish(model, &evaluation, {}, {.draw_salt = kDrawSalt}));
  LookLedger ledger(options_.model_store(), "m");
  ASSERT_OK(ledger.Begin(2));
  ASSERT_OK(ledger.Begin(2));
  ASSERT_OK(ledger.Begin(1));
  Start();
  const status::v1::Server server = At(kSecondUs);
  ASSERT_THAT(server.models(), SizeIs(1));
  const status::v1::Model& figures = server.models(0);
  EXPECT_EQ(figures.version(), 2u);
  EXPECT_EQ(figures.policy(), "softmax_selection");
  EXPECT_EQ(figures.looks(), 2u);
  EXPECT_EQ(figures.error_budget_left(), ShareLeftAfter(2));
  ASSERT_THAT(figures.versions(), SizeIs(2));
  const status::v1::Version& newest = figures.versions(0);
  EXPECT_EQ(newest.version(), 2u);
  EXPECT_TRUE(newest.is_loaded());
  EXPECT_THAT(newest.uses(), ElementsAre("serves"));
  EXPECT_GT(newest.bytes(), 0u);
  EXPECT_EQ(newest.learner(), "poem");
  EXPECT_EQ(newest.comment(), "the better one");
  EXPECT_EQ(newest.reward_options(), "--reward_min=-1 --clamp_rewards");
  EXPECT_EQ(newest.created_time_us(), 77);
  EXPECT_EQ(newest.parent_version(), 1u);
  EXPECT_TRUE(newest.is_evaluated());
  EXPECT_TRUE(newest.promoted());
  EXPECT_EQ(newest.verdict(), "better");
  EXPECT_EQ(newest.improvement().value(), 0.2);
  EXPECT_EQ(newest.improvement().lower(), 0.1);
  EXPECT_EQ(newest.improvement().upper(), 0.3);
  EXPECT_EQ(newest.improvement().confidence(), 0.95);
  EXPECT_EQ(newest.effective_sample_size(), 123);
  EXPECT_EQ(newest.test_tuples(), 1000u);
  EXPECT_EQ(newest.look(), 4u);
  EXPECT_THAT(newest.findings(), ElementsAre("Few tuples."));
  const status::v1::Version& first = figures.versions(1);
  EXPECT_EQ(first.version(), 1u);
  EXPECT_FALSE(first.is_loaded());
  EXPECT_FALSE(first.is_evaluated());
  EXPECT_EQ(first.error(), "");
}

TEST_F(ModelFiguresTest, ShowsTheNewestVersionsAndThoseThatAreLoaded) {
  for (uint64_t version = 1; version <= 23; ++version) {
    ASSERT_EQ(PublishVersion(), version);
  }
  Start();
  v1::ChangeServingRequest pin;
  pin.set_reason("try");
  pin.mutable_pin()->set_version(2);
  v1::ChangeServingResponse response;
  ASSERT_OK(service_->ChangeServing(pin, "me", &response));
  const status::v1::Server server = At(kSecondUs);
  const status::v1::Model& figures = server.models(0);
  ASSERT_THAT(figures.versions(), SizeIs(22));
  EXPECT_EQ(figures.versions(0).version(), 23u);
  EXPECT_EQ(figures.versions(19).version(), 4u);
  EXPECT_EQ(figures.versions(20).version(), 2u);
  EXPECT_THAT(figures.versions(20).uses(), ElementsAre("serves, pinned"));
  EXPECT_EQ(figures.versions(21).version(), 1u);
  EXPECT_EQ(figures.further_versions(), 1u);  // 3
  EXPECT_EQ(figures.serving().pinned_version(), 2u);
  ASSERT_THAT(figures.history(), SizeIs(1));
  EXPECT_EQ(figures.history(0).caller(), "me");
}

TEST_F(ModelFiguresTest, LooksAgainAfterAWhileOrWhenWhatServesHasChanged) {
  ASSERT_EQ(PublishVersion(), 1u);
  Start();
  EXPECT_THAT(At(kSecondUs).models(0).versions(), SizeIs(1));
  // Nothing of the registry changes with it, for it is refused.
  const std::string second = options_.model_store() + "/m/2";
  std::filesystem::create_directory(second);
  ASSERT_OK(WriteFile(second + "/MANIFEST.textproto", "no manifest"));
  ASSERT_OK(WriteFile(second + "/model.pb", "no model"));
  registry_->Refresh();
  EXPECT_THAT(At(kSecondUs + StoreFigures::kLookUs - 1).models(0).versions(),
              SizeIs(1));
  const status::v1::Server later = At(kSecondUs + StoreFigures::kLookUs);
  ASSERT_THAT(later.models(0).versions(), SizeIs(2));
  EXPECT_EQ(later.models(0).versions(0).version(), 2u);
  EXPECT_THAT(later.models(0).versions(0).error(), HasSubstr("MANIFEST"));
  // In the same moment, but another version serves.
  ASSERT_EQ(PublishVersion(), 3u);
  registry_->Refresh();
  const status::v1::Server swapped = At(kSecondUs + StoreFigures::kLookUs);
  ASSERT_THAT(swapped.models(0).versions(), SizeIs(3));
  EXPECT_TRUE(swapped.models(0).versions(0).is_loaded());
}

// Whoever wants to go back needs the versions before the one that serves, not
// those before the newest.
TEST_F(ModelFiguresTest, ShowsTheVersionsBelowThoseThatDecide) {
  for (uint64_t version = 1; version <= 30; ++version) {
    std::filesystem::create_directories(options_.model_store() + "/m/" +
                                        std::to_string(version));
    std::ofstream(options_.model_store() + "/m/" + std::to_string(version) +
                  "/MANIFEST.textproto");
  }
  StoreFigures store{ModelStore(options_.model_store())};
  const auto figures = store.Read({.name = "m",
                                   .change = 1,
                                   .version = 8,
                                   .loaded = {2, 8},
                                   .decides = {8}},
                                  kSecondUs);
  std::vector<uint64_t> versions;
  for (const status::v1::Version& version : figures->versions) {
    versions.push_back(version.version());
  }
  ASSERT_THAT(versions, SizeIs(27));
  EXPECT_EQ(versions[19], 11u);
  versions.erase(versions.begin(), versions.begin() + 20);
  EXPECT_THAT(versions, ElementsAre(8, 7, 6, 5, 4, 3, 2));
  EXPECT_EQ(figures->further_versions, 3u);  // 10, 9, 1
}

TEST_F(ModelFiguresTest, WhatCannotBeReadIsReadAgainWithTheNextLook) {
  ASSERT_EQ(PublishVersion(), 1u);
  StoreFigures store{ModelStore(options_.model_store())};
  const WantedModel model = {
      .name = "m", .change = 0, .version = 1, .loaded = {1}, .decides = {1}};
  const std::string file = options_.model_store() + "/m/1/model.pb";
  std::filesystem::rename(file, file + ".away");
  EXPECT_NE(store.Read(model, kSecondUs)->versions.at(0).error(), "");
  std::filesystem::rename(file + ".away", file);
  EXPECT_NE(store.Read(model, kSecondUs + StoreFigures::kLookUs - 1)
                ->versions.at(0)
                .error(),
            "");
  EXPECT_EQ(store.Read(model, kSecondUs + StoreFigures::kLookUs)
                ->versions.at(0)
                .error(),
            "");
}

// Size and time of the ledger stay, though its contents do not.
TEST_F(ModelFiguresTest, ALedgerThatHasNotChangedIsNotReadAgain) {
  ASSERT_EQ(PublishVersion(), 1u);
  LookLedger ledger(options_.model_store(), "m");
  ASSERT_OK(ledger.Begin(1));
  StoreFigures store{ModelStore(options_.model_store())};
  WantedModel model = {
      .name = "m", .change = 0, .version = 1, .loaded = {}, .decides = {}};
  EXPECT_EQ(store.Read(model, kSecondUs)->looks, 1u);
  const auto time = std::filesystem::last_write_time(ledger.path());
  const auto size = std::filesystem::file_size(ledger.path());
  std::ofstream(ledger.path()) << std::string(size, '\n');
  std::filesystem::last_write_time(ledger.path(), time);
  int64_t now = kSecondUs + StoreFigures::kLookUs;
  EXPECT_EQ(store.Read(model, now)->looks, 1u);
  ASSERT_OK(ledger.Begin(1));
  ASSERT_OK(ledger.Begin(1));
  now += StoreFigures::kLookUs;
  EXPECT_EQ(store.Read(model, now)->looks, 2u);
  model.version = 2;  // Another one serves.
  EXPECT_EQ(store.Read(model, now)->looks, 0u);
}

TEST_F(ModelFiguresTest, LongTextsAreCut) {
  model::v1::Model model = MakeSelectModel("m", {2, 1});
  model.mutable_provenance()->set_comment(std::string(5000, 'c'));
  model::v1::Evaluation evaluation;
  for (int i = 0; i < 30; ++i) {
    evaluation.add_findings()->set_sentence(std::string(5000, 'f'));
  }
  ASSERT_OK(ModelStore(options_.model_store())
                .Publish(model, &evaluation, {}, {.draw_salt = kDrawSalt}));
  Start();
  const status::v1::Server server = At(kSecondUs);
  EXPECT_LT(server.models(0).versions(0).ByteSizeLong(), 25'000u);
  // A state that was edited by hand has whatever was written.
  v1::ModelStatus status;
  StoredFigures stored;
  stored.history.resize(1);
  for (model::v1::Serving* const serving :
       {status.mutable_serving(), &stored.history[0]}) {
    serving->set_reason(std::string(5000, 'r'));
    serving->set_caller(std::string(5000, 'c'));
  }
  status::v1::Model figures;
  SetModel(status, &stored, &figures);
  EXPECT_LT(figures.serving().ByteSizeLong(), 2'500u);
  EXPECT_LT(figures.history(0).ByteSizeLong(), 2'500u);
}

// The status can be read without a token, and whoever knows a salt can choose a
// unit for the arm that it leads to.
TEST_F(ModelFiguresTest, SaltsAreNotShown) {
  v1::ModelStatus status;
  StoredFigures stored;
  stored.history.resize(1);
  for (model::v1::Serving* const serving :
       {status.mutable_serving(), &stored.history[0]}) {
    serving->mutable_split()->set_salt("0123456789abcdef");
    serving->mutable_split()->add_arms()->set_version(3);
    serving->mutable_interleave()->set_salt("0123456789abcdef");
    serving->mutable_interleave()->set_version(4);
  }
  status::v1::Model figures;
  SetModel(status, &stored, &figures);
  for (const model::v1::Serving& serving :
       {figures.serving(), figures.history(0)}) {
    EXPECT_EQ(serving.split().salt(), "");
    EXPECT_EQ(serving.split().arms(0).version(), 3u);
    EXPECT_EQ(serving.interleave().salt(), "");
    EXPECT_EQ(serving.interleave().version(), 4u);
  }
}

TEST(ShownModelsTest, TheBusiestComeFirstAndTheRestByName) {
  v1::ListModelsResponse list;
  for (int i = 100; i < 160; ++i) {
    list.add_models()->set_name(absl::StrCat("m", i));
  }
  SamplesByModel samples;
  samples["m159"].decisions = 5;
  samples["m120"].decisions = 7;
  const auto shown = ShownModels(list, samples);
  ASSERT_THAT(shown, SizeIs(50));
  EXPECT_EQ(shown[0]->name(), "m120");
  EXPECT_EQ(shown[1]->name(), "m159");
  EXPECT_EQ(shown[2]->name(), "m100");
}

}  // namespace
}  // namespace sortition
