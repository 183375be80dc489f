#include "server/model_registry.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class ModelRegistryTest : public testing::Test {
 protected:
  ModelRegistryTest() {
    options_.set_model_store(directory_ / "models");
    options_.set_default_model("m");
    registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  }

  const std::string& root() const { return options_.model_store(); }
  std::string VersionPath(uint64_t version) const {
    return absl::StrCat(root(), "/m/", version);
  }

  // Version that serves "m".
  uint64_t Serving() const {
    const auto model = registry_->Find("m");
    EXPECT_OK(model);
    return model.ok() ? (*model)->version : 0;
  }

  double Failures(const std::string& reason) {
    return metrics_
        .Counter("sortition_model_load_failures_total", "",
                 {{"model", "m"}, {"reason", reason}})
        ->value();
  }

  v1::ModelStatus Status() const {
    for (const v1::ModelStatus& status : registry_->List()) {
      if (status.name() == "m") return status;
    }
    return {};
  }

  // Publishes a good version, spoils it, and moves it into the store as the
  // next version, so that nobody ever sees it whole.
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

  // Replaces model.pb by `model` with a manifest that fits it.
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

  TemporaryDirectory directory_;
  config::v1::ServerOptions options_;
  Metrics metrics_;
  std::unique_ptr<ModelRegistry> registry_;
};

TEST_F(ModelRegistryTest, ServesUniformlyBeforeTheFirstVersion) {
  ASSERT_OK(registry_->Start());  // Makes the missing directory, too.
  EXPECT_TRUE(std::filesystem::is_directory(root()));
  ASSERT_OK_AND_ASSIGN(const auto model, registry_->Find(""));
  EXPECT_EQ(model->name, "m");
  EXPECT_EQ(model->version, 0u);
  EXPECT_EQ(model->degraded, "no model loaded: uniform policy");
  EXPECT_TRUE(model->select.has_value());
  EXPECT_TRUE(model->rank.has_value());
  EXPECT_EQ(Status().policy(), "uniform");
}

TEST_F(ModelRegistryTest, StartFailsWhereTheStoreCannotBe) {
  config::v1::ServerOptions options = options_;
  options.set_model_store(directory_ / "no/such/parent");
  EXPECT_THAT(
      ModelRegistry(options, &metrics_).Start(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("model_store = \"")));
  options = options_;
  options.set_default_model("../etc");
  EXPECT_THAT(ModelRegistry(options, &metrics_).Start(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("default_model = \"../etc\"")));
}

TEST_F(ModelRegistryTest, TakesTheNewestVersionAndEveryDirectory) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  Publish(root(), MakeSelectModel("m", {3, 4}));
  Publish(root(), MakeRankModel("other", {1, 2, 3}));
  std::filesystem::create_directory(root() + "/lost+found");
  ASSERT_OK(registry_->Start());
  EXPECT_EQ(Serving(), 2u);
  ASSERT_OK_AND_ASSIGN(const auto other, registry_->Find("other"));
  EXPECT_EQ(other->num_features, 3u);
  EXPECT_FALSE(other->select.has_value());
  EXPECT_THAT(registry_->List(), SizeIs(2));
  EXPECT_EQ(Status().policy(), "softmax_selection");
  EXPECT_EQ(Status().num_features(), 2u);
  EXPECT_THAT(Status().checksum(), SizeIs(32));
  EXPECT_GT(Status().loaded_time_us(), 0);
  EXPECT_THAT(registry_->Find("nobody"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("\"nobody\""), HasSubstr("m, other"))));
}

TEST_F(ModelRegistryTest, SwapsWhileTheOldVersionIsInUse) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  ASSERT_OK_AND_ASSIGN(const auto old, registry_->Find("m"));
  Publish(root(), MakeSelectModel("m", {3, 4}));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  // A request that holds the old one still can use it.
  EXPECT_EQ(old->version, 1u);
  EXPECT_EQ(old->select->num_features(), 2u);
}

TEST_F(ModelRegistryTest, RemovalFromDiskDoesNotUnload) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  Publish(root(), MakeSelectModel("m", {1, 2}));
  registry_->Refresh();
  std::filesystem::remove_all(VersionPath(2));
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
  std::filesystem::remove_all(root());
  registry_->Refresh();
  EXPECT_EQ(Serving(), 2u);
}

struct Broken {
  std::string name;
  std::function<void(const std::string& path)> spoil;
  std::string reason;  // Of the metric.
  std::string words;   // In what the operator reads.
};

class BrokenModelTest : public ModelRegistryTest,
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
        {"LabelsWhichAreNotServed", with([](model::v1::Model* model) {
           model->mutable_policy()
               ->mutable_independent_labels()
               ->set_num_labels(2);
           model->mutable_policy()->set_uniform_mixture(0);
           model->add_weights(1);
           model->add_weights(1);
         }),
         "policy", "independent_labels, which cannot be served"},
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
  // At start: the good version below it serves.
  {
    ModelRegistry fresh(options_, &metrics_);
    fresh.Refresh();
    ASSERT_OK_AND_ASSIGN(const auto model, fresh.Find("m"));
    // Without a version that serves, another dimension is no fault.
    EXPECT_EQ(model->version, GetParam().reason == "dimension" ? 2u : 1u);
  }
  const double before = Failures(GetParam().reason);

  std::filesystem::rename(VersionPath(2), directory_ / "aside");
  registry_->Refresh();
  ASSERT_EQ(Serving(), 1u);
  std::filesystem::rename(directory_ / "aside", VersionPath(2));
  testing::internal::CaptureStderr();
  registry_->Refresh();
  registry_->Refresh();  // Remembered: not read, counted or logged again.
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Serving(), 1u);
  EXPECT_EQ(Failures(GetParam().reason), before + 1);
  ASSERT_EQ(Status().rejected_size(), 1);
  EXPECT_EQ(Status().rejected(0).version(), 2u);
  EXPECT_THAT(Status().rejected(0).reason(),
              AllOf(HasSubstr(GetParam().reason), HasSubstr(GetParam().words)));
  EXPECT_THAT(logged, AllOf(HasSubstr("model version refused"),
                            HasSubstr("\"version\":\"2\""),
                            HasSubstr(GetParam().words)));
  EXPECT_EQ(std::count(logged.begin(), logged.end(), '\n'), 1);

  // The next good version goes past it.
  EXPECT_EQ(Publish(root(), MakeSelectModel("m", {1, 2})), 3u);
  registry_->Refresh();
  EXPECT_EQ(Serving(), 3u);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenModelTest,
                         testing::ValuesIn(BrokenModelTest::All()),
                         [](const auto& test) { return test.param.name; });

TEST_F(ModelRegistryTest, RejectedVersionIsTriedAgainWhenItsFilesChange) {
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
  EXPECT_THAT(Status().rejected(), IsEmpty());
}

TEST_F(ModelRegistryTest, RejectionIsForgottenWithItsFiles) {
  const uint64_t version = PublishSpoilt(
      [](const std::string& path) { Write(path + "/model.pb", "bad"); });
  registry_->Refresh();
  EXPECT_EQ(Status().rejected_size(), 1);
  std::filesystem::remove_all(VersionPath(version));
  registry_->Refresh();
  EXPECT_EQ(Status().rejected_size(), 0);
}

TEST_F(ModelRegistryTest, WarmUpQueriesAreAnsweredAndBadOnesReject) {
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
  EXPECT_THAT(Status().rejected(0).reason(),
              HasSubstr("warm-up query 0: num_features is 4, must be 2"));
}

TEST_F(ModelRegistryTest, SaysItInMetrics) {
  Publish(root(), MakeSelectModel("m", {1, 2}));
  ASSERT_OK(registry_->Start());
  EXPECT_THAT(metrics_.Text(),
              AllOf(HasSubstr("sortition_model_version{model=\"m\"} 1\n"),
                    HasSubstr("sortition_model_loads_total{model=\"m\"} 1\n"),
                    HasSubstr("sortition_model_age_seconds{model=\"m\"} ")));
}

// True once `condition` holds; false after half a minute.
bool Eventually(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

TEST_F(ModelRegistryTest, SeesNewVersionsByInotify) {
  options_.set_poll_seconds(3600);  // Polling would come too late.
  registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  ASSERT_OK(registry_->Start());
  Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 1; }));
  Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 2; }));
}

TEST_F(ModelRegistryTest, ReadersAlwaysFindAWholeModelDuringSwaps) {
  options_.set_poll_seconds(0.01);
  registry_ = std::make_unique<ModelRegistry>(options_, &metrics_);
  Publish(root(), MakeSelectModel("m", {1, 2}));
  ASSERT_OK(registry_->Start());
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (!stop) {
        const auto model = registry_->Find("m");
        // Versions only go up, and each has its policy.
        if (!model.ok() || (*model)->version < last || !(*model)->select) {
          ++failures;
        } else {
          last = (*model)->version;
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) Publish(root(), MakeSelectModel("m", {1, 2}));
  EXPECT_TRUE(Eventually([&] { return Serving() == 21; }));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace sortition
