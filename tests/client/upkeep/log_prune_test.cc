#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/upkeep/upkeep_commands.h"
#include "gmock/gmock.h"
#include "io/clocks.h"
#include "tests/client/upkeep/output_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kHourUs = int64_t{3600} * 1000000;

class LogPruneTest : public OutputFixture {
 protected:
  // Writes segments that began so many hours ago.
  void WriteHoursAgo(
      const std::string& dir, std::vector<int> hours,
      log::v1::SegmentHeader::Kind kind = log::v1::SegmentHeader::TUPLES) {
    for (const int ago : hours) {
      paths_.push_back(Write(root_.Sub(dir), now_us_ - ago * kHourUs,
                             {Tuple("1", 1)}, "", kind));
    }
  }

  absl::Status Prune() {
    out_.str("");
    CommandOutput output{out_, error_};
    return RunLogPrune(options_, {root_ / "a"}, &output);
  }

  // Which of paths_ are left.
  std::vector<size_t> Left() const {
    std::vector<size_t> left;
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (std::filesystem::exists(paths_[i])) left.push_back(i);
    }
    return left;
  }

  const int64_t now_us_ = NowUs();
  std::vector<std::string> paths_;
  config::v1::LogPruneOptions options_;
  std::ostringstream out_;
  std::ostringstream error_;
};

// The second segment began 3 hours ago: since then the first is closed.
TEST_F(LogPruneTest, RemovesWhatWasClosedLongAgo) {
  WriteHoursAgo("a", {5, 3, 1});
  WriteHoursAgo("a/late", {9, 8, 0}, log::v1::SegmentHeader::LATE);
  options_.set_older_than_seconds(2 * 3600);
  options_.set_dry_run(true);
  ASSERT_OK(Prune());
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr(paths_[0]), HasSubstr(paths_[3]),
                    HasSubstr("2 segments, "), HasSubstr("would be removed")));
  EXPECT_EQ(Left().size(), 6u);
  options_.set_dry_run(false);
  ASSERT_OK(Prune());
  EXPECT_THAT(out_.str(), HasSubstr("bytes removed"));
  EXPECT_THAT(Left(), ElementsAre(1, 2, 4, 5));
}

// The second tuple segment was written from 9 to 3 hours ago. Late feedback of
// its tuples can be in all late segments but the first, which was followed when
// it began.
TEST_F(LogPruneTest, KeepsLateFeedbackOfTuplesThatStay) {
  WriteHoursAgo("a", {12, 9, 3, 1});
  WriteHoursAgo("a/late", {10, 9, 8, 7, 0}, log::v1::SegmentHeader::LATE);
  options_.set_older_than_seconds(4 * 3600);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(1, 2, 3, 5, 6, 7, 8));
  // Two hours later they go together.
  options_.set_older_than_seconds(2 * 3600);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(2, 3, 7, 8));
}

TEST_F(LogPruneTest, RemovesTheOldestUntilTheRestFits) {
  WriteHoursAgo("a", {5, 3, 2, 1});
  options_.set_to_bytes(std::filesystem::file_size(paths_[0]) * 2);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(2, 3));
  options_.set_to_bytes(1);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(3));
}

TEST_F(LogPruneTest, RemovesNothingOfASpool) {
  WriteHoursAgo("a", {5, 4});
  WriteHoursAgo("a", {3, 2, 1}, log::v1::SegmentHeader::SPOOL);
  options_.set_to_bytes(1);
  EXPECT_THAT(Prune(), StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr(paths_[2]),
                                      HasSubstr("TUPLES or LATE"))));
  EXPECT_EQ(Left().size(), 5u);
}

TEST_F(LogPruneTest, NeedsALimit) {
  root_.Sub("a");
  EXPECT_TRUE(IsUsageError(Prune()));
  options_.set_to_bytes(1);
  EXPECT_OK(Prune());
  std::filesystem::remove_all(root_ / "a");
  EXPECT_THAT(Prune(), StatusIs(StatusCode::kNotFound, HasSubstr("a")));
}

}  // namespace
}  // namespace sortition
