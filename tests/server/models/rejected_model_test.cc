// Versions that must be rejected: broken files, wrong models, bad warm-up
// queries.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/server/models/model_registry_fixture.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class RejectedModelTest : public ModelRegistryTest {
 protected:
  // Publishes a good version elsewhere, spoils it, and moves it into the store
  // as the next version, so that nobody ever sees it intact.
  uint64_t PublishSpoilt(
      const std::function<void(const std::string& path)>& spoil) {
    const std::string aside = directory_ / "aside";
    const uint64_t version = NextVersion();
    for (uint64_t i = 1; i < version; ++i) {
      std::filesystem::create_directories(absl::StrCat(aside, "/m/", i));
    }
    EXPECT_EQ(Publish(aside, MakeSelectModel("m", {1, 2})), version);
    const std::string path = absl::StrCat(aside, "/m/", version);
    spoil(path);
    std::filesystem::create_directories(root() + "/m");
    std::filesystem::rename(path, VersionPath(version));
    std::filesystem::remove_all(aside);
    return version;
  }

  uint64_t NextVersion() const {
    const auto versions = ModelStore(root()).ListVersions("m");
    EXPECT_OK(versions);
    return versions->empty() ? 1 : versions->back() + 1;
  }

  // Replaces model.pb by `model` and updates the manifest.
  static void Replace(const std::string& path, const model::v1::Model& model) {
    const std::string bytes = model.SerializeAsString();
    Write(path + "/model.pb", bytes);
    model::v1::Manifest manifest;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        Read(path + "/MANIFEST.textproto"), &manifest));
    for (model::v1::Manifest::File& file : *manifest.mutable_files()) {
      if (file.name() != "model.pb") continue;
      const Hash128 hash = HashBytes(bytes);
      file.set_bytes(bytes.size());
      file.set_xxh3_128(absl::StrCat(absl::Hex(hash.high, absl::kZeroPad16),
                                     absl::Hex(hash.low, absl::kZeroPad16)));
    }
    std::string text;
    google::protobuf::TextFormat::PrintToString(manifest, &text);
    Write(path + "/MANIFEST.textproto", text);
  }
};

struct Broken {
  std::string name;
  std::function<void(const std::string& path)> spoil;
  std::string reason;  // Label of the metric.
  std::string words;   // Part of the message for the operator.
};

class BrokenModelTest : public RejectedModelTest,
                        public testing::WithParamInterface<Broken> {
 public:
  static std::vector<Broken> All() {
    const auto with = [](std::function<void(model::v1::Model*)> change) {
      return [=](const std::string& path) {
        model::v1::Model model;
        ASSERT_TRUE(model.ParseFromString(Read(path + "/model.pb")));
        change(&model);
        Replace(path, model);
      };
    };
    return {
        {"TruncatedFile",
         [](const std::string& path) {
           const std::string file = path + "/model.pb";
           std::filesystem::resize_file(file,
                                        std::filesystem::file_size(file) - 1);
         },
         "corrupt", "bytes"},
        {"WrongChecksum",
         [](const std::string& path) {
           std::string bytes = Read(path + "/model.pb");
           bytes.back() ^= 1;
           Write(path + "/model.pb", bytes);
         },
         "corrupt", "checksum"},
        {"NanWeight", with([](model::v1::Model* model) {
           model->set_weights(1, std::numeric_limits<double>::quiet_NaN());
         }),
         "invalid", "weights[1] is nan"},
        {"FewerWeightsThanFeatures",
         with([](model::v1::Model* model) { model->set_num_features(3); }),
         "invalid", "weights has 2 entries, must have num_features = 3"},
        {"OtherDimensionThanServed", with([](model::v1::Model* model) {
           model->set_num_features(3);
           model->add_weights(1);
         }),
         "dimension", "num_features is 3, must be 2"},
        {"OtherActionThanServed", with([](model::v1::Model* model) {
           model->mutable_policy()->mutable_plackett_luce();
         }),
         "action_kind", "policy is plackett_luce, must answer the calls"},
        {"LabelsWhichAreNotServed", with([](model::v1::Model* model) {
           model->mutable_policy()
               ->mutable_independent_labels()
               ->set_num_labels(2);
           model->mutable_policy()->set_uniform_mixture(0);
           model->add_weights(1);
           model->add_weights(1);
         }),
         "policy", "independent_labels, which cannot be served"},
        {"ChainWhichIsNotServed", with([](model::v1::Model* model) {
           model->mutable_policy()->mutable_label_chain()->set_num_labels(2);
           model->mutable_policy()->set_uniform_mixture(0);
           model->add_weights(1);
           model->add_weights(1);
         }),
         "policy", "label_chain, which cannot be served"},
        {"BoltzmannOfTooLargeAHead", with([](model::v1::Model* model) {
           auto* boltzmann =
               model->mutable_policy()->mutable_boltzmann_ranking();
           boltzmann->set_rank_weights(model::v1::BoltzmannRanking::DCG);
           boltzmann->set_head(17);
         }),
         "invalid", "policy.boltzmann_ranking.head is 17, must be in [1, 16]"},
        {"NoPolicy",
         with([](model::v1::Model* model) { model->clear_policy(); }),
         "invalid", "policy"},
        {"NoManifest",
         [](const std::string& path) {
           std::filesystem::remove(path + "/MANIFEST.textproto");
         },
         "missing_file", "MANIFEST.textproto"},
    };
  }
};

TEST_P(BrokenModelTest, NeverServesIsCountedAndNamed) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  const uint64_t version = PublishSpoilt(GetParam().spoil);
  ASSERT_EQ(version, 2u);
  // After a start the good version below it serves.
  {
    ModelRegistry fresh(options_, &metrics_);
    fresh.Refresh();
    ASSERT_OK_AND_ASSIGN(const auto model, fresh.Find("m"));
    // Any action and dimension are right while no version serves.
    const bool is_free =
        GetParam().reason == "dimension" || GetParam().reason == "action_kind";
    EXPECT_EQ(model->primary->version, is_free ? 2u : 1u);
  }
  const double before = Failures(GetParam().reason);

  std::filesystem::rename(VersionPath(2), directory_ / "aside");
  registry_->Refresh();
  ASSERT_EQ(Serving(), 1u);
  std::filesystem::rename(directory_ / "aside", VersionPath(2));
  CaptureLog();
  registry_->Refresh();
  // The rejection is remembered: the version is not read, counted or logged
  // again.
  registry_->Refresh();
  const std::string logged = CapturedLog();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(Failures(GetParam().reason), before + 1);
  EXPECT_THAT(State().rejected,
              ElementsAre(Pair(2u, AllOf(StartsWith(GetParam().reason + ": "),
                                         HasSubstr(GetParam().words)))));
  EXPECT_THAT(logged,
              AllOf(HasSubstr("model version refused"),
                    HasSubstr("\"version\":2,"), HasSubstr(GetParam().words)));
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1);

  // The next good version replaces both.
  EXPECT_EQ(PublishSpoilt([](const std::string&) {}), 3u);
  registry_->Refresh();
  EXPECT_EQ(Serving(), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenModelTest,
                         testing::ValuesIn(BrokenModelTest::All()),
                         [](const auto& test) { return test.param.name; });

TEST_F(RejectedModelTest, RejectedVersionIsTriedAgainWhenItsFilesChange) {
  std::string good;
  const uint64_t version = PublishSpoilt([&](const std::string& path) {
    good = Read(path + "/model.pb");
    Write(path + "/model.pb", "bad");
  });
  registry_->Refresh();
  EXPECT_EQ(Serving(), 0u);
  EXPECT_EQ(Failures("corrupt"), 1);
  Write(VersionPath(version) + "/model.pb", good);
  registry_->Refresh();
  EXPECT_EQ(Serving(), version);
  EXPECT_THAT(State().rejected, IsEmpty());
}

TEST_F(RejectedModelTest, RejectionIsForgottenWithItsFiles) {
  const uint64_t version = PublishSpoilt(
      [](const std::string& path) { Write(path + "/model.pb", "bad"); });
  registry_->Refresh();
  EXPECT_THAT(State().rejected, SizeIs(1));
  std::filesystem::remove_all(VersionPath(version));
  registry_->Refresh();
  EXPECT_THAT(State().rejected, IsEmpty());
}

TEST_F(RejectedModelTest, WarmUpQueriesAreAnsweredAndBadOnesReject) {
  log::v1::Decision query;
  query.set_num_features(2);
  for (const float value : {1.f, 2.f, 3.f, 4.f}) query.add_dense_values(value);
  ASSERT_OK(ModelStore(root()).Publish(MakeSelectModel("m", {1, 2}), nullptr,
                                       {query}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  query.set_num_features(4);
  ASSERT_OK(ModelStore(root()).Publish(MakeSelectModel("m", {1, 2}), nullptr,
                                       {query}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(Failures("warm_up"), 1);
  EXPECT_THAT(State().rejected,
              ElementsAre(Pair(2u, HasSubstr("warm-up query 0: num_features is "
                                             "4, must be 2"))));
}

}  // namespace
}  // namespace sortition
