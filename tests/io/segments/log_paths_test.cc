#include "io/segments/log_paths.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/reward_join.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LogPathsTest : public testing::Test {
 protected:
  LogPathsTest() {
    for (const char* name : {"a/2-x.seg", "a/4-x.seg", "a/late/1-l.seg",
                             "a/sidecar.lock", "a/memory/1.ids", "b/1-y.seg",
                             "b/3-y.seg", "b/late/0-l.seg", "b/5-y.seg.tmp"}) {
      const std::filesystem::path path = dir_ / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << "x";
    }
  }

  static std::vector<std::string> Find(
      const std::vector<std::string>& entries) {
    const auto found = FindSegments(entries);
    EXPECT_OK(found);
    return found.value_or(std::vector<std::string>());
  }
  static std::vector<std::string> FindWithLate(
      const std::vector<std::string>& entries) {
    const auto found = FindSegmentsWithLate(entries);
    EXPECT_OK(found);
    return found.value_or(std::vector<std::string>());
  }

  std::string At(const std::string& name) const { return dir_ / name; }

  const TempDir dir_;
};

TEST_F(LogPathsTest, DirectoriesAreReadTogetherInTheOrderOfNames) {
  EXPECT_THAT(Find({At("a"), At("b")}),
              ElementsAre(At("b/1-y.seg"), At("a/2-x.seg"), At("b/3-y.seg"),
                          At("a/4-x.seg")));
  EXPECT_THAT(
      FindWithLate({At("a"), At("b")}),
      ElementsAre(At("b/1-y.seg"), At("a/2-x.seg"), At("b/3-y.seg"),
                  At("a/4-x.seg"), At("b/late/0-l.seg"), At("a/late/1-l.seg")));
}

TEST_F(LogPathsTest, PatternsMatchDirectoriesAndSegmentsButNothingElse) {
  EXPECT_THAT(Find({At("[ab]")}), testing::SizeIs(4));
  EXPECT_THAT(Find({At("?/*x*")}),
              ElementsAre(At("a/2-x.seg"), At("a/4-x.seg")));
  EXPECT_THAT(Find({At("b/*.seg*")}),
              ElementsAre(At("b/1-y.seg"), At("b/3-y.seg")));
  EXPECT_THAT(Find({At("a/mem*")}), IsEmpty());
  for (const char* nothing : {"c*", "a/sidecar*", "c"}) {
    EXPECT_THAT(FindSegments({At("a"), At(nothing)}), IsNotFound(nothing));
  }
}

TEST_F(LogPathsTest, AFileThatIsNamedTwiceIsReadOnce) {
  std::filesystem::create_directory_symlink(At("a"), At("again"));
  EXPECT_THAT(
      Find({At("a/2-x.seg"), At("a"), At("a/"), At("again"), At("a/*.seg")}),
      ElementsAre(At("a/2-x.seg"), At("a/4-x.seg")));
  EXPECT_THAT(FindWithLate({At("a"), At("a/late")}), testing::SizeIs(3));
}

TEST_F(LogPathsTest, AnExistingNameIsNeitherPatternNorList) {
  std::filesystem::create_directory(At("p*"));
  std::filesystem::create_directory(At("pq"));
  std::ofstream(At("p*/1.seg")) << "x";
  std::ofstream(At("pq/2.seg")) << "x";
  EXPECT_THAT(Find({At("p*")}), ElementsAre(At("p*/1.seg")));
  EXPECT_THAT(SplitLogEntries("x,y"), ElementsAre("x", "y"));
  std::ofstream(At("x,y")) << "x";
  EXPECT_THAT(SplitLogEntries(At("x,y")), ElementsAre(At("x,y")));
}

// A list means the same in one argument, in several, and in a mixture of both.
TEST_F(LogPathsTest, AListMayBeOneEntryOrSeveral) {
  const auto both = Find({At("a"), At("b")});
  EXPECT_THAT(both, testing::SizeIs(4));
  EXPECT_EQ(Find({At("a") + "," + At("b")}), both);
  EXPECT_EQ(Find({At("a/2*") + "," + At("b"), At("a")}), both);
  EXPECT_EQ(FindWithLate({At("a") + "," + At("b")}),
            FindWithLate({At("a"), At("b")}));
  EXPECT_THAT(FindSegments({At("a") + "," + At("z*")}),
              IsNotFound("'" + At("z*") + "' does not exist"));
  EXPECT_THAT(FindSegments({","}), IsNotFound("','"));
}

TEST_F(LogPathsTest, WhatCannotBeLookedAtIsNotCalledMissing) {
  // As root may look everywhere, a name that no file system takes.
  const std::string name = At(std::string(300, 'n'));
  const auto found = FindSegments({name});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(found.status().message()),
              testing::AllOf(HasSubstr("'" + name + "' must be readable"),
                             HasSubstr("File name too long")));
}

TEST_F(LogPathsTest, EntriesExpandToNamesInTheirOrder) {
  const auto expanded = ExpandLogEntries({At("b") + "," + At("a/*-x.seg")});
  ASSERT_OK(expanded);
  EXPECT_THAT(*expanded,
              ElementsAre(At("b"), At("a/2-x.seg"), At("a/4-x.seg")));
}

class RewardJoinTest : public testing::Test {
 protected:
  RewardJoinTest() {
    options_.add_spool("s");
    options_.set_tuples("t");
  }

  std::string Text() const {
    log::v1::SegmentHeader header;
    header.set_kind(log::v1::SegmentHeader::TUPLES);
    header.set_options(options_.ShortDebugString());
    return RewardJoinText(header);
  }

  config::v1::SidecarOptions options_;
};

TEST_F(RewardJoinTest, SaysWhatChangesTheMeaningOfARewardAndNothingElse) {
  EXPECT_EQ(Text(), "SUM of 600 s, default 0");
  options_.set_segment_bytes(1 << 20);
  options_.mutable_join()->set_slack_seconds(2);
  options_.mutable_join()->set_max_held(5);
  EXPECT_EQ(Text(), "SUM of 600 s, default 0");
  config::v1::JoinOptions& join = *options_.mutable_join();
  join.set_aggregation(config::v1::JoinOptions::MEAN);
  join.set_reward_wait_time_seconds(0.5);
  join.set_default_reward(-1);
  join.set_only_if_shown(true);
  join.set_reward_max(1);
  EXPECT_EQ(Text(),
            "MEAN of 0.5 s, default -1, only if shown, rewards in [-1e+300, "
            "1]");
}

TEST_F(RewardJoinTest, KnowsSegmentsThatNoSidecarJoinedAndNewerOptions) {
  log::v1::SegmentHeader header;
  header.set_kind(log::v1::SegmentHeader::TUPLES);
  for (const char* options : {"", "data: \"x\" replays: 4", "not { proto"}) {
    header.set_options(options);
    EXPECT_EQ(RewardJoinText(header), "") << options;
  }
  header.set_options("tuples: \"t\" unheard_of: 3 join { unheard: 1 }");
  EXPECT_EQ(RewardJoinText(header), "SUM of 600 s, default 0");
  header.set_kind(log::v1::SegmentHeader::SPOOL);
  EXPECT_EQ(RewardJoinText(header), "");
}

}  // namespace
}  // namespace sortition
