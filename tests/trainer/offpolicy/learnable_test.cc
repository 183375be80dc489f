// Logs that have too little to learn from, and what is said about them.
#include "trainer/offpolicy/learnable.h"

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kTooFew = absl::StatusCode::kFailedPrecondition;

class LearnableTest : public TrainFixture {
 protected:
  // Appends `count` decisions of a unit of the training part, or of one that
  // judges.
  void AddUnit(bool trains, int count) {
    std::string unit;
    do {
      unit = absl::StrCat("u", num_units_++);
    } while ((UnitInterval(StableHash(HashDomain::kSplit, {unit})) >= 0.5) !=
             trains);
    for (int i = 0; i < count; ++i) {
      tuples_.push_back(MakeTuple({}, absl::StrCat("d", tuples_.size())));
      tuples_.back().mutable_decision()->set_unit_id(unit);
    }
  }

  absl::Status TrainStatus() {
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    WriteSegment(dir_.Sub("tuples"), 0, tuples_);
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_dry_run(true);
    return Train(options_).status();
  }

  int num_units_ = 0;
  std::vector<log::v1::BanditTuple> tuples_;
};

TEST_F(LearnableTest, NothingInTheTimesThatAreAskedFor) {
  AddUnit(true, 3);
  options_.set_since("2026-11-01");
  EXPECT_THAT(TrainStatus(),
              StatusIs(kTooFew, HasSubstr("(3 tuples read, 3 left out: before "
                                          "since, or not before until; since = "
                                          "'2026-11-01', until = '')")));
}

TEST_F(LearnableTest, OneUnitCountsAsOneDecision) {
  AddUnit(true, 47);
  for (int i = 0; i < 40; ++i) AddUnit(false, 1);
  EXPECT_THAT(TrainStatus(),
              StatusIs(kTooFew, HasSubstr("the 47 to train count as 1, must")));
}

// 94 times 1/47 is not quite 2.
TEST_F(LearnableTest, TwoUnitsAreEnough) {
  AddUnit(true, 47);
  AddUnit(true, 47);
  for (int i = 0; i < 40; ++i) AddUnit(false, 1);
  EXPECT_OK(TrainStatus());
}

TEST_F(LearnableTest, AShortDecayLeavesTooLittle) {
  tuples_ = MakeTuples({}, 400);
  for (size_t i = 0; i < tuples_.size(); ++i) {
    tuples_[i].mutable_decision()->set_time_us(static_cast<int64_t>(1 + i) *
                                               3600 * 1000000);
  }
  options_.set_decay("5m");
  EXPECT_THAT(TrainStatus(), StatusIs(kTooFew, HasSubstr("decay is short")));
}

// Neither --force nor --baseline=log would help.
TEST_F(LearnableTest, WithoutTimesNothingIsOlder) {
  tuples_ = MakeTuples({}, 400);
  options_.set_parts("time");
  const absl::Status status = TrainStatus();
  EXPECT_THAT(status, StatusIs(kTooFew, HasSubstr("too few tuples: 0 to")));
  EXPECT_THAT(status, StatusIs(kTooFew, HasSubstr("parts must be unit_hash")));
  EXPECT_THAT(status, StatusIs(kTooFew, Not(HasSubstr("--force"))));
}

}  // namespace
}  // namespace sortition
