// A model store on a file system that can do less, and files in it that no
// publisher wrote.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/io/models/selection_model.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

// True: only rename(2) is there, as on NFS.
static bool has_no_renameat2 = false;

extern "C" int renameat2(int from_dir, const char* from, int to_dir,
                         const char* to, unsigned flags) {
  if (!has_no_renameat2) {
    return static_cast<int>(
        syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
  }
  errno = EINVAL;
  return -1;
}

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class StoreFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    has_no_renameat2 = true;
    const model::v1::Model model = SelectionModel();
    ASSERT_OK(store_.Publish(model, nullptr, {}));
    ASSERT_OK(store_.Publish(model, nullptr, {}));
    ASSERT_OK(store_.Load("ads", 1));
  }

  void TearDown() override { has_no_renameat2 = false; }

  std::string PathOf(const std::string& file) const {
    return absl::StrCat(store_.root(), "/ads/1/", file);
  }

  void ExpectRefused(const std::string& reason) const {
    EXPECT_THAT(store_.Load("ads", 1),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(reason)));
  }

  const TempDir dir_;
  const ModelStore store_{dir_ / "models"};
};

TEST_F(StoreFilesTest, PublishingNeedsNoMoreThanRename) {
  ASSERT_OK_AND_ASSIGN(const auto versions, store_.ListVersions("ads"));
  EXPECT_THAT(versions, ElementsAre(1, 2));
}

TEST_F(StoreFilesTest, ManifestCannotNameAFileElsewhere) {
  const std::string manifest = PathOf("MANIFEST.textproto");
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(manifest));
  for (const std::string name :
       {"../2/model.pb", "..", ".", "", "/etc/hosts"}) {
    ASSERT_OK(
        WriteFile(manifest, absl::StrReplaceAll(text, {{"model.pb", name}})));
    ExpectRefused(absl::StrCat("MANIFEST.textproto lists \"", name,
                               "\", must be the name of a file"));
  }
}

TEST_F(StoreFilesTest, WhatIsNoRegularFileIsNotRead) {
  for (const std::string file : {"model.pb", "MANIFEST.textproto"}) {
    const std::string good = PathOf("good");
    fs::rename(PathOf(file), good);
    fs::create_symlink("/dev/zero", PathOf(file));
    ExpectRefused(absl::StrCat("1/", file, " is not a regular file"));
    fs::remove(PathOf(file));
    ASSERT_EQ(::mkfifo(PathOf(file).c_str(), 0600), 0);
    ExpectRefused(absl::StrCat("1/", file, " is not a regular file"));
    fs::remove(PathOf(file));
    // Stores on mounted volumes consist of such links.
    fs::create_symlink(good, PathOf(file));
    EXPECT_OK(store_.Load("ads", 1));
    fs::remove(PathOf(file));
    fs::rename(good, PathOf(file));
  }
}

TEST_F(StoreFilesTest, WhatIsTooLargeIsNotRead) {
  // Sparse: they take no room on the disk.
  const auto size = fs::file_size(PathOf("model.pb"));
  fs::resize_file(PathOf("model.pb"), uint64_t{1} << 40);
  ExpectRefused(
      absl::StrCat("model.pb has 1099511627776 bytes, must have at "
                   "most ",
                   size));
  fs::resize_file(PathOf("MANIFEST.textproto"), uint64_t{1} << 40);
  ExpectRefused(
      "MANIFEST.textproto has 1099511627776 bytes, must have at most 1048576");
}

}  // namespace
}  // namespace sortition
