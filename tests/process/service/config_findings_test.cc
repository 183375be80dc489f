#include "process/service/config_findings.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Missing = ConfigFindings::Missing;

class ConfigFindingsTest : public testing::Test {
 protected:
  ConfigFindingsTest() { std::ofstream(file_) << "x"; }

  const TempDir dir_;
  const std::string file_ = dir_ / "file";
  ConfigFindings findings_;
};

TEST_F(ConfigFindingsTest, DirectoriesThatExistOrCanBeMadeAreFine) {
  findings_.CheckDirectory("a", dir_.path(), Missing::kFails);
  findings_.CheckDirectory("b", dir_ / "new", Missing::kMakesLast);
  findings_.CheckDirectory("c", dir_ / "new/", Missing::kMakesLast);
  findings_.CheckDirectory("d", dir_ / "new/and/deep", Missing::kMakesAll);
  findings_.CheckDirectory("e", "relative", Missing::kMakesLast);
  EXPECT_THAT(findings_.lines(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
}

TEST_F(ConfigFindingsTest, OtherDirectoriesAreFoundWithOptionAndPath) {
  findings_.CheckDirectory("a", file_, Missing::kMakesAll);
  findings_.CheckDirectory("b", dir_ / "new", Missing::kFails);
  findings_.CheckDirectory("c", dir_ / "new/deep", Missing::kMakesLast);
  findings_.CheckDirectory("d", file_ + "/x/y", Missing::kMakesAll);
  std::filesystem::create_symlink(dir_ / "nowhere", dir_ / "broken");
  findings_.CheckDirectory("e", dir_ / "broken", Missing::kMakesAll);
  EXPECT_THAT(findings_.lines(),
              ElementsAre(AllOf(HasSubstr("a = \""), HasSubstr(file_)),
                          HasSubstr("b = \""), HasSubstr("c = \""),
                          AllOf(HasSubstr("d = \""), HasSubstr("/x/y")),
                          HasSubstr("e = \"")));
}

TEST_F(ConfigFindingsTest, DirectoriesThatAreOnlyReadMustBeThere) {
  findings_.CheckReadableDirectory("store", "");
  findings_.CheckReadableDirectory("store", dir_.path());
  EXPECT_THAT(findings_.lines(), testing::IsEmpty());
  findings_.CheckReadableDirectory("store", dir_.path() + "/none");
  findings_.CheckReadableDirectory("store", file_);
  EXPECT_THAT(
      findings_.lines(),
      testing::ElementsAre(
          "store = \"" + dir_.path() +
              "/none\": must be a directory that can be read",
          "store = \"" + file_ + "\": must be a directory that can be read"));
}

TEST_F(ConfigFindingsTest, Files) {
  findings_.CheckFile("a", "");
  findings_.CheckFile("b", file_);
  findings_.CheckNewFile("c", "");
  findings_.CheckNewFile("d", dir_ / "new");
  findings_.CheckNewFile("e", file_);
  EXPECT_THAT(findings_.lines(), IsEmpty());
  findings_.CheckFile("f", dir_ / "new");
  findings_.CheckFile("g", dir_.path());
  findings_.CheckNewFile("h", dir_.path());
  findings_.CheckNewFile("i", dir_ / "new/file");
  EXPECT_THAT(findings_.lines(),
              ElementsAre(HasSubstr("f = "), HasSubstr("g = "),
                          HasSubstr("h = "), HasSubstr("i = ")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
}

TEST_F(ConfigFindingsTest, Addresses) {
  for (const char* address : {"", "127.0.0.1:0", "[::]:65535", "host:1"}) {
    findings_.CheckAddress("listen", address);
  }
  EXPECT_THAT(findings_.lines(), IsEmpty());
  for (const char* address :
       {"8500", ":8500", "host:", "host:65536", "host:-1", "host:x", "[::]"}) {
    ConfigFindings findings;
    findings.CheckAddress("listen", address);
    EXPECT_THAT(findings.lines(),
                ElementsAre(AllOf(HasSubstr("listen"), HasSubstr(address),
                                  HasSubstr("[0, 65535]"))))
        << address;
  }
}

TEST_F(ConfigFindingsTest, StatusesThatAreFineAddNothing) {
  findings_.Add(absl::OkStatus());
  findings_.Add(absl::InvalidArgumentError("x = 1: must be 2"));
  EXPECT_THAT(findings_.lines(), ElementsAre("x = 1: must be 2"));
}

}  // namespace
}  // namespace sortition
