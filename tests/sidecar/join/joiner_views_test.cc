// How views of shadows are joined, and that they change nothing else.
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join/joiner_fixture.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class JoinerViewsTest : public JoinerTest {
 protected:
  // The versions and places of the views of a decision.
  static std::vector<std::string> Views(const ClosedDecision& closed) {
    std::vector<std::string> texts;
    for (const JoinedView& view : closed.views) {
      texts.push_back(absl::StrCat(view.version, "@", view.place.offset));
    }
    return texts;
  }
};

TEST_F(JoinerViewsTest, GoWithTheirDecisionByVersion) {
  Decide("a", 0);      // 100
  View("a", 0.1, 9);   // 101
  Decide("b", 0.2);    // 102
  View("b", 0.3, 9);   // 103
  View("a", 0.4, 2);   // 104
  View("a", 10.0, 5);  // 105: at the end of the window.
  Advance(60);
  ASSERT_EQ(closed_.size(), 2u);
  EXPECT_THAT(Views(closed_[0]), ElementsAre("2@104", "5@105", "9@101"));
  EXPECT_THAT(Views(closed_[1]), ElementsAre("9@103"));
  EXPECT_EQ(joiner().counts().views, 4u);
}

// The same id was asked twice, with the same answer.
TEST_F(JoinerViewsTest, TheFirstOfAVersionCounts) {
  Decide("a", 0);
  View("a", 0.1, 9);
  Decide("a", 1);
  View("a", 1.1, 9);
  Advance(60);
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_THAT(Views(closed_[0]), ElementsAre("9@101"));
  EXPECT_EQ(joiner().counts().duplicate_views, 1u);
}

TEST_F(JoinerViewsTest, LateAndUnknownOnesAreOnlyCounted) {
  View("a", 0, 9);  // Before its decision: no server does that.
  Decide("a", 0);
  View("a", 10.000001, 9);
  View("x", 10.5, 9);
  Advance(60);
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_THAT(closed_[0].views, IsEmpty());
  EXPECT_EQ(joiner().counts().late_views, 1u);
  EXPECT_EQ(joiner().counts().unknown_views, 2u);
  EXPECT_EQ(joiner().counts().views, 0u);
  EXPECT_THAT(late_, IsEmpty());
}

// It is of the window by its time, but comes when that is over.
TEST_F(JoinerViewsTest, IsLateOnceTheDecisionIsOut) {
  Decide("a", 0);
  Advance(11.1);
  ASSERT_EQ(closed_.size(), 1u);
  View("a", 5, 9);
  EXPECT_EQ(joiner().counts().late_views, 1u);
}

TEST_F(JoinerViewsTest, ADecisionThatIsNotKeptNeedsNone) {
  joiner().AddDecision(NextPlace(), "a", At(0),
                       {.answer = 1, .is_kept = false});
  segment_ = 2;
  View("a", 0.1, 9);
  EXPECT_EQ(joiner().counts().views, 0u);
  Advance(60);
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_THAT(closed_[0].views, IsEmpty());
}

// A view is read again when its tuple is written.
TEST_F(JoinerViewsTest, TheirSegmentIsNeededUntilTheTupleIsOut) {
  Decide("other", 0);
  segment_ = 2;
  Decide("a", 5);
  segment_ = 3;
  View("other", 6, 9);
  View("other", 6, 9);  // A duplicate needs nothing.
  Advance(11.1);
  ASSERT_EQ(closed_.size(), 1u);
  EXPECT_EQ(joiner().OldestNeededSegment(), 2u);
  View("a", 12, 9);
  Advance(16);
  EXPECT_EQ(joiner().OldestNeededSegment(), 2u);
  Advance(16.1);
  EXPECT_EQ(joiner().OldestNeededSegment(),
            std::numeric_limits<uint32_t>::max());
}

// A joiner that was given the ids of removed segments treats their views as
// one that read them: what was joined is in a tuple that is written.
TEST_F(JoinerViewsTest, RememberedDecisionsTakeNoMore) {
  Decide("a", 0);
  std::vector<RememberedId> ids = joiner().IdsOfSegment(1);
  joiner_.emplace(options_);
  for (RememberedId& id : ids) {
    id.segment = 0;
    joiner().AddRemembered(id);
  }
  View("a", 5, 9);
  EXPECT_EQ(joiner().counts().late_views, 0u);
  View("a", 11, 9);
  EXPECT_EQ(joiner().counts().late_views, 1u);
  Advance(60);
  EXPECT_THAT(closed_, IsEmpty());
}

// The same records with and without views give the same rewards, reasons to
// censor, and times of closing.
TEST_F(JoinerViewsTest, ChangeNothingElse) {
  std::vector<std::string> runs;
  for (const bool with_views : {false, true}) {
    joiner_.emplace(options_);
    closed_.clear();
    segment_ = 1;
    std::string& text = runs.emplace_back();
    for (int i = 0; i < 50; ++i) {
      const std::string id = absl::StrCat("d", i);
      Decide(id, i);
      if (with_views) {
        View(id, i + 0.1, 9);
        View("nobody", i + 0.1, 9);
        View(absl::StrCat("d", i - 20), i + 0.2, 9);
      }
      if (i % 7 == 0) {
        joiner().Censor(log::v1::LOST, At(i - 0.5), At(i + 0.5));
      }
      if (i % 3 == 0) Feed(absl::StrCat("f", i), id, i + 0.5, i);
      // Not later than the next decision.
      Advance(i + 0.6);
      absl::StrAppend(&text, joiner().num_pending(), ";");
    }
    Advance(200);
    for (const ClosedDecision& closed : closed_) {
      absl::StrAppend(&text, closed.reward, " ", closed.censored.size(), ",");
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace sortition
