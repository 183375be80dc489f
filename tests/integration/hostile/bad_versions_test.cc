// Versions in the model store that no publisher wrote, and a file system that
// can do less than others.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/rpc/client.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BadVersionsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
    ASSERT_OK(deployment_.StartServer());
    auto client = Client::Connect(deployment_.address(), {.max_attempts = 1});
    ASSERT_OK(client.status());
    client_ = *std::move(client);
  }

  std::string VersionPath(uint64_t version) const {
    return absl::StrCat(deployment_.models(), "/default/", version);
  }

  // Makes a copy of version 1 elsewhere, spoils it, and moves it into the
  // store.
  void Add(uint64_t version,
           const std::function<void(const std::string& path)>& spoil) const {
    const std::string aside = deployment_.path("aside");
    fs::copy(VersionPath(1), aside);
    const std::string manifest = aside + "/MANIFEST.textproto";
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(manifest));
    ASSERT_OK(WriteFile(
        manifest,
        absl::StrReplaceAll(
            text, {{"version: 1\n", absl::StrCat("version: ", version, "\n")},
                   {"format_version: 1\n", "format_version: 1\n"}})));
    spoil(aside);
    fs::rename(aside, VersionPath(version));
  }

  v1::ModelStatus Status() const {
    const auto models = client_->ListModels();
    EXPECT_OK(models.status());
    for (const v1::ModelStatus& model : models->models()) {
      if (model.name() == "default") return model;
    }
    return {};
  }

  std::string ReasonOf(uint64_t version) const {
    std::string reason;
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const v1::ModelStatus status = Status();
      for (const v1::RejectedVersion& rejected : status.rejected()) {
        if (rejected.version() == version) reason = rejected.reason();
      }
      return !reason.empty();
    }));
    return reason;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
};

TEST_F(BadVersionsTest, AreRefusedWithoutBeingRead) {
  const uint64_t before = ResidentBytes(deployment_.server().pid());
  SelectLoad load({.address = deployment_.address()});
  Add(2, [](const std::string& path) {
    fs::remove(path + "/model.pb");
    fs::create_symlink("/dev/zero", path + "/model.pb");
  });
  EXPECT_THAT(ReasonOf(2), HasSubstr("2/model.pb is not a regular file"));
  Add(3, [](const std::string& path) {
    fs::remove(path + "/model.pb");
    ASSERT_EQ(::mkfifo((path + "/model.pb").c_str(), 0600), 0);
  });
  EXPECT_THAT(ReasonOf(3), HasSubstr("3/model.pb is not a regular file"));
  Add(4, [](const std::string& path) {
    const std::string manifest = path + "/MANIFEST.textproto";
    ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(manifest));
    ASSERT_OK(WriteFile(
        manifest, absl::StrReplaceAll(text, {{"model.pb", "../1/model.pb"}})));
  });
  EXPECT_THAT(ReasonOf(4),
              AllOf(HasSubstr("../1/model.pb"), HasSubstr("name of a file")));
  Add(5, [](const std::string& path) {
    fs::remove(path + "/MANIFEST.textproto");
    fs::create_symlink("/dev/zero", path + "/MANIFEST.textproto");
  });
  EXPECT_THAT(ReasonOf(5), HasSubstr("is not a regular file"));
  const uint64_t answered = load.num_answered();
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] { return load.num_answered() > answered; }));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  EXPECT_EQ(Status().version(), 1u);
  const uint64_t grown = PeakBytes(deployment_.server().pid()) - before;
  std::cout << "four versions from elsewhere: " << grown / (1 << 20)
            << " MiB more memory\n";
  EXPECT_LT(grown, uint64_t{128} << 20);
  // The good one that comes next serves.
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.2), nullptr, {}));
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return Status().version() == 6; }));
}

// As on NFS, where renameat2(RENAME_NOREPLACE) is invalid.
TEST_F(BadVersionsTest, PublishingNeedsNoMoreThanRename) {
  ASSERT_EQ(::setenv("LD_PRELOAD", SORTITION_OLD_FILE_SYSTEM_LIBRARY, 1), 0);
  // A library before its own is no error to the sanitizer.
  ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
  const auto run = RunToEnd({BinaryPath("sortition-trainer"), "publish",
                             "--model_store=" + deployment_.models(),
                             "--from_version=1", "--reason=a test"});
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("ASAN_OPTIONS");
  ASSERT_OK(run);
  ASSERT_EQ(run->exit_code, 0) << run->stderr_text;
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return Status().version() == 2; }));
}

}  // namespace
}  // namespace sortition
