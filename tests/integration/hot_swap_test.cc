// Models are swapped under load without a failed request, and broken ones never
// serve. With SORTITION_LONG=1 or --long: 200 publishes in 60 s.
#include <grpcpp/client_context.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kHotSwapFeatures = 8;

enum class Defect { kNone, kTruncated, kChecksum, kNanWeight, kDimension };
constexpr std::array kDefects = {Defect::kTruncated, Defect::kChecksum,
                                 Defect::kNanWeight, Defect::kDimension};

// The word that the reason of the refusal must contain.
std::string ReasonOf(Defect defect) {
  switch (defect) {
    case Defect::kTruncated:
      return "bytes";
    case Defect::kChecksum:
      return "checksum";
    case Defect::kNanWeight:
      return "nan";
    default:
      return "num_features";
  }
}

// Puts `version` of "default" into the store by hand, so that the defect is its
// only fault.
absl::Status PlaceModel(const std::string& root, uint64_t version,
                        Defect defect) {
  model::v1::Model model = SelectionModel(kHotSwapFeatures, 1);
  model.set_version(version);
  if (defect == Defect::kNanWeight) {
    model.set_weights(3, std::numeric_limits<double>::quiet_NaN());
  }
  if (defect == Defect::kDimension)
    model.set_num_features(kHotSwapFeatures + 1);
  std::string bytes = model.SerializeAsString();
  const Hash128 hash = HashBytes(bytes);

  model::v1::Manifest manifest;
  manifest.set_format_version(1);
  manifest.set_model("default");
  manifest.set_version(version);
  model::v1::Manifest::File* file = manifest.add_files();
  file->set_name("model.pb");
  file->set_bytes(bytes.size());
  file->set_xxh3_128(absl::StrFormat(
      "%016x%016x", hash.high ^ (defect == Defect::kChecksum ? 1 : 0),
      hash.low));
  if (defect == Defect::kTruncated) bytes.resize(bytes.size() / 2);
  std::string text;
  google::protobuf::TextFormat::PrintToString(manifest, &text);

  const std::string directory = absl::StrCat(root, "/default");
  const std::string temporary = absl::StrCat(directory, "/.placed");
  std::filesystem::create_directories(temporary);
  RETURN_IF_ERROR(WriteFile(temporary + "/model.pb", bytes));
  RETURN_IF_ERROR(WriteFile(temporary + "/MANIFEST.textproto", text));
  std::filesystem::rename(temporary, absl::StrCat(directory, "/", version));
  return absl::OkStatus();
}

v1::ModelStatus StatusOfDefault(v1::Models::Stub* stub) {
  grpc::ClientContext context;
  v1::ListModelsResponse response;
  EXPECT_TRUE(
      stub->ListModels(&context, v1::ListModelsRequest(), &response).ok());
  for (const v1::ModelStatus& status : response.models()) {
    if (status.name() == "default") return status;
  }
  return {};
}

class HotSwapTest : public testing::Test {
 protected:
  void SetUp() override {
    Publish();
    ASSERT_OK(deployment_.StartServer({"--poll_seconds=0.05"}));
    stub_ = v1::Models::NewStub(deployment_.NewChannel());
    ASSERT_TRUE(ServesWithin(1));
  }

  void Publish() {
    const double scale = 0.01 * static_cast<double>(published_.size() + 1);
    ASSERT_OK_AND_ASSIGN(
        const uint64_t version,
        deployment_.store().Publish(SelectionModel(kHotSwapFeatures, scale),
                                    nullptr, {}));
    published_.insert(version);
    newest_ = version;
  }

  void PlaceBroken(Defect defect) {
    ASSERT_OK(PlaceModel(deployment_.models(), ++newest_, defect));
    broken_.push_back({newest_, defect});
  }

  bool ServesWithin(uint64_t version) {
    return PollUntil(kPatienceSeconds, [&] {
      return StatusOfDefault(stub_.get()).version() == version;
    });
  }

  bool BrokenAreRejected() {
    return PollUntil(kPatienceSeconds, [&] {
      return static_cast<size_t>(
                 StatusOfDefault(stub_.get()).rejected_size()) ==
             broken_.size();
    });
  }

  // Each broken version is listed and logged with its reason, and counted.
  void ExpectBrokenAreReported() {
    ASSERT_TRUE(BrokenAreRejected());
    const v1::ModelStatus status = StatusOfDefault(stub_.get());
    for (size_t i = 0; i < broken_.size(); ++i) {
      const v1::RejectedVersion& rejected =
          status.rejected(static_cast<int>(i));
      EXPECT_EQ(rejected.version(), broken_[i].version);
      EXPECT_THAT(rejected.reason(), HasSubstr(ReasonOf(broken_[i].defect)));
      ExpectLogged(deployment_.server(),
                   absl::StrCat("/", rejected.version(), "/"));
    }
    ASSERT_OK_AND_ASSIGN(const std::string metrics,
                         deployment_.ServerMetrics());
    EXPECT_EQ(MetricSum(metrics, "sortition_model_load_failures_total"),
              static_cast<double>(broken_.size()));
  }

  struct Broken {
    uint64_t version;
    Defect defect;
  };
  Deployment deployment_;
  std::unique_ptr<v1::Models::Stub> stub_;
  std::set<uint64_t> published_;
  std::vector<Broken> broken_;  // By ascending version.
  uint64_t newest_ = 0;
};

// Guards the tests below: a model without a defect serves.
TEST_F(HotSwapTest, PlacedModelWithoutDefectServes) {
  ASSERT_OK(PlaceModel(deployment_.models(), 2, Defect::kNone));
  EXPECT_OK(deployment_.store().Load("default", 2));
  EXPECT_TRUE(ServesWithin(2));
}

TEST_F(HotSwapTest, EachDefectKeepsTheLastGoodVersion) {
  for (const Defect defect : kDefects) PlaceBroken(defect);
  ExpectBrokenAreReported();
  EXPECT_EQ(StatusOfDefault(stub_.get()).version(), 1);
  Publish();
  EXPECT_TRUE(ServesWithin(newest_));
}

TEST_F(HotSwapTest, NoRequestFailsWhileVersionsChange) {
  const int publishes = IsLongRun() ? 200 : 40;
  // In the long experiment each version answers for a while.
  const uint64_t min_answers = IsLongRun() ? 1000 : 0;
  SelectLoad load(
      {.address = deployment_.address(), .num_features = kHotSwapFeatures});
  const auto is_seen = [&](uint64_t version) {
    return PollUntil(kPatienceSeconds, [&] { return load.HasSeen(version); });
  };
  ASSERT_TRUE(is_seen(1));
  for (int i = 0; i < publishes; ++i) {
    Publish();
    const uint64_t good = newest_;
    const uint64_t before = load.num_answered();
    if (i % 5 == 4) PlaceBroken(kDefects[(i / 5) % kDefects.size()]);
    ASSERT_TRUE(is_seen(good)) << "version " << good;
    // Versions older than the one that serves are not loaded.
    ASSERT_TRUE(BrokenAreRejected());
    ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return load.num_answered() >= before + min_answers;
    }));
  }
  const uint64_t last_good = *published_.rbegin();
  const uint64_t answered = load.num_answered();
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return load.num_answered() > answered + 100; }));
  load.Stop();

  EXPECT_THAT(load.failures(), IsEmpty());
  // Every good version was seen, and no broken one.
  EXPECT_EQ(load.versions(), published_);
  EXPECT_EQ(StatusOfDefault(stub_.get()).version(), last_good);
  ExpectBrokenAreReported();
}

}  // namespace
}  // namespace sortition
