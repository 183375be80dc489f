#include "io/upkeep/segment_rewrite.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/segments/erased_record.h"
#include "io/upkeep/upkeep_lock.h"
#include "sortition/log/v1/log.pb.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// An erased record has the size of the old one, whatever that is, and is a
// LogRecord without a record.
TEST(ErasedRecordTest, HasAnySizeAndKeepsThePlace) {
  log::v1::Erased kept;
  kept.mutable_position()->set_segment("0001-server-000001.seg");
  kept.mutable_position()->set_offset(300);
  kept.set_spool_writer("server");
  const size_t fields = kept.ByteSizeLong();
  for (const log::v1::Erased& fitting : {kept, log::v1::Erased()}) {
    const size_t least = 2 + fitting.ByteSizeLong();
    for (const size_t from : {least, size_t{16300}, size_t{2097140}}) {
      for (size_t size = from; size < from + (from > 100000 ? 40 : 320);
           ++size) {
        ASSERT_OK_AND_ASSIGN(const std::string payload,
                             MakeErasedPayload(fitting, size));
        ASSERT_EQ(payload.size(), size);
        ASSERT_TRUE(IsErasedPayload(payload));
        log::v1::ErasedRecord erased;
        ASSERT_TRUE(erased.ParseFromString(payload));
        erased.mutable_erased()->clear_padding();
        ASSERT_EQ(erased.erased().SerializeAsString(),
                  fitting.SerializeAsString());
        log::v1::LogRecord record;
        ASSERT_TRUE(record.ParseFromString(payload));
        ASSERT_EQ(record.record_case(), log::v1::LogRecord::RECORD_NOT_SET);
      }
    }
  }
  EXPECT_THAT(MakeErasedPayload(kept, fields + 1),
              IsInvalidArgument("has no room for the"));
  log::v1::LogRecord record;
  record.mutable_feedback()->set_decision_id("d");
  EXPECT_FALSE(IsErasedPayload(record.SerializeAsString()));
}

class NoEdit : public SegmentEdit {
 public:
  absl::StatusOr<std::optional<std::string>> Replace(
      absl::string_view) override {
    return std::nullopt;
  }
  bool Wipes(absl::string_view) override { return false; }
};

TEST(SegmentRewriteTest, LeavesNoFilesOfItsOwnAndFindsThoseOfTheDead) {
  const TempDir dir;
  NoEdit edit;
  ASSERT_OK_AND_ASSIGN(const bool is_there,
                       RewriteSegmentRecords(dir / "gone.seg", &edit));
  EXPECT_FALSE(is_there);
  ASSERT_OK(WriteFile(dir / absl::StrCat("a.seg", kRewriteSuffix), "x"));
  ASSERT_OK(WriteFile(dir / "a.seg.tmp", "x"));
  ASSERT_OK(RemoveRewriteLeftovers(dir.path()));
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(dir.path()));
  EXPECT_EQ(names, std::vector<std::string>{"a.seg.tmp"});
}

TEST(UpkeepLockTest, IsTakenAgainWhenItWasReleased) {
  const TempDir dir;
  { ASSERT_OK(UpkeepLock::Take(dir.path())); }
  EXPECT_OK(UpkeepLock::Take(dir.path()));
  EXPECT_THAT(UpkeepLock::Take(dir / "no"), IsNotFound(".upkeep.lock"));
}

}  // namespace
}  // namespace sortition
