#include "sidecar/status/worths.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

log::v1::Decision DecisionOf(const std::string& model, uint64_t version) {
  log::v1::Decision decision;
  decision.set_decision_id("d");
  decision.set_model(model);
  decision.set_version(version);
  decision.set_action_kind(log::v1::SELECT);
  decision.add_action(0);
  decision.set_log_propensity(std::log(0.5));
  for (int i = 0; i < 10; ++i) decision.add_dense_values(0.5f);
  return decision;
}

class WorthsTest : public testing::Test {
 protected:
  void Add(const log::v1::Decision& decision, int times = 1,
           const log::v1::BanditTuple& tuple = {}) {
    const std::string bytes = decision.SerializeAsString();
    for (int i = 0; i < times; ++i) worths_.Add(tuple, bytes);
  }
  void Add(const std::string& model, uint64_t version, int times = 1) {
    Add(DecisionOf(model, version), times);
  }
  // Returns "model/version: tuples" of each worth.
  std::vector<std::string> Tuples() const {
    status::v1::Sidecar sidecar;
    worths_.Fill(&sidecar);
    std::vector<std::string> lines;
    for (const status::v1::Worth& worth : sidecar.worths()) {
      lines.push_back(absl::StrCat(worth.model(), "/", worth.version(), ": ",
                                   worth.tuples()));
    }
    return lines;
  }

  Worths worths_;
};

TEST_F(WorthsTest, AreByModelAndVersionTheNewestFirst) {
  Add("b", 9, 3);
  Add("a", 2);
  Add("b", 10, 2);
  EXPECT_THAT(Tuples(), ElementsAre("a/2: 1", "b/10: 2", "b/9: 3"));
}

TEST_F(WorthsTest, LeaveSeedsAndMalformedDecisionsOut) {
  log::v1::Decision seeded = DecisionOf("a", 1);
  seeded.set_seed(0);
  Add(seeded);
  const std::string bytes = DecisionOf("a", 1).SerializeAsString();
  worths_.Add({}, bytes.substr(0, bytes.size() - 1));
  worths_.Add({}, "\xff");
  EXPECT_THAT(Tuples(), IsEmpty());
}

TEST_F(WorthsTest, ShadowsThatNeverDecidedAreJudged) {
  log::v1::BanditTuple tuple;
  log::v1::ShadowView& view = *tuple.add_shadow_views();
  view.set_model("a");
  view.set_version(5);
  view.set_log_propensity(std::log(0.25));
  Add(DecisionOf("a", 4), 8, tuple);
  EXPECT_THAT(Tuples(), ElementsAre("a/5: 0", "a/4: 8"));
  status::v1::Sidecar sidecar;
  worths_.Fill(&sidecar);
  // All weights are 1/2: as good as so many decisions of its own.
  EXPECT_DOUBLE_EQ(sidecar.worths(0).effective_sample_size(), 8);
  EXPECT_DOUBLE_EQ(sidecar.worths(1).effective_sample_size(), 8);
}

TEST_F(WorthsTest, FurtherModelsAreOneTogether) {
  for (size_t i = 0; i < Worths::kMaxModels + 5; ++i) {
    Add(absl::StrCat("model ", 100 + i), i);
  }
  const std::vector<std::string> tuples = Tuples();
  ASSERT_THAT(tuples, SizeIs(Worths::kMaxModels + 1));
  EXPECT_EQ(tuples.back(), "other/other: 5");
}

TEST_F(WorthsTest, ANewVersionTakesThePlaceOfOneThatIsIdle) {
  for (uint64_t version = 1; version <= Worths::kMaxVersions; ++version) {
    Add("m", version, 2);
  }
  Add("m", 9, 3);  // All were used lately.
  EXPECT_THAT(Tuples(),
              ElementsAre("m/8: 2", "m/7: 2", "m/6: 2", "m/5: 2", "m/4: 2",
                          "m/3: 2", "m/2: 2", "m/1: 2", "m/other: 3"));
  // After a rollback to version 1 the old ones fall idle, not the oldest.
  Add("m", 1, Worths::kIdle);
  Add("m", 10, 4);
  EXPECT_THAT(Tuples(),
              ElementsAre("m/10: 4", "m/8: 2", "m/7: 2", "m/6: 2", "m/5: 2",
                          "m/4: 2", "m/3: 2", "m/1: 1002", "m/other: 5"));
}

}  // namespace
}  // namespace sortition
