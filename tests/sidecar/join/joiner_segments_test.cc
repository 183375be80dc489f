// Which segments of the spool a joiner still needs, and what stands for those
// that were removed.
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JoinerSegmentsTest : public JoinerTest {};

TEST_F(JoinerSegmentsTest, NeedsTheSegmentOfTheOldestOpenDecision) {
  EXPECT_EQ(joiner().OldestNeededSegment(),
            std::numeric_limits<uint32_t>::max());
  segment_ = 3;
  Decide("a", 0);
  segment_ = 4;
  Decide("b", 8);
  EXPECT_EQ(joiner().OldestNeededSegment(), 3u);
  Advance(12);
  EXPECT_EQ(joiner().OldestNeededSegment(), 4u);
}

// The feedback of segment 1 goes into the tuple of a decision of segment 2: the
// segment is needed until that tuple is out at 9 + 11 s, although its own
// decision is over at 11 s.
TEST_F(JoinerSegmentsTest, NeedsTheSegmentOfAdoptedFeedback) {
  Feed("f1", "a", 0, 1);
  segment_ = 2;
  Decide("a", 9);
  Advance(19);
  EXPECT_TRUE(joiner().IsOver(At(0)));
  EXPECT_EQ(joiner().OldestNeededSegment(), 1u);
  Advance(21);
  EXPECT_EQ(joiner().OldestNeededSegment(),
            std::numeric_limits<uint32_t>::max());
}

// A joiner that was given the ids of segment 1 must treat segment 2 as one that
// read segment 1 itself.
TEST_F(JoinerSegmentsTest, RememberedIdsStandForARemovedSegment) {
  Decide("a", 0);
  Feed("f1", "a", 1, 1);
  std::vector<RememberedId> ids = joiner().IdsOfSegment(1);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_THAT(joiner().IdsOfSegment(2), IsEmpty());
  joiner_.emplace(options_);
  for (RememberedId& id : ids) {
    id.segment = 0;
    joiner().AddRemembered(id);
  }
  segment_ = 2;
  Decide("a", 2);          // Duplicate.
  Feed("f1", "a", 3, 1);   // Duplicate.
  Feed("f2", "a", 5, 1);   // In the window: its tuple has been written already.
  Feed("f3", "a", 12, 1);  // After the window.
  Advance(60);
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_THAT(late_, ElementsAre("f3:late"));
  EXPECT_EQ(joiner().counts().duplicate_decisions, 1u);
  EXPECT_EQ(joiner().counts().duplicate_feedback, 1u);
}

TEST_F(JoinerSegmentsTest, KeepsIdsUntilTheirSegmentMayBeForgotten) {
  Decide("a", 0);
  Advance(100);
  EXPECT_EQ(joiner().IdsOfSegment(1).size(), 1u);
  joiner().AllowForgettingBefore(2);
  Advance(101);
  EXPECT_THAT(joiner().IdsOfSegment(1), IsEmpty());
}

}  // namespace
}  // namespace sortition
