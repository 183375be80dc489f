#include "io/models/model_store.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/segments/record_frame.h"
#include "tests/io/models/selection_model.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

model::v1::Model GoodModel() { return SelectionModel({0.5, -1, 0}); }

class ModelStoreTest : public testing::Test {
 protected:
  uint64_t Publish(const model::v1::Model& model) {
    const auto version = store_.Publish(model, nullptr, {});
    EXPECT_TRUE(version.ok()) << version.status();
    return *version;
  }

  std::string PathOf(uint64_t version, const std::string& file) const {
    return absl::StrCat(store_.root(), "/ads/", version, "/", file);
  }

  // Writes model.pb and a manifest that fits it, without validation, as another
  // publisher might do.
  void Forge(uint64_t version, const model::v1::Model& model) {
    const std::string bytes = model.SerializeAsString();
    std::filesystem::create_directories(PathOf(version, ""));
    ASSERT_OK(WriteFile(PathOf(version, "model.pb"), bytes));
    const Hash128 hash = HashBytes(bytes);
    ASSERT_OK(WriteFile(
        PathOf(version, "MANIFEST.textproto"),
        absl::StrFormat("format_version: 1 model: \"ads\" version: %d files { "
                        "name: \"model.pb\" bytes: %d xxh3_128: "
                        "\"%016x%016x\" }",
                        version, bytes.size(), hash.high, hash.low)));
  }

  void EditManifest(uint64_t version, const std::string& from,
                    const std::string& to) {
    const std::string path = PathOf(version, "MANIFEST.textproto");
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
    const std::string edited = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(edited, text);
    ASSERT_OK(WriteFile(path, edited));
  }

  const TempDir dir_;
  const ModelStore store_{dir_ / "models"};
};

TEST_F(ModelStoreTest, LoadsWhatWasPublished) {
  model::v1::Evaluation evaluation;
  evaluation.set_promoted(true);
  evaluation.mutable_ips_reward()->set_value(0.75);
  std::vector<log::v1::Decision> warmup(2);
  warmup[0].set_decision_id("q0");
  warmup[1].set_decision_id("q1");
  warmup[1].add_dense_values(0.5f);
  ASSERT_OK_AND_ASSIGN(const uint64_t version,
                       store_.Publish(GoodModel(), &evaluation, warmup));
  EXPECT_EQ(version, 1u);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("ads", 1));
  model::v1::Model expected = GoodModel();
  expected.set_version(1);
  EXPECT_EQ(stored.model.SerializeAsString(), expected.SerializeAsString());
  EXPECT_THAT(stored.checksum, SizeIs(32));
  ASSERT_THAT(stored.warmup, SizeIs(2));
  // Without the id, which could name a user.
  EXPECT_EQ(stored.warmup[1].ShortDebugString(), "dense_values: 0.5");
  ASSERT_OK_AND_ASSIGN(const auto read, store_.LoadEvaluation("ads", 1));
  EXPECT_EQ(read.SerializeAsString(), evaluation.SerializeAsString());
}

TEST_F(ModelStoreTest, VersionsCountUpAndStrangersAreSkipped) {
  EXPECT_THAT(store_.ListModels(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(Publish(GoodModel()), 1u);
  EXPECT_EQ(Publish(GoodModel()), 2u);
  for (const char* name : {"0", "007", "-3", "x", "4x", ".tmp-abcdef"}) {
    std::filesystem::create_directories(dir_ / "models/ads" + "/" + name);
  }
  ASSERT_OK(WriteFile(dir_ / "models/ads/9", "a file"));
  std::filesystem::create_directories(dir_ / "models/ads/11");
  std::filesystem::create_directories(dir_ / "models/.hidden");
  ASSERT_OK_AND_ASSIGN(const auto versions, store_.ListVersions("ads"));
  EXPECT_THAT(versions, ElementsAre(1u, 2u, 11u));
  EXPECT_EQ(Publish(GoodModel()), 12u);
  ASSERT_OK_AND_ASSIGN(const auto models, store_.ListModels());
  EXPECT_THAT(models, ElementsAre("ads"));
  ASSERT_OK_AND_ASSIGN(const auto none, store_.ListVersions("none"));
  EXPECT_THAT(none, IsEmpty());
  EXPECT_THAT(store_.LoadEvaluation("ads", 1),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_.Load("ads", 5), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ModelStoreTest, ConcurrentPublishersTakeDifferentVersions) {
  std::vector<std::vector<uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& versions : taken) {
    threads.emplace_back([this, &versions] {
      for (int i = 0; i < 10; ++i) versions.push_back(Publish(GoodModel()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& versions : taken) {
    EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end()));
    all.insert(versions.begin(), versions.end());
  }
  EXPECT_THAT(all, SizeIs(40));
  for (const uint64_t version : all) EXPECT_OK(store_.Load("ads", version));
  // No temporary file is left, only the largest number beside the versions.
  const auto entries = std::filesystem::directory_iterator(dir_ / "models/ads");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 41);
}

TEST_F(ModelStoreTest, AModelFileCutAnywhereIsRefused) {
  Publish(GoodModel());
  const std::string path = PathOf(1, "model.pb");
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_OK(WriteFile(path, bytes.substr(0, size)));
    ASSERT_THAT(store_.Load("ads", 1),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr(absl::StrCat(path, " has ", size,
                                                " bytes, its manifest says ",
                                                bytes.size()))));
  }
}

TEST_F(ModelStoreTest, AFlippedByteIsRefused) {
  Publish(GoodModel());
  const std::string path = PathOf(1, "model.pb");
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
  for (char& byte : bytes) {
    byte = static_cast<char>(byte ^ 0x10);
    ASSERT_OK(WriteFile(path, bytes));
    byte = static_cast<char>(byte ^ 0x10);
    ASSERT_THAT(store_.Load("ads", 1),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(path), HasSubstr("has checksum"))));
  }
  ASSERT_OK(WriteFile(path, bytes));
  EXPECT_OK(store_.Load("ads", 1));
}

TEST_F(ModelStoreTest, ADamagedManifestIsRefused) {
  for (int i = 0; i < 6; ++i) Publish(GoodModel());
  EditManifest(1, "files", "fiels");
  EXPECT_THAT(store_.Load("ads", 1),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(PathOf(1, "MANIFEST.textproto")),
                             HasSubstr("line 4, column 7"))));
  EditManifest(2, "format_version: 1", "format_version: 5");
  EXPECT_THAT(store_.Load("ads", 2),
              IsInvalidArgument("format_version is 5, must be in [1, 4]"));
  EditManifest(3, "model.pb", "other.pb");
  EXPECT_THAT(store_.Load("ads", 3), IsNotFound("other.pb"));
  ASSERT_OK(WriteFile(PathOf(4, "MANIFEST.textproto"),
                      "format_version: 1 model: \"ads\" version: 4"));
  EXPECT_THAT(store_.Load("ads", 4),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("does not list model.pb")));
  std::filesystem::remove(PathOf(5, "MANIFEST.textproto"));
  EXPECT_THAT(store_.Load("ads", 5), StatusIs(absl::StatusCode::kNotFound));
  EditManifest(6, "version: 6", "version: 5");
  EXPECT_THAT(store_.Load("ads", 6),
              IsInvalidArgument("manifest's is version 5"));
}

TEST_F(ModelStoreTest, AVersionInAnotherPlaceIsRefused) {
  Publish(GoodModel());
  std::filesystem::rename(PathOf(1, ""), dir_ / "models/ads/8");
  EXPECT_THAT(store_.Load("ads", 8),
              IsInvalidArgument("its place says version 8 of 'ads'"));
  std::filesystem::rename(dir_ / "models/ads", dir_ / "models/other");
  EXPECT_THAT(store_.Load("other", 8),
              IsInvalidArgument("its place says version 8 of 'other'"));
}

TEST_F(ModelStoreTest, DamagedCompanionsAreRefused) {
  std::vector<log::v1::Decision> warmup(1001);
  for (int i = 0; i < 2; ++i) {
    model::v1::Evaluation evaluation;
    evaluation.set_verdict("good");
    ASSERT_OK(store_.Publish(GoodModel(), &evaluation, warmup));
  }
  // At most 1000 are written.
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("ads", 1));
  EXPECT_THAT(stored.warmup, SizeIs(1000));
  ASSERT_OK(WriteFile(PathOf(1, "warmup.tfrecord"), "x"));
  EXPECT_THAT(store_.Load("ads", 1), StatusIs(absl::StatusCode::kDataLoss,
                                              HasSubstr("warmup.tfrecord")));
  ASSERT_OK(WriteFile(PathOf(2, "evaluation.pb"), "x"));
  EXPECT_THAT(
      store_.LoadEvaluation("ads", 2),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("evaluation.pb")));
}

struct BadModel {
  std::string name;
  std::function<void(model::v1::Model*)> change;
  std::string what;
};

class BadModelTest : public ModelStoreTest,
                     public testing::WithParamInterface<BadModel> {};

TEST_P(BadModelTest, IsNeitherPublishedNorLoaded) {
  model::v1::Model model = GoodModel();
  GetParam().change(&model);
  EXPECT_THAT(store_.Publish(model, nullptr, {}),
              IsInvalidArgument(GetParam().what));
  EXPECT_FALSE(std::filesystem::exists(store_.root()));
  model.set_version(1);
  Forge(1, model);
  const auto loaded = store_.Load("ads", 1);
  EXPECT_THAT(loaded, IsInvalidArgument(PathOf(1, "model.pb")));
  if (model.name() == "ads") {
    EXPECT_THAT(loaded, IsInvalidArgument(GetParam().what));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadModelTest,
    testing::Values(
        BadModel{"NanWeight", [](auto* m) { m->set_weights(1, kNan); },
                 "weights[1] is nan"},
        BadModel{"InfiniteWeight",
                 [](auto* m) { m->set_weights(2, -kInfinity); },
                 "weights[2] is -inf"},
        BadModel{"TooManyWeights", [](auto* m) { m->add_weights(1); },
                 "weights has 4 entries, must have num_features = 3"},
        BadModel{"TooFewWeights",
                 [](auto* m) { m->mutable_weights()->Clear(); },
                 "weights has 0 entries, must have num_features = 3"},
        BadModel{"NoFeature",
                 [](auto* m) {
                   m->set_num_features(0);
                   m->mutable_weights()->Clear();
                 },
                 "num_features is 0"},
        BadModel{
            "NoPolicy",
            [](auto* m) { m->mutable_policy()->clear_softmax_selection(); },
            "policy.kind is not set"},
        BadModel{"Cold",
                 [](auto* m) {
                   m->mutable_policy()->set_inverse_temperature(1000001);
                 },
                 "policy.inverse_temperature is 1000001"},
        BadModel{
            "WeightsOfOneLabel",
            [](auto* m) {
              m->mutable_policy()->mutable_independent_labels()->set_num_labels(
                  2);
              m->mutable_policy()->set_uniform_mixture(0);
            },
            "weights has 3 entries, must have num_features x num_labels = "
            "6"},
        BadModel{"WeightsOfAChain",
                 [](auto* m) {
                   m->mutable_policy()->mutable_label_chain()->set_num_labels(
                       2);
                   m->mutable_policy()->set_uniform_mixture(0);
                 },
                 "weights has 3 entries, must have num_features x num_labels = "
                 "6"},
        BadModel{"Name", [](auto* m) { m->set_name("../ads"); },
                 "model name is '../ads'"}),
    [](const auto& test) { return test.param.name; });

TEST(ModelNameTest, IsSafeAsADirectory) {
  EXPECT_OK(ValidateModelName("a"));
  EXPECT_OK(ValidateModelName("Answers_2-v1.0"));
  EXPECT_OK(ValidateModelName(std::string(64, 'm')));
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".tmp-a"),
        std::string("a/b"), std::string("a b"), std::string("é"),
        std::string(65, 'm')}) {
    EXPECT_THAT(ValidateModelName(name),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace sortition
