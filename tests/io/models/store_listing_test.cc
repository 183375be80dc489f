// Which entries of a store are models and versions, and what is said of those
// that are neither.
#include "io/models/store_listing.h"

#include <filesystem>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class StoreListingTest : public testing::Test {
 protected:
  std::string folder() const { return dir_.Sub("ads"); }

  void MakeFolder(const std::string& name) const {
    fs::create_directories(folder() + "/" + name);
  }
  void MakeFile(const std::string& name) const {
    ASSERT_OK(WriteFile(folder() + "/" + name, "text"));
  }
  void MakeLink(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, folder() + "/" + name);
  }

  // Returns what is said of ignored entries, by name.
  static std::map<std::string, std::string> Reasons(
      const std::vector<IgnoredEntry>& ignored) {
    std::map<std::string, std::string> reasons;
    for (const IgnoredEntry& entry : ignored) {
      EXPECT_TRUE(reasons.emplace(entry.name, entry.reason).second);
    }
    return reasons;
  }
  std::map<std::string, std::string> Ignored() const {
    const auto listing = ListModelFolder(folder());
    EXPECT_OK(listing);
    return listing.ok() ? Reasons(listing->ignored)
                        : std::map<std::string, std::string>();
  }

  const TempDir dir_;
};

TEST_F(StoreListingTest, FoldersThatAreNotVersionsAreExplained) {
  for (const char* name :
       {"1", "12", "18446744073709551615", "0000003", "0012", "v4", "Version-5",
        "0", "0.1", "-3", "4x", "latest", "99999999999999999999", "v0"}) {
    MakeFolder(name);
  }
  ASSERT_OK_AND_ASSIGN(const VersionListing listing, ListModelFolder(folder()));
  EXPECT_THAT(listing.versions, ElementsAre(1u, 12u, 18446744073709551615u));
  const std::string zeros =
      "version folders are integers from 1 on without leading zeros";
  const std::string integers = "version folders are integers from 1 on, such";
  const std::string rename = "rename it to a number that is not taken";
  EXPECT_THAT(
      Reasons(listing.ignored),
      testing::UnorderedElementsAre(
          Pair("0000003", zeros + "; rename it to 3"),
          Pair("0012", AllOf(HasSubstr(zeros + ", and there is a folder 12"),
                             HasSubstr("rename this one to a number"))),
          Pair("v4", AllOf(HasSubstr(integers), HasSubstr("rename it to 4"))),
          Pair("Version-5", HasSubstr("rename it to 5")),
          Pair("0", AllOf(HasSubstr(zeros), HasSubstr(rename))),
          Pair("0.1", AllOf(HasSubstr(integers), HasSubstr(rename))),
          Pair("-3", AllOf(HasSubstr(integers), HasSubstr(rename))),
          Pair("4x", HasSubstr(rename)), Pair("latest", HasSubstr(rename)),
          Pair("99999999999999999999",
               AllOf(HasSubstr("up to 18446744073709551615"),
                     HasSubstr(rename))),
          Pair("v0", HasSubstr(rename))));
}

// What publishers, removals and copies leave for a moment, and the files of a
// model that are no version.
TEST_F(StoreListingTest, WhatBelongsThereOrIsBeingWrittenIsNotReported) {
  for (const char* name :
       {".tmp-abcdef", ".removed-3", ".numbers", ".serving", ".runs", "7.tmp",
        "7.part", "7.partial", "7~", "tmp-7", "temp-1234"}) {
    MakeFolder(name);
  }
  for (const char* name :
       {"SERVING.textproto", "ROLLOUT.textproto", "ROLLOUT_LEDGER",
        "looks.jsonl", "README.md", ".rollout.lock"}) {
    MakeFile(name);
  }
  EXPECT_THAT(Ignored(), IsEmpty());
}

TEST_F(StoreListingTest, FilesInThePlaceOfVersionsAreReported) {
  for (const char* name : {"9", "model.pb", "MANIFEST.textproto"}) {
    MakeFile(name);
  }
  const auto ignored = Ignored();
  ASSERT_EQ(ignored.size(), 3u);
  EXPECT_THAT(ignored.at("9"), HasSubstr("is a file; a version is a folder"));
  for (const char* name : {"model.pb", "MANIFEST.textproto"}) {
    EXPECT_THAT(ignored.at(name), HasSubstr("STORE/MODEL/VERSION"));
  }
}

TEST_F(StoreListingTest, LinksToFoldersAreVersionsAndBrokenOnesAreReported) {
  MakeFolder("1");
  MakeLink("1", "2");  // As on mounted volumes.
  MakeLink("1", "current");
  MakeLink("nothing", "3");
  MakeLink("nothing", "v4");
  MakeLink("nothing", "..data");
  ASSERT_OK_AND_ASSIGN(const VersionListing listing, ListModelFolder(folder()));
  EXPECT_THAT(listing.versions, ElementsAre(1u, 2u));
  const auto ignored = Reasons(listing.ignored);
  ASSERT_EQ(ignored.size(), 3u);
  EXPECT_THAT(ignored.at("current"), HasSubstr("'sortition models pin"));
  EXPECT_THAT(ignored.at("3"), HasSubstr("is a link to nothing"));
  EXPECT_THAT(ignored.at("v4"), HasSubstr("is a link to nothing"));
}

TEST_F(StoreListingTest, FoldersThatAreNotModelsAreExplained) {
  for (const char* name :
       {"my model", "lost+found", ".hidden", "temperature", "x.tmp", "7"}) {
    MakeFolder(name);
  }
  MakeFile("README.md");
  MakeFile("model.pb");
  MakeLink("nothing", "clicks");
  ASSERT_OK_AND_ASSIGN(const ModelListing listing, ListStore(folder()));
  EXPECT_THAT(listing.models, ElementsAre("7", "temperature", "x.tmp"));
  const auto ignored = Reasons(listing.ignored);
  ASSERT_EQ(ignored.size(), 3u);
  EXPECT_THAT(
      ignored.at("my model"),
      AllOf(HasSubstr("must be 1 to 64 letters"), HasSubstr("; rename it")));
  EXPECT_THAT(ignored.at("model.pb"), HasSubstr("but is in that of a store"));
  EXPECT_THAT(ignored.at("clicks"), HasSubstr("is a link to nothing"));
}

TEST_F(StoreListingTest, AFolderThatIsNotThereIsAnError) {
  const std::string path = dir_ / "none";
  EXPECT_THAT(ListModelFolder(path), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(ListStore(path), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace sortition
