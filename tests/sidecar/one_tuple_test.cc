// A decision that several spools have gets one outcome, whichever copy comes
// first after a restart, and whatever a power cut takes.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/several_spools_fixture.h"
#include "tests/testing/file_faults.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;
using testing::UnorderedElementsAre;

bool IsNotOfA(const std::string& name) {
  return name.find("-tuples-a-") == name.npos;
}

// Where a server is frozen between the stamp of its decision and its record,
// the record comes when another copy has its tuple already. After a restart,
// when all records are there, it is the first copy by its time.
class OneTupleTest : public SeveralSpoolsTest {
 protected:
  // Decisions x and y of a get their tuples; then b writes its copy of x, and
  // z. Dies at once, or when z has its tuple.
  void WriteLateCopy(bool has_z) {
    Write("a", {DecisionRecord("x", At(1)), DecisionRecord("y", At(2))});
    Write("b", {});
    const auto pipeline = Open();
    RunUntil(pipeline.get(), At(20));
    ASSERT_THAT(Tuples(), ElementsAre("a/x=0", "a/y=0"));
    Write("b", {DecisionRecord("x", At(0)), DecisionRecord("z", At(10))});
    RunUntil(pipeline.get(), has_z ? At(40) : At(20));
  }
};

TEST_F(OneTupleTest, ACopyThatComesTooLateMakesNoSecondTuple) {
  WriteLateCopy(/*has_z=*/false);
  RunAndDie(At(20));
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/x=0", "a/y=0", "b/z=0"));
}

// The output of b passes its copy of x. If it could be on the disk before the
// tuple of x is, each output would leave x to the other.
TEST_F(OneTupleTest, APowerCutBetweenTwoSyncsTakesNoTuple) {
  options_.set_sync_interval_seconds(3600);
  const FakeDisk disk(options_.tuples());
  WriteLateCopy(/*has_z=*/true);
  ASSERT_THAT(Tuples(), UnorderedElementsAre("a/x=0", "a/y=0", "b/z=0"));
  disk.CutPower(options_.tuples(), IsNotOfA);
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/x=0", "a/y=0", "b/z=0"));
}

// Copies come 5 s after the first ones. The first sync covers 5 s of decisions,
// whose copies need no other; the second one covers the other 5 s.
TEST_F(OneTupleTest, CopiesShareTheSyncsTheyNeed) {
  options_.set_sync_interval_seconds(3600);
  std::vector<log::v1::LogRecord> firsts, copies;
  for (int i = 0; i < 100; ++i) {
    const std::string id = absl::StrCat("x", i);
    firsts.push_back(DecisionRecord(id, At(i * 0.1)));
    copies.push_back(DecisionRecord(id, At(5 + i * 0.1)));
    copies.push_back(DecisionRecord("after-" + id, At(5.01 + i * 0.1)));
  }
  Write("a", firsts);
  Write("b", copies);
  int num_syncs = 0;
  const FileListener listener(
      [&](const std::string& path) { num_syncs += IsNotOfA(path) ? 0 : 1; },
      [](const std::string&) {});
  RunAndDie(At(100));
  EXPECT_EQ(Tuples().size(), 200u);
  EXPECT_EQ(num_syncs, 2);
}

// Nothing has passed a copy of x when its tuple is lost.
TEST_F(OneTupleTest, AnyCopyMayReplaceATupleThatIsLost) {
  options_.set_sync_interval_seconds(3600);
  const FakeDisk disk(options_.tuples());
  WriteLateCopy(/*has_z=*/false);
  disk.CutPower(options_.tuples(), IsNotOfA);
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("b/x=0", "a/y=0", "b/z=0"));
}

// The copy of b is from a window and more before that of a, and by its time its
// window is over when the copy of a is read again.
TEST_F(OneTupleTest, ACopyThatComesAWindowTooLateMakesNoSecondTuple) {
  Write("a", {DecisionRecord("y", At(14)), DecisionRecord("x", At(15))});
  Write("b", {});
  RunAndDie(At(30));
  ASSERT_THAT(Tuples(), ElementsAre("a/y=0", "a/x=0"));
  Write("b", {DecisionRecord("x", At(0)), DecisionRecord("z", At(10))});
  RunAndDie(At(30));
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/y=0", "a/x=0", "b/z=0"));
}

// The segment with the copy of a goes. That of b, which is the first one by its
// time, was left out for it.
TEST_F(OneTupleTest, ACopyLeftOutStaysLeftOutWhenTheOtherIsGone) {
  Write("a", {DecisionRecord("x", At(1)), DecisionRecord("y", At(2))});
  Write("b", {});
  RunAndDie(At(20));
  ASSERT_THAT(Tuples(), ElementsAre("a/x=0", "a/y=0"));
  Write("a", {DecisionRecord("z", At(15))});
  Write("b", {DecisionRecord("x", At(0))});
  RunAndDie(At(40));
  ASSERT_EQ(Names(SpoolOf("a")).size(), 1u);
  ASSERT_EQ(Names(SpoolOf("b")).size(), 1u);
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("a/x=0", "a/y=0", "a/z=0"));
}

// The feedback of x goes with its segment. When more decisions are kept later,
// x must not get a tuple without it.
TEST_F(OneTupleTest, ADecisionOutOfTheSampleStaysOutWhenItsFeedbackIsGone) {
  int i = 0;
  while (KeepNumber("", absl::StrCat("x", i)) < 0.5) ++i;
  const std::string x = absl::StrCat("x", i);
  options_.mutable_join()->set_keep_probability(0.5);
  Write("a", {DecisionRecord(x, At(1))});
  Write("b", {FeedbackRecord("f", x, At(2), 5)});
  Write("b", {});
  RunAndDie(At(40));
  ASSERT_EQ(Names(SpoolOf("a")).size(), 1u);
  ASSERT_EQ(Names(SpoolOf("b")).size(), 1u);
  options_.mutable_join()->set_keep_probability(1);
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre());
}

// keep_tuples_bytes can remove a tuple at any time.
TEST_F(OneTupleTest, ACopyOfARemovedTupleMakesNoSecondTuple) {
  options_.set_segment_bytes(1);  // Every tuple has a segment of its own.
  WriteLateCopy(/*has_z=*/false);
  std::filesystem::remove(options_.tuples() + "/" +
                          Names(options_.tuples()).front());
  ASSERT_THAT(Tuples(), ElementsAre("a/y=0"));
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("a/y=0", "b/z=0"));
}

// The second answer is removed with its segment, the first is read again.
TEST_F(OneTupleTest, AnAmbiguousDecisionStaysOneWhenHalfOfItIsGone) {
  Write("a", {DecisionRecord("x", At(0), 7)});
  Write("b", {DecisionRecord("x", At(1), 8)});
  Write("b", {DecisionRecord("y", At(2))});
  RunAndDie(At(40));
  ASSERT_EQ(Names(SpoolOf("a")).size(), 1u);
  ASSERT_EQ(Names(SpoolOf("b")).size(), 1u);
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("b/y=0"));
}

// The same, and another copy of the first answer comes too late.
TEST_F(OneTupleTest, ALateCopyOfAnAmbiguousDecisionMakesNoTuple) {
  Use({"a", "b", "c"});
  Write("a", {DecisionRecord("x", At(1), 7)});
  Write("b", {});
  Write("c", {DecisionRecord("x", At(1.5), 8)});
  Write("c", {DecisionRecord("y", At(2))});
  RunAndDie(At(40));
  ASSERT_EQ(Names(SpoolOf("a")).size(), 1u);
  ASSERT_EQ(Names(SpoolOf("c")).size(), 1u);
  Write("b", {DecisionRecord("x", At(0), 7)});
  RunAndDie(At(40));
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("c/y=0"));
}

}  // namespace
}  // namespace sortition
